#!/bin/sh
set -e
[ -x "$CACHE/web-python/bin/pip" ] || /usr/bin/python3 -m venv "$CACHE/web-python"
"$CACHE/web-python/bin/pip" install --quiet --requirement web-python/requirements.txt
