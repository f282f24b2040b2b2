//! The fetcher process: everything is in [`fetcher::process`].

/// Most of what is allocated is small and short-lived, on one thread and freed on another.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    fetcher::process::main()
}
