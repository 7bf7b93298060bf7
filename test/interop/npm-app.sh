#!/bin/sh
# npm-app.sh NAME: the packages of an app that needs a folder of its own.
set -e
built="$CACHE/$1"
mkdir -p "$built"
cp "$1/package.json" "$1/package-lock.json" .npmrc "$built/"
cd "$built"
cmp -s package-lock.json built-from.json && exit
npm ci
cp package-lock.json built-from.json
