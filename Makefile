# Escapement: `make demo` runs the main job, `make test` passes all tests. Each sets up what it needs.

SHELL := /bin/bash
export PATH := $(PATH):$(HOME)/.cargo/bin
TARGET_DIR = $(or $(CARGO_TARGET_DIR),target)
ESCAPEMENT = $(TARGET_DIR)/debug/escapement
PROGRESS = ops/build/progress.sh

.PHONY: demo test build setup lint bench power-cut real-docs soak clean

demo: build
	$(ESCAPEMENT) demo

build: setup
	$(PROGRESS) cargo build --workspace --all-targets

test: build
	cargo test --workspace --no-fail-fast
	tests/warcio/run.sh $(ESCAPEMENT)

setup:
	@ops/build/setup.sh

lint: setup
	cargo fmt --all --check
	$(PROGRESS) cargo clippy --workspace --all-targets -- -D warnings

# Longer checks, each its own target.

bench: build
	for n in n1 n2 n3 n5 n6 n7; do $(ESCAPEMENT) bench $$n --json || exit 1; done

power-cut: build
	tests/power-cut/run.sh $(ESCAPEMENT)

real-docs: build
	tests/real-docs/run.sh $(ESCAPEMENT)

soak: build
	tests/soak/run.sh $(ESCAPEMENT)

clean:
	cargo clean
