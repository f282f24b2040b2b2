//! Keeps one link open for as long as the peer is one.

use std::sync::Arc;

use proto::raft_v1 as pb;
use raftlog::NodeId;
use tokio::sync::broadcast;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::handle::{LinkEnd, LinkState};
use super::open::{OpenFailure, open};
use super::session::{Ended, FIRST_PING, Session};
use crate::address_book::AddressBook;
use crate::dialer::Dialer;
use crate::envelope::Identity;
use crate::limits::{LIVED, REDIAL_MAX, REDIAL_MIN};
use crate::metrics::{Counters, add};
use crate::options::NetOptions;
use crate::wall::WallClock;

/// What a link needs of its node.
pub(crate) struct LinkContext {
    pub(crate) peer: NodeId,
    pub(crate) options: NetOptions,
    pub(crate) book: Arc<dyn AddressBook>,
    pub(crate) wall: Arc<dyn WallClock>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) refused: broadcast::Sender<NodeId>,
    /// Ends the link for good.
    pub(crate) stop: CancellationToken,
}

impl LinkContext {
    /// A message to the peer, with a ping if it has an id.
    pub(super) fn message(
        &self,
        heartbeats: Vec<pb::Heartbeat>,
        ping_id: Option<u64>,
    ) -> pb::LinkRequest {
        let here = Identity {
            cluster_id: self.options.cluster_id,
            me: self.options.me,
        };
        pb::LinkRequest {
            envelope: Some(here.to(self.peer)),
            heartbeats,
            ping: ping_id.map(|id| pb::Ping {
                id,
                wall_unix_ms: self.wall.wall_unix_ms(),
            }),
        }
    }
}

/// The task of one link.
pub(crate) struct LinkTask {
    context: LinkContext,
    end: LinkEnd,
    /// The link was open since a death of the peer was last published: another may be.
    was_open: bool,
    /// The failure that the log has already.
    told: String,
}

impl LinkTask {
    pub(crate) const fn new(context: LinkContext, end: LinkEnd) -> Self {
        Self {
            context,
            end,
            was_open: false,
            told: String::new(),
        }
    }

    /// Opens the link, again and again, until it is stopped.
    pub(crate) async fn run(mut self) {
        let stop = self.context.stop.clone();
        let mut pause = REDIAL_MIN;
        loop {
            self.end.state.send_replace(LinkState::Dialing);
            let opened = tokio::select! {
                () = stop.cancelled() => return,
                opened = self.open() => opened,
            };
            match opened {
                Ok(session) => {
                    let since = Instant::now();
                    if !self.serve(session).await {
                        return;
                    }
                    if since.elapsed() >= LIVED {
                        pause = REDIAL_MIN;
                        continue;
                    }
                }
                Err(failure) => self.failed(&failure),
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = sleep(pause) => {}
            }
            pause = (pause * 2).min(REDIAL_MAX);
        }
    }

    async fn open(&self) -> Result<Session, OpenFailure> {
        let context = &self.context;
        let address = context
            .book
            .address(context.peer)
            .ok_or(OpenFailure::NoAddress)?;
        let dialer = Dialer::new(
            &address,
            context.options.connect_timeout(),
            Arc::clone(&context.counters),
        );
        let first = context.message(Vec::new(), Some(FIRST_PING));
        let opened = open(&dialer, first).await?;
        context.counters.pings.sent(0);
        Ok(Session::new(opened))
    }

    /// Serves an open link; false if it ended on purpose.
    async fn serve(&mut self, mut session: Session) -> bool {
        let peer = self.context.peer;
        tracing::info!(peer, "link open");
        self.was_open = true;
        self.told.clear();
        self.end.state.send_replace(LinkState::Up);
        let ended = session.run(&self.context, &mut self.end).await;
        let reason = match ended {
            Ended::Closed => return false,
            Ended::Broke(reason) => reason,
            Ended::Silent => "no answer to pings".to_owned(),
        };
        tracing::warn!(peer, reason, "link broke");
        add(&self.context.counters.redials, 1);
        self.down(&reason);
        true
    }

    fn failed(&mut self, failure: &OpenFailure) {
        let peer = self.context.peer;
        let reason = failure.to_string();
        if reason != self.told {
            tracing::warn!(peer, reason, "no link");
            self.told.clone_from(&reason);
        }
        if self.was_open && failure.shows_death() {
            self.was_open = false;
            add(&self.context.counters.refused, 1);
            let _nobody_listens = self.context.refused.send(peer);
        }
        self.down(&reason);
    }

    /// From here on heartbeats fail at once; those that wait learn of it now.
    fn down(&mut self, reason: &str) {
        self.end.state.send_replace(LinkState::Down(reason.into()));
        while self.end.queue.try_recv().is_ok() {}
    }
}
