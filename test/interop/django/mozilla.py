# A Django site with mozilla-django-oidc: who came is at /me. mozilla-django-oidc.mjs starts it.
import os
from urllib.parse import urlencode
from site_of_one_file import serve

issuer, app = os.environ["ISSUER"], os.environ["APP"]


def address_of_sign_out(request):
    hint = request.session["oidc_id_token"]
    return f"{issuer}/oauth/logout?" + urlencode({"id_token_hint": hint, "post_logout_redirect_uri": f"{app}/"})


serve(
    apps=["mozilla_django_oidc"],
    backend="mozilla_django_oidc.auth.OIDCAuthenticationBackend",
    urls={"oidc/": "mozilla_django_oidc.urls"},
    OIDC_RP_CLIENT_ID=os.environ["CLIENT_ID"],
    OIDC_RP_CLIENT_SECRET=os.environ["CLIENT_SECRET"],
    OIDC_RP_SIGN_ALGO="RS256",
    OIDC_RP_SCOPES="openid email profile",
    OIDC_USE_PKCE=True,
    OIDC_OP_AUTHORIZATION_ENDPOINT=f"{issuer}/oauth/authorize",
    OIDC_OP_TOKEN_ENDPOINT=f"{issuer}/oauth/token",
    OIDC_OP_USER_ENDPOINT=f"{issuer}/oauth/userinfo",
    OIDC_OP_JWKS_ENDPOINT=f"{issuer}/oauth/jwks.json",
    OIDC_STORE_ID_TOKEN=True,
    OIDC_OP_LOGOUT_URL_METHOD="__main__.address_of_sign_out",
    ALLOW_LOGOUT_GET_METHOD=True,  # for the test; a site has a form
)
