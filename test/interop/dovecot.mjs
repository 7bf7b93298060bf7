// Dovecot, whose users come with an access token instead of a password: the sign-in of a mail program, and IMAP.
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import * as oidc from 'openid-client';
import { debianVersion } from './apache.ts';
import { startDovecot } from './dovecot.ts';
import { forge, machineToken } from './machine-token.ts';
import { Person } from './person.ts';
import { check, settings, version } from './report.ts';

const { issuer, clientId, clientSecret, app } = settings;
version(await debianVersion('dovecot-imapd'));

const config = await oidc.discovery(new URL(issuer), clientId, clientSecret);
const verifier = oidc.randomPKCECodeVerifier();
const address = oidc.buildAuthorizationUrl(config, {
  redirect_uri: `${app}/callback`,
  scope: 'openid profile imap',
  code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
  code_challenge_method: 'S256',
});
const { url: callback } = await new Person().open(address.href, app);
const { access_token: token } = await oidc.authorizationCodeGrant(config, new URL(callback), {
  pkceCodeVerifier: verifier,
});
check(token !== undefined, 'sign-in of a mail program with PKCE');

/** What the server says to the last command, for somebody who gives a name and a token. */
async function login(mechanism, response) {
  const socket = connect(port, '127.0.0.1');
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
  const command = async (text) => {
    socket.write(`a ${text}\r\n`);
    for (;;) {
      const { value = '', done } = await lines.next();
      if (value.startsWith('+')) socket.write('\r\n');
      else if (done || value.startsWith('a ')) return value;
    }
  };
  await lines.next();
  const said = await command(`AUTHENTICATE ${mechanism} ${Buffer.from(response).toString('base64')}`);
  const inbox = said.startsWith('a OK') ? await command('SELECT INBOX') : said;
  socket.destroy();
  return inbox;
}
const xoauth2 = (user, bearer) => `user=${user}\u0001auth=Bearer ${bearer}\u0001\u0001`;

const port = Number(new URL(app).port);
const dovecot = await startDovecot(port);
try {
  const opened = await login('XOAUTH2', xoauth2('ida', token));
  check(opened.startsWith('a OK'), 'IMAP by XOAUTH2, user by preferred_username of introspection', opened);
  const bearer = `n,a=ida,\u0001host=localhost\u0001port=${port}\u0001auth=Bearer ${token}\u0001\u0001`;
  const too = await login('OAUTHBEARER', bearer);
  check(too.startsWith('a OK'), 'IMAP by OAUTHBEARER', too);
  const other = await login('XOAUTH2', xoauth2('another', token));
  check(other.startsWith('a NO'), 'refuses another name', other);
  const forged = await login('XOAUTH2', xoauth2('ida', forge(token)));
  check(forged.startsWith('a NO'), 'refuses a forged token', forged);
  const foreign = await login('XOAUTH2', xoauth2('ida', await machineToken('verifiers')));
  check(foreign.startsWith('a NO'), 'refuses a token for another API', foreign);
} finally {
  await dovecot.stop();
}
