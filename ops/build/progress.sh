#!/usr/bin/env bash
# Runs a build and says once in a while that it lives: RocksDB alone is minutes of silence.
set -u
start=$(date +%s)
"$@" &
build=$!
(
  # The nap ends with the ticker, and holds no pipe of whoever reads the output.
  trap 'kill "$nap" 2>/dev/null; exit 0' TERM
  while true; do
    sleep 30 </dev/null >/dev/null 2>&1 &
    nap=$!
    wait "$nap"
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
