//! Random commands against the machine, its model, its invariants and its twins.
//!
//! `PROPTEST_CASES` sets how many; seeds of failures are kept in `proptest-regressions/` of the crate and run first.

use super::{
    ops::{self, Step},
    run::Run,
    state::Judged,
};
use crate::{
    command::set_policy::{CrawlPolicy, Policy, SetPolicy},
    entry::{Body, Command},
};
use proptest::prelude::*;

/// A fixed start: two crawls, one of which makes visits again. Gives the stamps of the entry that made them.
pub fn begin(run: &mut Run) -> Judged<(u64, u64)> {
    let (now_ms, wall_ms) = (1_000, 1_700_000_000_000u64);
    let crawl = |crawl, revisit| Command {
        body: Some(Body::SetPolicy(SetPolicy {
            policy: Some(Policy::Crawl(CrawlPolicy {
                crawl,
                revisit,
                ..CrawlPolicy::default()
            })),
        })),
    };
    run.step(now_ms, wall_ms, vec![crawl(1, false), crawl(2, true)])?;
    Ok((now_ms, wall_ms))
}

/// Runs steps from the fixed start.
pub fn play(run: &mut Run, steps: &[Step]) -> Judged {
    let (mut now_ms, mut wall_ms) = begin(run)?;
    for step in steps {
        match step {
            Step::Entry {
                passes_ms,
                wall_step_ms,
                ops,
            } => {
                now_ms += passes_ms;
                wall_ms = wall_ms
                    .saturating_add(*passes_ms)
                    .saturating_add_signed(*wall_step_ms);
                let commands = ops.iter().map(|op| op.command(run)).collect();
                run.step(now_ms, wall_ms, commands)?;
            }
            Step::Rebuild { lock_step } => run.rebuild(*lock_step)?,
        }
    }
    Ok(())
}

/// Cases in an ordinary test run.
const CASES: u32 = 300;

pub fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    // proptest reads PROPTEST_CASES itself; its own default is another number.
    let cases = if default.cases == 256 {
        CASES
    } else {
        default.cases
    };
    let seeds =
        proptest::test_runner::FileFailurePersistence::SourceParallel("proptest-regressions");
    ProptestConfig {
        cases,
        max_shrink_iters: 1_000,
        failure_persistence: Some(Box::new(seeds)),
        ..default
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn machine_and_model_agree(steps in proptest::collection::vec(ops::step(), 1..60)) {
        let mut run = Run::new().unwrap();
        if let Err(error) = play(&mut run, &steps) {
            prop_assert!(false, "{error}");
        }
    }
}
