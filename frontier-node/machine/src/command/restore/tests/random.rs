//! Whatever a crawl did: its rows make two shards in which every invariant holds.

use super::*;
use crate::model::{ops, random_tests, run::Run};
use proptest::prelude::*;

proptest! {
    #![proptest_config(random_tests::config())]

    #[test]
    fn any_shard_is_restored_into_two(
        steps in proptest::collection::vec(ops::step(), 1..60),
        at in 1..256u64,
    ) {
        let mut run = Run::new().unwrap();
        if let Err(error) = random_tests::play(&mut run, &steps) {
            prop_assert!(false, "{error}");
        }
        let sources = vec![cut(&run.replica.store, run.replica.machine.shard())];
        let before = run.replica.machine.status().terms;
        let mut accepted = 0;
        for (shard, first, last) in [(11, 0, at - 1), (12, at, 4_095)] {
            let mut target = empty(shard, first, last);
            restore(&mut target, &sources);
            let terms = target.m.status().terms;
            prop_assert!(terms.leased == 0);
            accepted += terms.queued + terms.scheduled + terms.done + terms.refused;
        }
        prop_assert!(
            accepted + before.removed >= before.accepted && accepted <= before.accepted,
            "{before:?}, and {accepted} in the two"
        );
    }
}
