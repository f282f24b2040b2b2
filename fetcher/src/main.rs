//! The fetcher process: everything is in [`fetcher::process`].

fn main() -> std::process::ExitCode {
    fetcher::process::main()
}
