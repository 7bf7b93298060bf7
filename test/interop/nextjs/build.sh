#!/bin/sh
set -e
built="$CACHE/nextjs"
cmp -s nextjs/package-lock.json "$built/built-from.json" && exit
mkdir -p "$built"
cp nextjs/package.json nextjs/package-lock.json nextjs/.npmrc "$built/"
cd "$built"
npm ci
cp package-lock.json built-from.json
