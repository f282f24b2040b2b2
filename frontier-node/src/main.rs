//! The program `frontier-node`: see `frontier_node::process`.

use std::process::ExitCode;

fn main() -> ExitCode {
    frontier_node::process::main()
}
