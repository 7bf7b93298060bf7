#!/bin/sh
set -e
[ -x "$CACHE/django/bin/pip" ] || /usr/bin/python3 -m venv "$CACHE/django"
"$CACHE/django/bin/pip" install --quiet --requirement django/requirements.txt
