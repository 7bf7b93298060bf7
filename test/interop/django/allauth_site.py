# A Django site with django-allauth: who came is at /me. django-allauth.mjs starts it.
import os
from site_of_one_file import serve

serve(
    apps=[
        "django.contrib.messages",
        "allauth",
        "allauth.account",
        "allauth.socialaccount",
        "allauth.socialaccount.providers.openid_connect",
    ],
    middleware=["django.contrib.messages.middleware.MessageMiddleware", "allauth.account.middleware.AccountMiddleware"],
    backend="allauth.account.auth_backends.AuthenticationBackend",
    urls={"accounts/": "allauth.urls"},
    SOCIALACCOUNT_LOGIN_ON_GET=True,  # for the test; without it there is a page with a button
    SOCIALACCOUNT_PROVIDERS={
        "openid_connect": {
            "OAUTH_PKCE_ENABLED": True,
            "APPS": [
                {
                    "provider_id": "postern",
                    "name": "Postern",
                    "client_id": os.environ["CLIENT_ID"],
                    "secret": os.environ["CLIENT_SECRET"],
                    "settings": {"server_url": os.environ["ISSUER"], "token_auth_method": "client_secret_basic"},
                }
            ],
        }
    },
)
