#!/usr/bin/env bash
# Measures again in a fresh clone; fails where a target gets another verdict than in bench/results.json.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
git clone -q . "$folder/postern"
cp bench/results.json "$folder/before.json"
cd "$folder/postern"
npm ci
npm run bench -- --out "$folder/again" --verdicts "$folder/before.json"
