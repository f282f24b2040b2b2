#!/usr/bin/env bash
# Installs what the build needs on Debian 12, or prints the command when it may not. Quiet when nothing is missing.
# Usage: setup.sh [--lint] [PACKAGE...]
#   --lint      rustfmt and clippy are needed too
#   PACKAGE...  further packages beside those of the build
set -eu

rustc_needed=1.95
say() { printf 'setup: %s\n' "$*" >&2; }

if ! command -v cargo >/dev/null 2>&1 && [ -x "$HOME/.cargo/bin/cargo" ]; then PATH="$HOME/.cargo/bin:$PATH"; fi
if ! command -v cargo >/dev/null 2>&1 || ! command -v rustc >/dev/null 2>&1; then
  say "no Rust toolchain found: install rustc and cargo $rustc_needed or newer (https://rustup.rs)"
  exit 1
fi
have=$(rustc --version | awk '{print $2}')
if [ "$(printf '%s\n%s\n' "$rustc_needed" "$have" | sort -V | head -n 1)" != "$rustc_needed" ]; then
  say "rustc $have is too old: $rustc_needed or newer is needed (rustup update stable)"
  exit 1
fi

if [ "${1:-}" = --lint ]; then
  shift
  lint=''
  cargo fmt --version >/dev/null 2>&1 || lint+=' rustfmt'
  cargo clippy --version >/dev/null 2>&1 || lint+=' clippy'
  if [ -n "$lint" ]; then
    say "missing:$lint (rustup component add$lint; Debian: apt-get install rustfmt rust-clippy)"
    exit 1
  fi
fi

missing=()
need() { # need PACKAGE TEST...
  local package=$1
  shift
  if ! "$@" >/dev/null 2>&1; then missing+=("$package"); fi
}
has_libclang() {
  [ -n "${LIBCLANG_PATH:-}" ] && return 0
  # The library alone is not enough: bindgen also reads clang's own headers. (libclang-cpp is another library.)
  ls /usr/lib/llvm-*/lib/libclang.so* /usr/lib/llvm-*/lib/libclang-[0-9]*.so* 2>/dev/null | grep -q . &&
    ls /usr/lib/llvm-*/lib/clang/*/include/stddef.h 2>/dev/null | grep -q .
}
need g++ command -v g++
need binutils command -v ld
need libclang-dev has_libclang
for package in "$@"; do
  need "$package" dpkg -s "$package"
done
[ "${#missing[@]}" -eq 0 ] && exit 0

install="apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
if command -v apt-get >/dev/null 2>&1; then
  if [ "$(id -u)" = 0 ]; then
    say "installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
    exit 0
  elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    say "installing ${missing[*]} with sudo"
    sudo -n sh -c "DEBIAN_FRONTEND=noninteractive $install" >&2
    exit 0
  fi
fi
say "packages are missing; run: sudo sh -c '$install'"
exit 1
