# What both Django sites share: settings, tables in a file of this run, and a page that says who came.
import os, sys
from wsgiref.simple_server import make_server
from urllib.parse import urlsplit
import django
from django.conf import settings
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.http import JsonResponse
from django.urls import include, path


def me(request):
    user = request.user
    name = f"{user.first_name} {user.last_name}" if user.is_authenticated else None
    return JsonResponse({"name": name, "email": getattr(user, "email", None)})


def serve(apps, backend, urls, middleware=(), **more):
    settings.configure(
        DEBUG_PROPAGATE_EXCEPTIONS=True,
        SECRET_KEY="fixture-of-the-session-cookie",
        ALLOWED_HOSTS=["localhost"],
        ROOT_URLCONF="urls",
        LOGIN_REDIRECT_URL="/me",
        LOGOUT_REDIRECT_URL="/",
        DATABASES={
            "default": {
                "ENGINE": "django.db.backends.sqlite3",
                "NAME": os.path.join(os.environ["FOLDER"], os.environ["CLIENT_ID"]),
            }
        },
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", *apps],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            *middleware,
        ],
        AUTHENTICATION_BACKENDS=[backend],
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "APP_DIRS": True,
                "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
            }
        ],
        **more,
    )
    django.setup()
    call_command("migrate", verbosity=0)
    urlconf = type(sys)("urls")
    urlconf.urlpatterns = [path("", me), path("me", me), *(path(at, include(to)) for at, to in urls.items())]
    sys.modules["urls"] = urlconf
    make_server("localhost", urlsplit(os.environ["APP"]).port, get_wsgi_application()).serve_forever()
