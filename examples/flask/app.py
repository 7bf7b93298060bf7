"""A web app that signs users in with Postern, shows their name and mail address, and signs them out."""

import os
import secrets
import sys
from urllib.parse import urlencode

from authlib.integrations.base_client import OAuthError
from authlib.integrations.flask_client import OAuth
from flask import Flask, redirect, session
from requests import RequestException

ISSUER = os.environ.get("ISSUER", "http://localhost:3000")
HOME = "http://localhost:8080/"
SECRET = os.environ.get("MY_APP_SECRET")
if not SECRET:
    sys.exit('Set MY_APP_SECRET to the secret that "./postern client secret" printed.')

app = Flask(__name__)
# Signs the session cookie. Set SESSION_KEY to keep users signed in across restarts and processes.
app.secret_key = os.environ.get("SESSION_KEY") or secrets.token_hex()
app.config["SESSION_COOKIE_SAMESITE"] = "Lax"

postern = OAuth(app).register(
    "postern",
    client_id="my-app",
    client_secret=SECRET,
    server_metadata_url=f"{ISSUER}/.well-known/openid-configuration",
    client_kwargs={"scope": "openid email profile", "code_challenge_method": "S256"},
)
ABSENT = f"Postern doesn't answer at {ISSUER}. Is it running?"
try:
    metadata = postern.load_server_metadata()
except RequestException as error:
    sys.exit(f"{ABSENT} ({error})")


@app.get("/")
def home():
    signed_in = '<a href="/me">My name and mail</a> <a href="/logout">Sign out</a>'
    return signed_in if "user" in session else '<a href="/login">Sign in</a>'


@app.get("/login")
def login():
    return postern.authorize_redirect(f"{HOME}callback")


@app.get("/callback")
def callback():
    token = postern.authorize_access_token()
    # Name and email are at userinfo. The ID token has only sub, the stable ID of the user.
    user = postern.userinfo(token=token)
    session.clear()
    session.update(user=dict(user), id_token=token["id_token"])
    return redirect("/")


@app.get("/me")
def me():
    return session.get("user", {})


@app.get("/logout")
def logout():
    query = {"post_logout_redirect_uri": HOME, "id_token_hint": session.get("id_token", "")}
    session.clear()
    return redirect(f"{metadata['end_session_endpoint']}?{urlencode(query)}")


@app.errorhandler(OAuthError)
def explain(error):
    if error.error == "invalid_client":
        return "Postern rejected the client secret: compare MY_APP_SECRET with client_secrets of my-app.", 500
    if error.error == "access_denied":
        return "You canceled the sign-in, or you may not use this app.", 403
    if error.error == "mismatching_state":
        return f"Start again at {HOME}. This browser has no sign-in in progress.", 400
    return f"The sign-in failed: {error.description or error.error}", 500


@app.errorhandler(RequestException)
def explain_absence(error):
    return ABSENT, 502


if __name__ == "__main__":
    print(f"Open {HOME}", flush=True)
    app.run("localhost", 8080)
