#!/usr/bin/env bash
# Makes the Python environment with warcio (PyPI), an archive reader that shares nothing with us, and prints where it is.
# Quiet when it is there.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
"$here/../../ops/build/setup.sh" python3 python3-venv

environment=${XDG_CACHE_HOME:-$HOME/.cache}/escapement/warcio
if ! "$environment/bin/python" -c 'import warcio' 2>/dev/null; then
  printf 'setup: installing warcio from PyPI into %s\n' "$environment" >&2
  rm -rf "$environment"
  if ! { python3 -m venv "$environment" && "$environment/bin/pip" install --quiet warcio; } >&2; then
    printf 'setup: the tests need warcio: is PyPI in reach?\n' >&2
    exit 1
  fi
fi
printf '%s\n' "$environment"
