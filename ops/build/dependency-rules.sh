#!/usr/bin/env bash
# Rules over Cargo.lock and the manifests: only crates.io, pinned openraft, one RocksDB, one TLS, no abandoned codecs.
set -euo pipefail
cd "$(dirname "$0")/../.."
fail=0
bad() { printf 'dependency rule broken: %s\n' "$*" >&2; fail=1; }

cargo metadata --locked --format-version 1 --quiet >/dev/null || bad "Cargo.lock is not up to date"
others=$(grep -E '^source = ' Cargo.lock | sort -u | grep -v 'registry+https://github.com/rust-lang/crates.io-index' || true)
[ -z "$others" ] || bad "sources other than crates.io: $others"
built=$(cargo tree --locked --workspace -e normal,build,dev --prefix none --no-dedupe | awk '{print $1 " " $2}' | sort -u)
for one in librocksdb-sys rustls tokio openraft zstd-sys prost tonic; do
  count=$(grep -c -E "^$one v" <<<"$built" || true)
  [ "$count" = 1 ] || bad "$one is there $count times, not once"
done
for banned in openssl-sys native-tls bincode lz4-sys bzip2-sys libz-sys aws-lc-sys; do
  if grep -q -E "^$banned v" <<<"$built"; then bad "$banned is not wanted"; fi
done
grep -q 'openraft = { version = "=' Cargo.toml || bad "openraft is not pinned exactly"
users=$(grep -l '^openraft' ./*/Cargo.toml ./*/*/Cargo.toml | sort | tr '\n' ' ')
[ "$users" = "./raftlog/Cargo.toml " ] || bad "openraft is used outside raftlog: $users"
if grep -nE '^[a-z0-9_-]+ *= *(\{ *version *= *)?"\*"' Cargo.toml; then bad "a wildcard version"; fi
if [ "$fail" = 0 ]; then printf 'dependency rules hold: %s packages\n' "$(wc -l <<<"$built")"; fi
exit "$fail"
