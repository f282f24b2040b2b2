//! Reports and releases: gathered while a call is under way, sent together by shard, tried again until answered or pointless.
//!
//! Contact ages are computed anew for every try, since they count from the moment of sending.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use client::{CallError, Frontier};
use parking_lot::Mutex;
use pb::report_result::Code;
use proto::frontier_v1 as pb;
use tokio::sync::{Notify, mpsc, oneshot};
use tracing::Instrument;

use crate::contact::Contact;
use crate::deadline::BootInstant;
use crate::held::Held;
use crate::limits::{MAX_REPORTS_A_CALL, REPORT_GRACE_MS, RETRY_PAUSE_MS};
use crate::links::Links;
use crate::metrics::Metrics;
use crate::outcome::End;
use crate::report_item::{Item, batches};

/// Counts items on their way.
pub(crate) struct Pending(Arc<Reporter>);

impl Drop for Pending {
    fn drop(&mut self) {
        if self.0.pending.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}

/// Sends the ends of leases.
pub(crate) struct Reporter {
    frontier: Arc<dyn Frontier>,
    links: Arc<dyn Links>,
    metrics: Arc<Metrics>,
    shards: Mutex<HashMap<u64, mpsc::UnboundedSender<Item>>>,
    pending: AtomicUsize,
    idle: Notify,
    this: Weak<Self>,
}

/// What became of one item of a call.
enum Answer {
    Over,
    /// Another shard owns it now, or nobody knows.
    Elsewhere,
}

impl Reporter {
    pub(crate) fn new(
        frontier: Arc<dyn Frontier>,
        links: Arc<dyn Links>,
        metrics: Arc<Metrics>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            frontier,
            links,
            metrics,
            shards: Mutex::default(),
            pending: AtomicUsize::new(0),
            idle: Notify::new(),
            this: this.clone(),
        })
    }

    /// Takes the end of a lease; the receiver hears when it is over, one way or the other. Bounded by the leases that
    /// are held, each of which keeps its slot until then.
    pub(crate) fn send(&self, held: Held, contact: Contact, end: End) -> oneshot::Receiver<()> {
        let (done, heard) = oneshot::channel();
        if let Some(this) = self.this.upgrade() {
            self.pending.fetch_add(1, Ordering::AcqRel);
            self.count(&end);
            let item = Item {
                held,
                contact,
                end,
                _done: done,
                _pending: Pending(Arc::clone(&this)),
            };
            this.hand_over(item);
        }
        heard
    }

    /// Ends of leases on their way.
    pub(crate) fn pending(&self) -> usize {
        self.pending.load(Ordering::Acquire)
    }

    /// Returns when nothing is on its way.
    pub(crate) async fn flushed(&self) {
        loop {
            let idle = self.idle.notified();
            if self.pending.load(Ordering::Acquire) == 0 {
                return;
            }
            idle.await;
        }
    }

    /// Gives an item to its shard's task, starting one if there is none.
    fn hand_over(self: Arc<Self>, item: Item) {
        let mut shards = self.shards.lock();
        let shard = item.held.shard;
        let item = match shards.get(&shard) {
            Some(queue) => match queue.send(item) {
                Ok(()) => return,
                Err(refused) => refused.0,
            },
            None => item,
        };
        let (queue, items) = mpsc::unbounded_channel();
        // The receiver is right here: the queue is open.
        let _ = queue.send(item);
        shards.insert(shard, queue);
        drop(shards);
        tokio::spawn(serve(Arc::downgrade(&self), shard, items).in_current_span());
    }

    async fn call(self: &Arc<Self>, shard: u64, items: Vec<Item>) {
        let (reports, releases): (Vec<_>, Vec<_>) = items
            .into_iter()
            .partition(|item| matches!(item.end, End::Report { .. }));
        for batch in batches(reports).into_iter().chain(batches(releases)) {
            self.deliver(shard, batch).await;
        }
    }

    /// Tries one batch until every item of it is over or belongs elsewhere.
    async fn deliver(self: &Arc<Self>, shard: u64, mut batch: Vec<Item>) {
        let mut pause_ms = RETRY_PAUSE_MS.0;
        while !batch.is_empty() {
            let mut asked_pause_ms = 0;
            match self.send_batch(shard, &batch).await {
                Ok(results) => {
                    let answers: Vec<Answer> = batch
                        .iter()
                        .enumerate()
                        .map(|(index, item)| self.answer(item, results.get(index)))
                        .collect();
                    let mut answers = answers.into_iter();
                    batch.retain(|_| matches!(answers.next(), Some(Answer::Elsewhere)));
                    batch = self.elsewhere(shard, batch).await;
                }
                Err(CallError::WrongShard { .. }) => batch = self.elsewhere(shard, batch).await,
                Err(CallError::Invalid { index, reason }) => {
                    tracing::error!(shard, index, reason, "a report was refused as malformed");
                    self.metrics.reports_failed.increment();
                    batch.swap_remove((index as usize).min(batch.len() - 1));
                    // The rest has not been tried yet: no reason to wait.
                    pause_ms = RETRY_PAUSE_MS.0;
                }
                Err(error) if error.is_retryable() => {
                    if let CallError::Unavailable { retry_after_ms, .. }
                    | CallError::OverLimit { retry_after_ms, .. } = error
                    {
                        asked_pause_ms = retry_after_ms;
                    }
                }
                Err(error) => {
                    tracing::error!(shard, %error, "a batch of reports was refused");
                    self.metrics.reports_failed.add(batch.len() as u64);
                    batch.clear();
                }
            }
            self.give_up_old(&mut batch);
            if !batch.is_empty() {
                tokio::time::sleep(Duration::from_millis(
                    pause_ms.max(asked_pause_ms.min(RETRY_PAUSE_MS.1)),
                ))
                .await;
                pause_ms = (pause_ms * 2).min(RETRY_PAUSE_MS.1);
            }
        }
    }

    async fn send_batch(
        &self,
        shard: u64,
        batch: &[Item],
    ) -> Result<Vec<pb::ReportResult>, CallError> {
        let now = BootInstant::now();
        if batch
            .iter()
            .any(|item| matches!(item.end, End::Report { .. }))
        {
            let items = batch.iter().filter_map(|item| item.report(now)).collect();
            return self
                .frontier
                .report(pb::ReportRequest { shard, items })
                .await
                .map(|response| response.results);
        }
        let items = batch
            .iter()
            .map(|item| pb::ReleaseItem {
                key: Some(item.held.key),
                token: item.held.token,
            })
            .collect();
        self.frontier
            .release(pb::ReleaseRequest { shard, items })
            .await
            .map(|response| response.results)
    }

    fn answer(&self, item: &Item, result: Option<&pb::ReportResult>) -> Answer {
        let Some(result) = result else {
            return Answer::Elsewhere;
        };
        match result.code() {
            Code::Closed | Code::Requeued => self.metrics.reports_closed.increment(),
            Code::LeaseLost => {
                // The page may stay in the store; the URL is somebody else's (case B8).
                tracing::info!(
                    reason = result.reason,
                    token = item.held.token,
                    "a lease was lost before its report"
                );
                self.metrics.reports_lost.increment();
            }
            Code::Invalid => {
                tracing::error!(reason = result.reason, "a report was refused");
                self.metrics.reports_failed.increment();
            }
            Code::WrongShard | Code::Unspecified => return Answer::Elsewhere,
        }
        Answer::Over
    }

    /// Hands items to the shards that own them by a newer map; returns those that stay.
    async fn elsewhere(self: &Arc<Self>, shard: u64, batch: Vec<Item>) -> Vec<Item> {
        if batch.is_empty() {
            return batch;
        }
        self.links.refresh().await;
        let mut stay = Vec::new();
        for mut item in batch {
            match self.links.owner(item.held.key.partition) {
                Some(owner) if owner != shard => {
                    item.held.shard = owner;
                    Arc::clone(self).hand_over(item);
                }
                _ => stay.push(item),
            }
        }
        stay
    }

    /// A lease that has been over for long has ended without us.
    fn give_up_old(&self, batch: &mut Vec<Item>) {
        let now = BootInstant::now();
        let before = batch.len();
        batch.retain(|item| item.held.deadline.ms_past(now) < REPORT_GRACE_MS);
        self.metrics
            .reports_failed
            .add((before - batch.len()) as u64);
    }

    fn count(&self, end: &End) {
        match end {
            End::Release => self.metrics.released.increment(),
            End::Report {
                outcome: pb::report::Outcome::Page(page),
                ..
            } => self.metrics.count_page(page),
            End::Report { .. } => {}
        }
    }
}

/// The task of one shard: one call at a time, with everything that gathered during the last.
async fn serve(reporter: Weak<Reporter>, shard: u64, mut queue: mpsc::UnboundedReceiver<Item>) {
    let mut items = Vec::new();
    while queue.recv_many(&mut items, MAX_REPORTS_A_CALL).await > 0 {
        let Some(reporter) = reporter.upgrade() else {
            return;
        };
        reporter.call(shard, std::mem::take(&mut items)).await;
    }
}
