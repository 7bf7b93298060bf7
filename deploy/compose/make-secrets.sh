#!/bin/sh
# Makes the secrets of the compose files once, each in a file that only the container's user may read. As root, because
# it gives the files away: compose mounts them with the owner that they have here. Nothing that exists is changed.
set -eu
umask 077
folder="${1:-$(dirname "$0")/../secrets}"
mkdir -p "$folder"
chmod 711 "$folder"

random() { openssl rand 32 | basenc --base64url | tr -d '=\n'; }
# FILE OWNER CONTENT
write() {
  [ -e "$folder/$1" ] && { echo "kept     $folder/$1"; return; }
  printf '%s\n' "$3" > "$folder/$1"
  chown "$2:$2" "$folder/$1"
  chmod 400 "$folder/$1"
  echo "written  $folder/$1"
}

write postern_encryption_key 10001 "$(random)"
write postern_cookie_key 10001 "$(random)"
if [ ! -e "$folder/redis_acl" ] && [ ! -e "$folder/postern_redis_url" ]; then
  password=$(random)
  rights='~postern:* +@read +@write +@scripting +@connection +info +wait +cluster|slots +cluster|info'
  write redis_acl 999 "user default off
user postern on >$password $rights"
  write postern_redis_url 10001 "redis://postern:$password@redis:6379/0"
fi
