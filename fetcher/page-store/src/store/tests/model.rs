//! Random puts, reads, reopenings and power cuts against a plain map.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use proptest::prelude::*;
use tempfile::TempDir;

use crate::capture::UnmodifiedCapture;
use crate::digest::Digest;
use crate::error::PutError;
use crate::options::StoreOptions;
use crate::page::Outcome;
use crate::segment;
use crate::store::PageStore;
use crate::testing::{FaultyDisk, capture, cut, noise, options, overwrite};

/// One step. A payload is named by its seed, from a few, so that duplicates are frequent.
#[derive(Debug, Clone)]
enum Step {
    Put(Vec<u64>),
    Unmodified(u64),
    Get(u64),
    Reopen,
    /// Power is cut at the next sync while these are put: what was not synced is kept up to a fraction, or has a hole.
    PowerCut {
        putting: Vec<u64>,
        kept: u8,
        has_hole: bool,
    },
    /// A sync fails while these are put, and loses what was not synced.
    SyncFails(Vec<u64>),
    /// The disk has room for this much while these are put, then room again.
    Full(Vec<u64>, u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let seeds = || prop::collection::vec(0..24u64, 1..6);
    let step = prop_oneof![
        4 => seeds().prop_map(Step::Put),
        1 => (0..24u64).prop_map(Step::Unmodified),
        2 => (0..24u64).prop_map(Step::Get),
        1 => Just(Step::Reopen),
        2 => (seeds(), any::<u8>(), any::<bool>()).prop_map(|(putting, kept, has_hole)| Step::PowerCut { putting, kept, has_hole }),
        1 => seeds().prop_map(Step::SyncFails),
        1 => (seeds(), 0..3_000u64).prop_map(|(seeds, space_bytes)| Step::Full(seeds, space_bytes)),
    ];
    prop::collection::vec(step, 1..16)
}

fn payload(seed: u64) -> bytes::Bytes {
    noise(seed, 40 * seed as usize)
}

struct Run {
    parent: TempDir,
    image: u32,
    disk: FaultyDisk,
    store: Option<PageStore>,
    /// What was acknowledged.
    model: BTreeMap<Digest, u64>,
}

impl Run {
    fn new() -> Run {
        let mut run = Run {
            parent: TempDir::new().unwrap(),
            image: 0,
            disk: FaultyDisk::default(),
            store: None,
            model: BTreeMap::new(),
        };
        run.open();
        run
    }

    fn dir(&self) -> PathBuf {
        self.parent.path().join(self.image.to_string())
    }

    fn open(&mut self) {
        let mut small = options(&self.dir());
        small.segment_max_size_bytes = 4_096;
        self.disk = FaultyDisk::default();
        let opened = PageStore::open_on(
            self.disk.clone(),
            StoreOptions {
                compression_level: 1,
                ..small
            },
        );
        self.store = Some(opened.unwrap());
    }

    fn store(&self) -> &PageStore {
        self.store.as_ref().unwrap()
    }

    /// Puts all at once; returns those acknowledged.
    async fn put(&mut self, seeds: &[u64]) -> BTreeSet<u64> {
        let known: BTreeSet<u64> = self.model.values().copied().collect();
        let tasks: Vec<_> = seeds
            .iter()
            .map(|seed| {
                let (store, seed) = (self.store().clone(), *seed);
                tokio::spawn(async move {
                    (
                        seed,
                        store
                            .put(capture(&format!("http://h{seed}.example/"), payload(seed)))
                            .await,
                    )
                })
            })
            .collect();
        let mut acknowledged = BTreeSet::new();
        for task in tasks {
            match task.await.unwrap() {
                (seed, Ok(put)) => {
                    assert_eq!(put.digest, Digest::of(&payload(seed)));
                    assert!(
                        !known.contains(&seed) || put.outcome == Outcome::Duplicate,
                        "stored twice"
                    );
                    acknowledged.insert(seed);
                }
                (_, Err(PutError::Full { .. } | PutError::Io { .. })) => {}
                (_, Err(error)) => panic!("{error}"),
            }
        }
        acknowledged
    }

