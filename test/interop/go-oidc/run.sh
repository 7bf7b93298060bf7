#!/bin/sh
# The Go of Debian 12 is too old for the newest go-oidc, and too old to fetch a newer Go itself.
case "$(go env GOVERSION)" in
  go1.1?* | go1.20*) exec go run -modfile=go-1.19.mod . "$@" ;;
  *) exec go run . "$@" ;;
esac
