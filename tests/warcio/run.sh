#!/usr/bin/env bash
# Crawls a small fake web and has every record read by warcio (PyPI), an archive reader that shares nothing with us.
# Also: a digest names its bytes, and equal bytes are stored once. Usage: run.sh ESCAPEMENT
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
escapement=$(realpath "$1")
cache=$("$here/setup.sh")

work=$(mktemp -d)
fakeweb=''
finish() {
  [ -z "$fakeweb" ] || kill "$fakeweb" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

"$escapement" fakeweb --hosts 12 --seed 5 --max-pages-per-host 8 --manifest "$work/manifest" >"$work/fakeweb" &
fakeweb=$!
for _ in $(seq 100); do
  grep -q listening "$work/fakeweb" && break
  sleep 0.1
done
seed=$(head -n 1 "$work/fakeweb")
address=$(awk '/^listening/ { print $2 }' "$work/fakeweb")
"$escapement" crawl "$seed" --out "$work/crawl" --scope any --delay 100ms --allow-net 127.0.0.0/8 --resolve "*=$address" \
  --fetch-timeout 4s --back-off 1s --attempts 4 --patience 9s --json | tail -n 1

failed=0 passed=0
verdict() { if [ "$1" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "failed: $2"; fi; }

for segment in "$work"/crawl/pages/*.warc.gz; do
  "$cache/bin/warcio" check "$segment" >"$work/check" 2>&1 && code=0 || code=1
  [ ! -s "$work/check" ] || code=1
  verdict $code "warcio check $(basename "$segment"): $(head -n 3 "$work/check")"
done
"$cache/bin/warcio" index -f warc-type,warc-payload-digest "$work"/crawl/pages/*.warc.gz >"$work/index"
stored=$(grep -c '"response"' "$work/index" || true)
verdict $([ "$stored" -gt 10 ] && echo 0 || echo 1) "only $stored responses"
twice=$(grep '"response"' "$work/index" | sed 's/.*payload-digest": "\([^"]*\)".*/\1/' | sort | uniq -d | wc -l)
verdict "$twice" "$twice payloads are stored twice"

# Every digest of the manifest that was fetched is there, and names its bytes.
"$escapement" inspect crawl --out "$work/crawl" >"$work/urls"
sed -n 's/.*"state":"done","outcome":"stored".*"digest":"\([0-9a-f]*\)".*/\1/p' "$work/urls" | sort -u >"$work/digests"
for digest in $(shuf -n 12 --random-source="$work/urls" "$work/digests"); do
  sum=$("$escapement" get --out "$work/crawl" "$digest" | sha256sum | cut -d ' ' -f 1)
  verdict $([ "$sum" = "$digest" ] && echo 0 || echo 1) "get $digest gave bytes of $sum"
done
missing=$(comm -23 <(sed -n 's/.*"outcome":"fetched".*"digest":"\([0-9a-f]*\)".*/\1/p' "$work/manifest" | sort -u) "$work/digests" | wc -l)
verdict "$missing" "$missing payloads of the manifest are not stored"

echo "warcio: $passed passed, $failed failed"
[ "$failed" = 0 ]