    fn acknowledge(&mut self, seeds: BTreeSet<u64>) {
        self.model.extend(
            seeds
                .into_iter()
                .map(|seed| (Digest::of(&payload(seed)), seed)),
        );
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Put(seeds) => {
                let acknowledged = self.put(&seeds).await;
                assert_eq!(acknowledged, seeds.into_iter().collect());
                self.acknowledge(acknowledged);
            }
            Step::Unmodified(seed) => self.unmodified(seed).await,
            Step::Get(seed) => {
                let got = self.store().get(&Digest::of(&payload(seed))).unwrap();
                let is_known = self.model.values().any(|known| *known == seed);
                assert_eq!(
                    got.map(|page| page.payload),
                    is_known.then(|| payload(seed))
                );
            }
            Step::Reopen => {
                self.store = None;
                self.open();
                self.check(&BTreeSet::new());
            }
            Step::PowerCut {
                putting,
                kept,
                has_hole,
            } => self.power_cut(&putting, kept, has_hole).await,
            Step::SyncFails(seeds) => {
                self.disk.0.lock().failing_syncs = 1;
                let acknowledged = self.put(&seeds).await;
                self.disk.0.lock().failing_syncs = 0;
                self.acknowledge(acknowledged);
                self.check(&BTreeSet::new());
            }
            Step::Full(seeds, space_bytes) => {
                self.disk.0.lock().space_left_bytes = Some(space_bytes);
                let acknowledged = self.put(&seeds).await;
                self.disk.0.lock().space_left_bytes = None;
                self.acknowledge(acknowledged);
                self.check(&BTreeSet::new());
            }
        }
    }

    async fn unmodified(&mut self, seed: u64) {
        let digest = Digest::of(&payload(seed));
        let url = format!("http://h{seed}.example/");
        let put = self
            .store()
            .put_unmodified(UnmodifiedCapture {
                url,
                captured_at_unix_ms: 1,
                headers: vec![],
                digest,
            })
            .await;
        let is_known = self.model.contains_key(&digest);
        assert_eq!(
            put.map(|put| put.digest),
            if is_known {
                Ok(digest)
            } else {
                Err(PutError::UnknownDigest { digest })
            }
        );
    }

    /// The image is taken inside the sync, before it does anything: what it would have made durable is there in part.
    async fn power_cut(&mut self, putting: &[u64], kept: u8, has_hole: bool) {
        let image = self.parent.path().join((self.image + 1).to_string());
        self.disk.0.lock().image_at_sync = Some((self.dir(), image.clone()));
        // Acknowledged after the image: whether the cut kept them is open.
        let putting: BTreeSet<u64> = self.put(putting).await;
        let was_taken = self.disk.0.lock().image_at_sync.take().is_none();
        assert!(was_taken, "every put syncs");
        for number in segment::list(&image).unwrap() {
            let path = segment::path(&image, number);
            let size_bytes = std::fs::metadata(&path).unwrap().len();
            let synced_bytes = self.disk.0.lock().image_synced_bytes[&segment::file_name(number)];
            let unsynced_bytes = size_bytes - synced_bytes;
            let kept_bytes = unsynced_bytes * u64::from(kept) / 255;
            if has_hole && unsynced_bytes > 0 {
                overwrite(
                    &path,
                    synced_bytes,
                    &vec![0; (kept_bytes + 1).min(unsynced_bytes) as usize],
                );
            } else {
                cut(&path, synced_bytes + kept_bytes);
            }
        }
        self.store = None;
        self.image += 1;
        self.open();
        self.check(&putting);
        let survived: Vec<u64> = putting
            .into_iter()
            .filter(|seed| self.store().contains(&Digest::of(&payload(*seed))).unwrap())
            .collect();
        self.acknowledge(survived.into_iter().collect());
    }

    /// Everything acknowledged is there, and nothing else but what may have survived.
    fn check(&self, may_be: &BTreeSet<u64>) {
        for (digest, seed) in &self.model {
            let page = self
                .store()
                .get(digest)
                .unwrap()
                .expect("acknowledged, and lost");
            assert_eq!(page.payload, payload(*seed));
        }
        let report = self.store().scrub();
        assert_eq!(report.problems, []);
        let known = self.model.values().copied().collect::<BTreeSet<u64>>();
        let at_most = known.union(may_be).count() as u64;
        assert!(
            report.payloads >= known.len() as u64 && report.payloads <= at_most,
            "{report:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn acknowledged_pages_survive_everything(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        let mut run = Run::new();
        runtime.block_on(async {
            for step in steps {
                run.step(step).await;
            }
        });
        run.store = None;
        run.open();
        run.check(&BTreeSet::new());
    }
}
