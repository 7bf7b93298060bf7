#!/bin/sh
set -e
[ -x "$CACHE/mcp/bin/pip" ] || /usr/bin/python3 -m venv "$CACHE/mcp"
"$CACHE/mcp/bin/pip" install --quiet mcp==2.3.0 pyjwt[crypto]==2.15.1
