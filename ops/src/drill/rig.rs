//! A fake web, a cluster that crawls it, and someone who watches: what every drill works on.

use super::judge::{Evidence, Verdict};
use super::limits::{
    BACK_OFF_BASE_MS, CAUGHT_UP_WITHIN, COPIES, CRAWL, FETCH_TIMEOUT, IDLE_LOOKS, LEASE_TTL,
    LEASE_WITHIN, LOOK_EVERY, QUIET_WITHIN, WARM_UP_WITHIN,
};
use super::pages;
use super::plan::Plan;
use super::probe::LeaseProbe;
use super::sampler::Sampler;
use crate::bench::rng::mix;
use crate::cluster::{
    Addresses, Cluster, Control, FetcherSpec, NodeClient, NodeSpec, Programs, left,
};
use crate::output::{self, CommandError};
use ::fakeweb::{FakeWeb, Manifest, RunningFakeWeb};
use proto::frontier_v1 as pb;
use std::path::Path;
use std::time::{Duration, Instant};

/// What a drill works on. Everything ends with it.
pub struct Rig {
    /// The processes.
    pub cluster: Cluster,
    /// The cluster over gRPC.
    pub control: Control,
    /// The web.
    pub web: RunningFakeWeb,
    plan: Plan,
    manifest: Manifest,
    sampler: Sampler,
    random: u64,
    /// Nodes that did not join yet, the next one last.
    joiners: Vec<NodeSpec>,
}

impl Rig {
    /// Starts all of it and waits until the crawl has come to its pace.
    pub async fn start(plan: Plan, dir: &Path) -> Result<Self, CommandError> {
        let mut options = plan.web();
        options.log = Some(dir.join("arrivals.jsonl"));
        let manifest =
            Manifest::of(&options).map_err(|e| CommandError::of("cannot make the fake web", e))?;
        let web = FakeWeb::start(options)
            .map_err(|e| CommandError::of("cannot serve the fake web", e))?;
        let addresses = match &plan.addresses {
            Some(addresses) => addresses.clone(),
            None => Addresses::loopback(plan.nodes + plan.joiners)?,
        };
        let mut cluster = cluster(&plan, &addresses, &web, dir)?;
        cluster.start_nodes().await?;
        let control = Control::connect(&addresses).await?;
        control.set_policy(&policy(&plan)).await?;
        let seeds = [web.seed_url.clone()];
        control.offer(CRAWL, &seeds).await?;
        cluster.start_fetchers().await?;
        let sampler = Sampler::start(&addresses, control.router())?;
        output::note(format_args!(
            "{} nodes, {} shards, {} fetchers; a fake web of {} hosts and {} URLs, each host at most once in {} ms",
            plan.nodes,
            control.shards().len(),
            plan.fetchers,
            plan.hosts,
            manifest.entries.len(),
            plan.delay.as_millis()
        ));
        let random = mix(plan.seed);
        let joiners = joiners(&plan, &addresses, dir)?;
        let mut rig = Self {
            cluster,
            control,
            web,
            plan,
            manifest,
            sampler,
            random,
            joiners,
        };
        rig.warm_up().await?;
        Ok(rig)
    }

    /// Waits until every host was asked for something, about.
    async fn warm_up(&mut self) -> Result<(), CommandError> {
        let until = Instant::now() + WARM_UP_WITHIN;
        let enough = u64::from(self.plan.hosts) * 2;
        while self.web.requests() < enough {
            if Instant::now() > until {
                let what = format!(
                    "the crawl made {} requests in {} s",
                    self.web.requests(),
                    WARM_UP_WITHIN.as_secs()
                );
                return Err(self.stuck(&what).await);
            }
            self.settle(LOOK_EVERY).await?;
        }
        Ok(())
    }

