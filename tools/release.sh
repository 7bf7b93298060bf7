#!/usr/bin/env bash
# `npm run release`: the package, its bill of materials (CycloneDX) and their checksums in artifacts/release, or in the folder that is
# given. The same source gives the same bytes. Where docker, podman or buildah works, the image is built, too.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
out=${1:-artifacts/release}
version=$(node -p "require('./package.json').version")
date=$(sed -n "s/^## $version (\(.*\))$/\1/p" CHANGELOG.md)
[ -n "$date" ] || { echo "CHANGELOG.md has no section \"## $version (DATE)\"" >&2; exit 1; }
mkdir -p "$out" && out=$(cd "$out" && pwd)

npm pack --silent --pack-destination "$out" > /dev/null
package=postern-$version.tgz

# Without what development needs. `npm sbom --omit dev` would leave out packages that both need, such as jose.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/postern"
cp package.json package-lock.json "$work/postern"
cd "$work/postern"
npm pkg delete devDependencies workspaces
npm install --silent --package-lock-only --offline
serial=$(cat "$out/$package" package-lock.json | sha256sum | sed -E 's/^(.{8})(.{4})(.{4})(.{4})(.{12}).*/\1-\2-\3-\4-\5/')
npm sbom --sbom-format cyclonedx --sbom-type application --package-lock-only |
  sed -E "s/urn:uuid:[0-9a-f-]+/urn:uuid:$serial/; s/(\"timestamp\": \")[^\"]+/\1${date}T00:00:00.000Z/" > "$out/postern-$version.cdx.json"
cd "$out"
sha256sum "$package" "postern-$version.cdx.json" | tee SHA256SUMS

cd "$root"
for builder in docker podman buildah; do
  if "$builder" info > /dev/null 2>&1; then exec "$builder" build -f deploy/Dockerfile -t "postern:$version" .; fi
done
echo 'No image: neither docker, podman nor buildah works here'
