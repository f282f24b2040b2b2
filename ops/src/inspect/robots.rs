//! `inspect robots`: what a robots.txt says of a URL.

use crate::output::{self, CommandError};
use ::robots::{Robots, target};
use base64::Engine as _;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::process::ExitCode;
use urlkey::Canonicalizer;

/// Arguments of `inspect robots`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Read JSON lines `{"robots_base64","agent","url"}` from stdin.
    #[arg(long)]
    stdin: bool,
    /// A robots.txt file to check `--url` against.
    #[arg(long, requires = "url", required_unless_present = "stdin")]
    file: Option<PathBuf>,
    /// Product token of the crawler.
    #[arg(long, default_value = "Escapement")]
    agent: String,
    /// URL to check (may be repeated).
    #[arg(long, requires = "file")]
    url: Vec<String>,
}

/// One question.
#[derive(Deserialize)]
struct Question {
    robots_base64: String,
    agent: String,
    url: String,
}

/// One answer.
#[derive(Serialize)]
struct Answer {
    allowed: bool,
    rule: Option<String>,
    crawl_delay_s: Option<f64>,
}

/// The question could not be read.
#[derive(Serialize)]
struct Refused {
    error: String,
}

/// Runs `inspect robots`.
pub fn run(args: &Args) -> Result<ExitCode, CommandError> {
    if let Some(path) = &args.file {
        let body = std::fs::read(path)
            .map_err(|e| CommandError::io(format!("cannot read {}", path.display()), e))?;
        for url in &args.url {
            print(answer(&body, &args.agent, url))?;
        }
    }
    if args.stdin {
        super::for_each_line(|line| print(line.map_err(str::to_owned).and_then(ask)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn ask(line: &str) -> Result<Answer, String> {
    let question: Question =
        serde_json::from_str(line).map_err(|e| format!("not a question: {e}"))?;
    let body = base64::engine::general_purpose::STANDARD
        .decode(question.robots_base64.as_bytes())
        .map_err(|e| format!("robots_base64: {e}"))?;
    answer(&body, &question.agent, &question.url)
}

fn answer(body: &[u8], agent: &str, url: &str) -> Result<Answer, String> {
    let url = Canonicalizer::default()
        .canonicalize(url)
        .map_err(|e| format!("url: {e}"))?;
    let robots = Robots::parse(body, agent);
    let path = target::path_and_query(url.as_str()).unwrap_or("/");
    let verdict = robots.check(path);
    Ok(Answer {
        allowed: verdict.allowed,
        rule: verdict.rule,
        crawl_delay_s: robots.crawl_delay_ms().map(|ms| ms as f64 / 1_000.0),
    })
}

fn print(answer: Result<Answer, String>) -> Result<(), CommandError> {
    let text = match answer {
        Ok(answer) => serde_json::to_string(&answer),
        Err(error) => serde_json::to_string(&Refused { error }),
    };
    output::line(text.map_err(|e| CommandError::of("cannot write JSON", e))?)
}