    /// Lets the crawl go on for a while. A process that ended by itself is an error.
    pub async fn settle(&mut self, time: Duration) -> Result<(), CommandError> {
        let until = Instant::now() + time;
        loop {
            self.cluster.check_alive()?;
            let rest = until.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return Ok(());
            }
            tokio::time::sleep(rest.min(LOOK_EVERY)).await;
        }
    }

    /// A choice among `count`, the same in each run with the same seed.
    pub fn choose(&mut self, count: usize) -> usize {
        self.random = mix(self.random);
        usize::try_from(self.random % (count.max(1) as u64)).unwrap_or(0)
    }

    /// A shard by chance that has something to lease soon, and the node that leads it: of one without work no lease could be
    /// waited for.
    pub async fn some_leader(&mut self) -> Result<(u64, u32), CommandError> {
        let busy = self.busy_shards().await?;
        let (shard, _) = busy[self.choose(busy.len())];
        let leader = self.control.wait_leader(shard).await?;
        Ok((shard, leader))
    }

    /// The shard with the most that waits.
    pub async fn busiest_shard(&self) -> Result<u64, CommandError> {
        let busy = self.busy_shards().await?;
        let most = busy.iter().max_by_key(|(_, queued)| *queued);
        Ok(most.map_or(0, |(shard, _)| *shard))
    }

    /// The shards that have something to lease soon, at least one, each with how much waits there.
    async fn busy_shards(&self) -> Result<Vec<(u64, u64)>, CommandError> {
        let mut busy = Vec::new();
        for shard in self.control.shards() {
            let all = self.control.all_statuses(shard).await;
            let newest = all.into_iter().max_by_key(|(_, s)| s.applied_index);
            let left = newest.map(|(_, status)| left(&[status]));
            // One that does not answer just now may have work.
            if left.is_none_or(|left| left.may_lease(LEASE_WITHIN)) {
                busy.push((shard, left.map_or(0, |left| left.queued)));
            }
        }
        if busy.is_empty() {
            return Err(CommandError::Message(format!(
                "no shard has anything left to lease: {} hosts are too few for so many rounds",
                self.plan.hosts
            )));
        }
        Ok(busy)
    }

    /// The clients of all nodes but these.
    pub fn others(&self, but: &[u32]) -> Vec<NodeClient> {
        let nodes = self.control.nodes().iter();
        nodes
            .filter(|(node, _)| !but.contains(node))
            .map(|(_, client)| client.clone())
            .collect()
    }

    /// A probe of a shard at all nodes but these.
    pub fn probe(&self, shard: u64, but: &[u32]) -> LeaseProbe {
        LeaseProbe::start(self.others(but), shard)
    }

    /// The same for something that broke at that moment.
    pub fn probe_since(&self, since: Instant, shard: u64, but: &[u32]) -> LeaseProbe {
        LeaseProbe::since(since, self.others(but), shard)
    }

    /// Starts a node again and waits until it has what the others have.
    pub async fn bring_back(&mut self, node: u32) -> Result<(), CommandError> {
        self.cluster.start_node(node)?;
        self.cluster.wait_node(node).await?;
        self.control.wait_caught_up(node, CAUGHT_UP_WITHIN).await
    }

    /// Starts the next node that joins, with an empty directory; its number, once it takes part.
    pub async fn join(&mut self) -> Result<u32, CommandError> {
        let spec = self.joiners.pop();
        let spec = spec.ok_or_else(|| CommandError::Message("all nodes have joined".to_owned()))?;
        let node = spec.number;
        self.cluster.add_node(spec);
        self.cluster.start_node(node)?;
        self.cluster.wait_node(node).await?;
        Ok(node)
    }

    /// Requests a second over a time from now.
    pub async fn rate(&mut self, over: Duration) -> Result<f64, CommandError> {
        let (before, started) = (self.web.requests(), Instant::now());
        self.settle(over).await?;
        let requests = self.web.requests() - before;
        Ok(requests as f64 / started.elapsed().as_secs_f64())
    }

    /// The quiet phase: everything runs, the crawl comes to its end. Then all of it is judged.
    pub async fn finish(mut self) -> Result<Verdict, CommandError> {
        self.cluster.start_nodes().await?;
        self.cluster.start_fetchers().await?;
        // Shards that were made meanwhile are judged as well.
        self.control.refresh_map().await?;
        self.wait_idle().await?;
        let listed = self.control.list_urls().await?;
        let shards = self.control.statuses().await?;
        let nodes = self.control.nodes().values();
        let addresses: Vec<String> = nodes.map(|node| node.address().to_owned()).collect();
        let pages = pages::read_all(&addresses, &listed).await?;
        for fetcher in self.cluster.fetcher_numbers() {
            self.cluster.terminate_fetcher(fetcher).await?;
        }
        for node in self.cluster.node_numbers() {
            self.cluster.terminate_node(node).await?;
        }
        let samples = self.sampler.samples();
        let arrivals = self.web.arrivals();
        self.web
            .shutdown()
            .map_err(|e| CommandError::io("cannot write the arrival log", e))?;
        Ok(Verdict::of(Evidence {
            arrivals,
            manifest: self.manifest,
            listed,
            shards,
            pages,
            may_lose_pages: self.plan.may_lose_pages,
            samples,
            delay: self.plan.delay,
            attempts: self.plan.attempts,
        }))
    }

    async fn wait_idle(&mut self) -> Result<(), CommandError> {
        let limit = self.plan.lasts() + QUIET_WITHIN;
        let until = Instant::now() + limit;
        let mut idle = 0;
        while idle < IDLE_LOOKS {
            if Instant::now() > until {
                let what = format!("the crawl did not end in {} s", limit.as_secs());
                return Err(self.stuck(&what).await);
            }
            self.settle(LOOK_EVERY).await?;
            let is_idle = match self.control.statuses().await {
                Ok(statuses) => left(&statuses).is_idle(self.plan.patience),
                Err(_) => false,
            };
            idle = if is_idle { idle + 1 } else { 0 };
        }
        Ok(())
    }

    /// An error that says what waited, shard by shard.
    pub async fn stuck(&self, what: &str) -> CommandError {
        let mut text = what.to_owned();
        for shard in self.control.shards() {
            let statuses = self.control.all_statuses(shard).await;
            let leads = statuses.iter().filter(|(_, status)| status.leader);
            let leads: Vec<u32> = leads.map(|(node, _)| *node).collect();
            let newest = statuses.into_iter().max_by_key(|(_, s)| s.applied_index);
            text.push_str(&match newest {
                None => format!("; shard {shard}: no node answers"),
                Some((_, status)) => format!(
                    "; shard {shard}: led by {leads:?}, {}",
                    left(std::slice::from_ref(&status))
                ),
            });
        }
        CommandError::Message(text)
    }
}

