// What is tried first: the passwords that turn up most often wherever lists of them were published, and phrases of enough
// length that everybody knows. Owns the words only, put together by hand for this project: lower case, without spaces,
// punctuation, and digits at either end, which password-rules.ts takes away before it compares.

const WORDS = `
password passwort passw motdepasse contrasena senha parola wachtwoord lozinka haslo salasana
passphrase passcode secret secreto geheim geheimnis topsecret mysecret mypassword yourpassword newpassword oldpassword
thepassword apassword passwordpassword defaultpassword changepassword resetpassword
temporarypassword temppassword testpassword initialpassword adminpassword rootpassword userpassword
changeme changemenow changethis changeit letmein letmeinnow letmeinplease pleaseletmein opensesame
welcome welcomehome welcomeback willkommen bienvenue bienvenido default guest guestguest nobody somebody anonymous
admin administrator administrador administrateur root superuser supervisor sysadmin webmaster operator manager
user username testuser demouser test tester testing testtest testtesttest temp temporary sample example demo
login signin logon access account system server service computer internet intranet network database oracle
iloveyou ilovemyself iloveyousomuch iloveyouforever loveyou lovelove lovely sweetheart sweetie darling honey
princess prince queen king angel baby babygirl babyboy beautiful gorgeous handsome sunshine rainbow flower butterfly
monkey dragon tiger lion panther eagle falcon phoenix wolf shadow ghost spider scorpion snake horse dolphin chicken
football baseball basketball hockey soccer tennis golf volleyball cricket racing runner swimming fussball futbol
superman batman spiderman ironman wonderwoman captainamerica starwars startrek pokemon pikachu mickeymouse harrypotter
gandalf matrix trustno killer hunter ranger warrior master ninja pirate samurai knight wizard hacker
michael jennifer jessica ashley daniel andrew joshua matthew anthony robert charlie thomas jordan george nicole hannah
michelle amanda melissa samantha alexander christopher william elizabeth victoria patricia barbara
freedom liberty america american canada england germany france mexico brazil london newyork paris berlin
liverpool chelsea arsenal manchester barcelona realmadrid juventus bayern dortmund yankees cowboys
summer winter spring autumn monday friday sunday january february march april may june july august september october
november december sommer fruehling herbst
whatever nothing something anything everything nopassword nosecret donotknow dontknow idontknow forgot forgotten
fuckyou fuckoff asshole bitch bullshit pussy
google facebook twitter instagram microsoft windows apple iphone samsung android linux ubuntu amazon netflix youtube
qwerty qwertz azerty qwertyuiop asdfgh zxcvbn asdf qazwsx qwer zaqwsx
abc abcd abcde abcdef abcabc
cheese banana orange cookie chocolate coffee pepper ginger butter peanut strawberry pumpkin
purple yellow silver golden diamond crystal thunder lightning mustang ferrari porsche mercedes corvette harley
blessed jesus jesuschrist jesussaves godisgood godislove heaven trustingod inshallah
correcthorsebatterystaple thequickbrownfox thequickbrownfoxjumpsoverthelazydog quickbrownfox loremipsum
loremipsumdolorsitamet tobeornottobe tobeornottobethatisthequestion maytheforcebewithyou theforcebewithyou
onceuponatime happilyeverafter helloworld hellohello hellothere goodmorning goodnight howareyou
nevergonnagiveyouup livelaughlove carpediem hakunamatata winteriscoming wintersoldier
thisismypassword thisisapassword thisismysecret thisissecret thisisasecret thisisatest thisisnotapassword
mynameis mypasswordis mypasswordispassword thepasswordispassword passwordispassword noonewillguess
donttouchthis doesnotmatter itsasecret iamtheadmin iamgod iamadmin ihatepasswords ihatethis ihateyou
nobodyknowsthis youshallnotpass openthedoor openthedoorplease areyoukiddingme noneofyourbusiness
`;

/** Each in the one form that is compared. */
export const COMMON_PASSWORDS: readonly string[] = WORDS.trim().split(/\s+/);
