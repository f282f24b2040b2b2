//! The pure web: what every (host, path) answers, without any state.

mod canonical;
mod charset;
mod host;
mod names;
mod page;
mod resource;
mod robots_text;
mod sizes;
mod spelling;
#[cfg(test)]
mod tests;
mod unit;

pub(crate) use canonical::canonical_path;
pub(crate) use host::{Host, RobotsKind};
pub(crate) use names::{bare_name, host_index, host_name};
pub(crate) use page::Payload;
pub(crate) use resource::{Found, Resource, Validators};
pub(crate) use robots_text::RobotsAnswer;

use crate::limits;
use crate::options::{FakeWebOptions, Features, Shape};
use crate::rng::{Purpose, Rng};
use sizes::Sizes;

/// The web itself: options, and two things derived from them once.
#[derive(Debug)]
pub(crate) struct Web {
    pub(crate) hosts: u32,
    seed: u64,
    pub(crate) shape: Shape,
    pub(crate) features: Features,
    sizes: Sizes,
    /// ASCII words that bodies are cut from.
    filler: String,
}

impl Web {
    /// The web of these options, which must be valid.
    pub(crate) fn new(options: &FakeWebOptions) -> Self {
        let shape = options.shape.clone();
        Self {
            hosts: options.hosts,
            seed: options.seed,
            sizes: Sizes::new(shape.mean_pages, shape.max_pages_per_host),
            shape,
            features: options.features.clone(),
            filler: filler(options.seed),
        }
    }

    pub(crate) fn rng(&self, purpose: Purpose, host: u32, part: u32) -> Rng {
        Rng::keyed(self.seed, purpose, u64::from(host), u64::from(part))
    }
}

/// Words of varied length from a vocabulary of two thousand, so that bodies compress about as prose does.
fn filler(seed: u64) -> String {
    let mut rng = Rng::keyed(seed, Purpose::Filler, 0, 0);
    let letters = b"eeeeetttaaaooiinnsshhrrddlucmwfygpbvk";
    let words: Vec<String> = (0..2000)
        .map(|_| {
            let length = rng.range(2, 9);
            (0..length).map(|_| char::from(rng.pick(letters))).collect()
        })
        .collect();
    let mut text = String::with_capacity(limits::FILLER_BYTES + 16);
    while text.len() < limits::FILLER_BYTES {
        // The smaller of two draws makes some words frequent.
        let word = rng.below(2000).min(rng.below(2000)) as usize;
        text.push_str(&words[word]);
        text.push(if rng.below(12) == 0 { '\n' } else { ' ' });
    }
    text
}