fn cluster(
    plan: &Plan,
    addresses: &Addresses,
    web: &RunningFakeWeb,
    dir: &Path,
) -> Result<Cluster, CommandError> {
    let mut nodes = Vec::new();
    for number in 1..=plan.nodes {
        let spec = NodeSpec::new(number, &addresses.founders(plan.nodes), dir, plan.shards);
        let mut spec =
            spec.ok_or_else(|| CommandError::Message(format!("node {number} has no address")))?;
        let of = |map: &std::collections::BTreeMap<u32, Vec<String>>| {
            map.get(&number).cloned().unwrap_or_default()
        };
        (spec.extra, spec.within) = (of(&plan.node_flags), of(&plan.node_within));
        nodes.push(spec);
    }
    let fetcher = FetcherSpec {
        // Those that join later are learnt of.
        frontier: addresses.founders(plan.nodes).grpc_list(),
        web: web.addr,
        copies: COPIES,
        open_fetches: plan.open_fetches,
        lease_ttl: LEASE_TTL,
        fetch_timeout: FETCH_TIMEOUT,
    };
    Cluster::new(Programs::beside_this()?, dir, nodes, fetcher, plan.fetchers)
}

/// The nodes that join later, the first one last.
fn joiners(plan: &Plan, addresses: &Addresses, dir: &Path) -> Result<Vec<NodeSpec>, CommandError> {
    let founders = addresses.founders(plan.nodes);
    let numbers = plan.nodes + 1..=plan.nodes + plan.joiners;
    let spec = |number: u32| {
        let spec = NodeSpec::joining(number, addresses, &founders, dir);
        spec.ok_or_else(|| CommandError::Message(format!("node {number} has no address")))
    };
    numbers.rev().map(spec).collect()
}

fn policy(plan: &Plan) -> pb::CrawlPolicy {
    let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    pb::CrawlPolicy {
        crawl: CRAWL,
        min_delay_ms: ms(plan.delay).max(1),
        fetch_timeout_ms: ms(FETCH_TIMEOUT),
        back_off_base_ms: BACK_OFF_BASE_MS,
        max_attempts: plan.attempts,
        response_time_factor_tenths: plan.response_time_factor_tenths,
        ..pb::CrawlPolicy::default()
    }
}
