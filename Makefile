# Escapement: `make demo` runs the main job, `make test` passes all tests. Each sets up what it needs.

SHELL := /bin/bash
export PATH := $(PATH):$(HOME)/.cargo/bin
TARGET_DIR = $(or $(CARGO_TARGET_DIR),target)
ESCAPEMENT = $(TARGET_DIR)/debug/escapement
PROGRESS = ops/build/progress.sh
DRILLS = kill-leader kill-all pause-leader pause-fetcher partition clock-skew disk-full kill-fetcher kill-box \
	rolling-restart lose-a-disk split-under-load move-under-load drain-under-load join-under-load

.PHONY: demo test build setup setup-tests lint drill sim power-cut real-docs bench clean

demo: build
	$(ESCAPEMENT) demo

build: setup
	$(PROGRESS) cargo build --workspace --all-targets

test: setup-tests build
	cargo test --workspace --no-fail-fast
	tests/warcio/run.sh $(ESCAPEMENT)

setup:
	@ops/build/setup.sh

# What only the tests need, looked for before anything is compiled.
setup-tests: setup
	@tests/warcio/setup.sh >/dev/null

lint:
	@ops/build/setup.sh --lint
	cargo fmt --all --check
	$(PROGRESS) cargo clippy --workspace --all-targets -- -D warnings

# Longer checks, each its own target.

# Each drill briefly, about a minute each; `escapement drill NAME --rounds N` takes longer. Code 3: needs root, passed over.
drill: build
	for name in $(DRILLS); do $(ESCAPEMENT) drill $$name --json || [ $$? = 3 ] || exit 1; done
	$(ESCAPEMENT) drill kill-crawl --hosts 60 --kills 3

# The whole cluster under virtual time: 2 000 seeds instead of the few that `make test` runs. A seed that breaks is named with
# its last events; ESCAPEMENT_SIM_FIRST_SEED=N ESCAPEMENT_SIM_SEEDS=1 runs it again, ESCAPEMENT_SIM_LOUD=1 shows all of it.
sim: export ESCAPEMENT_SIM_SEEDS ?= 2000
sim: build
	cargo test --workspace --lib sim::tests -- --nocapture --test-threads 1

# 60 moments of a single crawl instead of the few that `make test` tries, and of a cluster 10 of one node and 10 of all.
power-cut: build
	ESCAPEMENT_POWER_CUTS=60 cargo test --workspace --lib power_cut -- --nocapture --test-threads 2

real-docs: build
	tests/real-docs/run.sh $(ESCAPEMENT)

bench: build
	for n in n1 n2 n3 n5 n6 n7 "n1 --replicas 3" "n2 --replicas 3" "n3 --replicas 3" n8 n9 n10 refill "refill --break" \
	    coordination n0 "n0 --rate 772"; do $(ESCAPEMENT) bench $$n --json || exit 1; done

clean:
	cargo clean
