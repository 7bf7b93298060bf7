# Authlib on requests: the authorization-code flow of a web app. Speaks with run.ts by lines, as report.ts does.
import os, sys
import authlib
from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session
from authlib.jose import JsonWebKey, jwt

issuer, app = os.environ["ISSUER"], os.environ["APP"]
print("version", authlib.__version__, flush=True)


def ok(condition, what, seen=None):
    if not condition:
        sys.exit(f"{what}: {seen}")
    print("ok", what, flush=True)


def visit(url):
    print("visit", url, flush=True)
    return sys.stdin.readline().strip()


session = OAuth2Session(
    os.environ["CLIENT_ID"],
    os.environ["CLIENT_SECRET"],
    scope="openid email profile offline_access",
    redirect_uri=f"{app}/callback",
    code_challenge_method="S256",
)
metadata = session.get(f"{issuer}/.well-known/openid-configuration", withhold_token=True).json()
verifier, nonce = generate_token(48), generate_token(20)
url, state = session.create_authorization_url(
    metadata["authorization_endpoint"], code_verifier=verifier, nonce=nonce, prompt="consent"
)
token = session.fetch_token(
    metadata["token_endpoint"], authorization_response=visit(url), code_verifier=verifier, state=state
)
keys = JsonWebKey.import_key_set(session.get(metadata["jwks_uri"], withhold_token=True).json())
claims = jwt.decode(
    token["id_token"],
    keys,
    claims_options={
        "iss": {"essential": True, "value": issuer},
        "aud": {"essential": True, "value": os.environ["CLIENT_ID"]},
        "nonce": {"essential": True, "value": nonce},
    },
)
claims.validate()
ok(claims["sub"] == "usr_fixture_person_ida", "sign-in with PKCE, verified ID token", claims)
user = session.get(metadata["userinfo_endpoint"]).json()
ok(user["name"] == "Ida Fixture", "userinfo", user)
before = token["refresh_token"]
after = session.refresh_token(metadata["token_endpoint"], refresh_token=before)
ok(after["refresh_token"] != before, "refresh", after)
access = after["access_token"]
answer = session.introspect_token(metadata["introspection_endpoint"], token=access).json()
ok(answer["active"] is True, "introspection", answer)
answer = session.revoke_token(metadata["revocation_endpoint"], token=access)
ok(answer.status_code == 200, "revocation", answer)
answer = session.introspect_token(metadata["introspection_endpoint"], token=access).json()
ok(answer == {"active": False}, "a revoked token is inactive", answer)
