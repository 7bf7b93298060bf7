# PyJWT, as an API would verify access tokens.
import base64, json, os, ssl, sys
import urllib.parse, urllib.request
import jwt

issuer, api = os.environ["ISSUER"], os.environ["API"]
print("version", jwt.__version__, flush=True)


def ok(condition, what, seen=None):
    if not condition:
        sys.exit(f"{what}: {seen}")
    print("ok", what, flush=True)


def fetch_token():
    halves = [urllib.parse.quote_plus(os.environ[name]) for name in ("CLIENT_ID", "CLIENT_SECRET")]
    request = urllib.request.Request(
        f"{issuer}/oauth/token",
        data=b"grant_type=client_credentials&scope=reports.read",
        headers={"Authorization": "Basic " + base64.b64encode(":".join(halves).encode()).decode()},
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)["access_token"]


keys = jwt.PyJWKClient(f"{issuer}/oauth/jwks.json")


def verify(token, audience=api):
    key = keys.get_signing_key_from_jwt(token).key
    return jwt.decode(token, key, algorithms=["RS256"], issuer=issuer, audience=audience)


def refuses(*arguments):
    try:
        verify(*arguments)
    except jwt.InvalidTokenError:
        return True
    return False


token = fetch_token()
payload = verify(token)
ok(payload["scope"] == "reports.read", "verifies a token", payload)
head, body, signature = token.split(".")
forged = ".".join([head, body, ("B" if signature[0] == "A" else "A") + signature[1:]])
ok(refuses(forged), "refuses a forged one")
ok(refuses(token, "https://other.example"), "refuses another audience")
