#!/usr/bin/env bash
# Runs a build and says once in a while that it lives: RocksDB alone is minutes of silence.
set -u
start=$(date +%s)
"$@" &
build=$!
(
  while sleep 30; do
    kill -0 "$build" 2>/dev/null || exit 0
    now=$(date +%s)
    printf 'still compiling after %d s (the first build takes 15 to 20 minutes on two idle cores, half of it RocksDB)\n' $((now - start)) >&2
  done
) &
ticker=$!
wait "$build"
code=$?
kill "$ticker" 2>/dev/null
wait "$ticker" 2>/dev/null
exit "$code"
