//! URLs offered all the while, and which of them were acknowledged: those must never be forgotten.

use super::Talk;
use futures::StreamExt;
use parking_lot::Mutex;
use proto::frontier_v1::DiscoverResult;
use proto::frontier_v1::discover_result::Code;
use proto::frontier_v1::url_record::State;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// The crawl that they are offered to; it is paused.
pub const OFFERED_CRAWL: u32 = 2;
/// What only their names end with.
pub const OFFERED_SUFFIX: &str = ".offered.example";

const BATCH: u64 = 8;
const HOSTS: u64 = 50;
const PAUSE: Duration = Duration::from_millis(30);
/// Longest time of one batch.
const OFFER_WITHIN: Duration = Duration::from_secs(2);
/// Look-ups at once.
const LOOK_UPS: usize = 16;

/// The task that offers. Ends when dropped.
#[derive(Debug)]
pub struct Offering {
    acknowledged: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Offering {
    /// Sets the cluster up as soon as it answers, then offers until dropped.
    pub fn start(addresses: Vec<String>, seed_url: String) -> Self {
        let acknowledged = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&acknowledged);
        let task = tokio::spawn(async move {
            let talk = Talk::connect(&addresses).await;
            talk.set_up(&seed_url).await.unwrap();
            for first in (0..).step_by(BATCH as usize) {
                let urls: Vec<String> = (first..first + BATCH).map(url).collect();
                let items = urls.iter().map(|url| talk.link(OFFERED_CRAWL, url));
                let offered = talk
                    .router
                    .offer_within(items.collect(), OFFER_WITHIN)
                    .await;
                let answered = urls.into_iter().zip(offered.results);
                let taken = answered.filter(|(_, result)| {
                    let code = result.as_ref().map(DiscoverResult::code);
                    matches!(code, Some(Code::New | Code::Known))
                });
                noted.lock().extend(taken.map(|(url, _)| url));
                tokio::time::sleep(PAUSE).await;
            }
        });
        Self { acknowledged, task }
    }

    /// Whether it gave up.
    pub fn failed(&self) -> bool {
        self.task.is_finished()
    }

    /// Those acknowledged so far.
    pub fn acknowledged(&self) -> Vec<String> {
        self.acknowledged.lock().clone()
    }
}

impl Drop for Offering {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn url(number: u64) -> String {
    format!("http://h{}{OFFERED_SUFFIX}/{number}", number % HOSTS)
}

/// Those of the acknowledged that their owners do not know as queued.
pub async fn forgotten(talk: &Talk, acknowledged: &[String]) -> Vec<String> {
    let look_ups = futures::stream::iter(acknowledged).map(|url| async move {
        match talk.url(OFFERED_CRAWL, url).await {
            Ok(Some(record)) if record.state() == State::Queued => None,
            Ok(Some(record)) => Some(format!("{url} is {:?}", record.state())),
            Ok(None) => Some(format!("{url} was acknowledged and is not known")),
            Err(why) => Some(format!("{url}: {why}")),
        }
    });
    let found = look_ups.buffer_unordered(LOOK_UPS);
    found.filter_map(async |wrong| wrong).collect().await
}
