//! What a bench prints.

use super::measure::Measured;
use crate::output::{self, CommandError};
use crate::taken::Taken;
use serde::Serialize;
use serde_json::Value;
use std::io::Write;
use std::path::Path;

/// One bench's outcome.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// Its name, as in docs/BENCHES.md.
    pub bench: &'static str,
    /// When and where.
    pub taken: Taken,
    /// What the figure counts.
    pub what: &'static str,
    /// Unit of figure and floor.
    pub unit: &'static str,
    /// The figure.
    pub figure: f64,
    /// The floor of the same run.
    pub floor: f64,
    /// What the floor does.
    pub floor_is: &'static str,
    /// Figure by floor.
    pub ratio: f64,
    /// What is wanted of it.
    pub reach: &'static str,
    /// How long the figure was measured.
    pub seconds: f64,
    /// CPU time of this process meanwhile, load included.
    pub cpu_seconds: f64,
    /// Peak resident memory of this process meanwhile, load included.
    pub peak_memory_bytes: u64,
    /// The parameters of the run.
    pub parameters: Value,
    /// Further figures.
    pub detail: Value,
}

/// The part of an outcome that is known before a run.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// Its name, as in docs/BENCHES.md.
    pub bench: &'static str,
    /// What the figure counts.
    pub what: &'static str,
    /// Unit of figure and floor.
    pub unit: &'static str,
    /// What the floor does.
    pub floor_is: &'static str,
    /// What is wanted of it.
    pub reach: &'static str,
}

impl Outcome {
    /// Puts an outcome together.
    pub fn new(
        about: About,
        (figure, floor): (f64, f64),
        measured: &Measured,
        parameters: &impl Serialize,
        detail: Value,
    ) -> Result<Self, CommandError> {
        let About {
            bench,
            what,
            unit,
            floor_is,
            reach,
        } = about;
        Ok(Self {
            bench,
            taken: Taken::now(),
            what,
            unit,
            figure: rounded(figure),
            floor: rounded(floor),
            floor_is,
            ratio: rounded(ratio(figure, floor)),
            reach,
            seconds: rounded(measured.seconds),
            cpu_seconds: rounded(measured.cpu_seconds),
            peak_memory_bytes: measured.peak_memory_bytes,
            parameters: serde_json::to_value(parameters)
                .map_err(|e| CommandError::of("cannot write JSON", e))?,
            detail,
        })
    }

    /// Adds it to a file as one JSON line, for `escapement plan --measured`.
    pub fn record(&self, file: &Path) -> Result<(), CommandError> {
        let text = self.json()? + "\n";
        let opened = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(file);
        opened
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|e| CommandError::io(format!("cannot write to {}", file.display()), e))
    }

    fn json(&self) -> Result<String, CommandError> {
        serde_json::to_string(self).map_err(|e| CommandError::of("cannot write JSON", e))
    }

    /// Prints it: for people, or as one JSON line.
    pub fn print(&self, json: bool) -> Result<(), CommandError> {
        if json {
            return output::line(self.json()?);
        }
        output::line(format_args!("{} {}", self.bench, self.what))?;
        output::line(format_args!(
            "  figure {} {}  (wanted: {})",
            self.figure, self.unit, self.reach
        ))?;
        output::line(format_args!(
            "  floor  {} {}  ({})",
            self.floor, self.unit, self.floor_is
        ))?;
        output::line(format_args!("  ratio  {}", self.ratio))?;
        let peak_mib = self.peak_memory_bytes >> 20;
        output::line(format_args!(
            "  {} s, {} CPU seconds, {peak_mib} MiB at most",
            self.seconds, self.cpu_seconds
        ))?;
        output::line(format_args!("  taken      {}", self.taken))?;
        output::line(format_args!("  parameters {}", self.parameters))?;
        output::line(format_args!("  detail     {}", self.detail))
    }
}

/// A quotient; nothing by nothing is nothing.
pub fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Four significant digits: more would be noise.
pub fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let digits = 3 - value.abs().log10().floor() as i32;
    if digits <= 0 {
        value.round()
    } else {
        (value * 10f64.powi(digits)).round() / 10f64.powi(digits)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_are_kept() {
        assert_eq!(rounded(123_456.7), 123_457.0);
        assert_eq!(rounded(1.234_56), 1.235);
        assert_eq!(rounded(0.000_123_456), 0.000_123_5);
        assert_eq!(rounded(0.0), 0.0);
        assert_eq!((ratio(1.0, 2.0), ratio(1.0, 0.0)), (0.5, 0.0));
    }

    #[test]
    fn an_outcome_is_one_json_object_with_all_that_scripts_rely_on() {
        let about = About {
            bench: "n0",
            what: "w",
            unit: "u",
            floor_is: "f",
            reach: "r",
        };
        let measured = Measured {
            seconds: 2.0,
            cpu_seconds: 1.0,
            peak_memory_bytes: 7,
        };
        let outcome = Outcome::new(
            about,
            (50.0, 100.0),
            &measured,
            &serde_json::json!({"a": 1}),
            Value::Null,
        )
        .unwrap();
        let text = serde_json::to_string(&outcome).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert!(!text.contains('\n'));
        assert_eq!(
            (value["figure"].as_f64(), value["floor"].as_f64()),
            (Some(50.0), Some(100.0))
        );
        assert_eq!(
            (value["ratio"].as_f64(), value["cpu_seconds"].as_f64()),
            (Some(0.5), Some(1.0))
        );
        assert_eq!(
            (
                value["peak_memory_bytes"].as_u64(),
                value["parameters"]["a"].as_u64()
            ),
            (Some(7), Some(1))
        );
    }
}
