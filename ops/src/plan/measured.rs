//! Figures that benches printed: one JSON object a line, as `escapement bench NAME --record FILE` writes them.

use crate::limits::MEASURED_FILE_BYTES;
use crate::output::CommandError;
use crate::taken::Taken;
use serde::Deserialize;
use serde_json::Value;
use std::io::Read;
use std::path::Path;

/// What was recorded last, before this program was built. Nothing in it is written by hand.
const SHIPPED: &str = include_str!("measured.jsonl");

/// One bench's outcome; what else it holds is not looked at.
#[derive(Debug, Deserialize)]
struct Recorded {
    bench: String,
    taken: Taken,
    parameters: Value,
    #[serde(flatten)]
    rest: Value,
}

/// A file does not hold outcomes of benches.
#[derive(Debug, thiserror::Error)]
#[error("line {line} is no outcome of a bench: {source}")]
pub struct NotAnOutcome {
    line: usize,
    source: serde_json::Error,
}

/// All outcomes of a file.
#[derive(Debug)]
pub struct Measured {
    recorded: Vec<Recorded>,
    replicas: u64,
}

/// A figure and where it is from.
#[derive(Debug)]
pub struct Figure<'a> {
    /// The number, in the bench's unit.
    pub value: f64,
    /// When and where.
    pub taken: &'a Taken,
}

impl Measured {
    /// The shipped ones, or those of a file. Benches with several replicas count when they had so many.
    pub fn read(file: Option<&Path>, replicas: u64) -> Result<Self, CommandError> {
        let Some(path) = file else {
            return Self::parse(SHIPPED, replicas)
                .map_err(|e| CommandError::of("the shipped figures", e));
        };
        let shown = path.display();
        let unread = |e| CommandError::io(format!("cannot read {shown}"), e);
        let mut text = String::new();
        let opened = std::fs::File::open(path).map_err(unread)?;
        let read = opened
            .take(MEASURED_FILE_BYTES + 1)
            .read_to_string(&mut text);
        if read.map_err(unread)? as u64 > MEASURED_FILE_BYTES {
            return Err(CommandError::Message(format!(
                "{shown} is larger than {MEASURED_FILE_BYTES} bytes"
            )));
        }
        Self::parse(&text, replicas).map_err(|e| CommandError::of(&shown.to_string(), e))
    }

    /// Outcomes, one a line; empty lines are passed over.
    pub fn parse(text: &str, replicas: u64) -> Result<Self, NotAnOutcome> {
        let mut recorded = Vec::new();
        for (number, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let outcome = serde_json::from_str(line).map_err(|source| NotAnOutcome {
                line: number + 1,
                source,
            })?;
            recorded.push(outcome);
        }
        Ok(Self { recorded, replicas })
    }

    /// A number of the newest outcome of a bench, by its JSON pointer.
    pub fn figure(&self, bench: &str, pointer: &str) -> Option<Figure<'_>> {
        let fits = |outcome: &&Recorded| {
            let replicas = outcome.parameters.get("replicas").and_then(Value::as_u64);
            outcome.bench == bench && replicas.is_none_or(|replicas| replicas == self.replicas)
        };
        let newest = self.recorded.iter().rev().find(fits)?;
        let value = match pointer.strip_prefix("/parameters") {
            Some(rest) => newest.parameters.pointer(rest)?.as_f64()?,
            None => newest.rest.pointer(pointer)?.as_f64()?,
        };
        let taken = &newest.taken;
        Some(Figure { value, taken })
    }
}
