#!/bin/sh
set -e
built="$CACHE/nextjs"
mkdir -p "$built"
cp nextjs/package.json nextjs/package-lock.json nextjs/.npmrc "$built/"
cd "$built"
cmp -s package-lock.json built-from.json && exit
npm ci
cp package-lock.json built-from.json
