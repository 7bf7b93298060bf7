#!/bin/sh
# Cargo writes its lock file beside Cargo.toml, so it builds a copy.
set -e
mkdir -p "$CACHE/rust-openidconnect"
cp -r Cargo.toml src "$CACHE/rust-openidconnect"
cargo build --quiet --manifest-path "$CACHE/rust-openidconnect/Cargo.toml"
