//! The program `frontier-node`: see `frontier_node::process`.

use std::process::ExitCode;

/// Most of what is allocated is small and short-lived, on one thread and freed on another.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    frontier_node::process::main()
}
