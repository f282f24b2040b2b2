//! Scripts a person can read: a command a line, the machine's answers below it, indented.
//!
//! ```text
//! at 1500                                     shard time; wall time moves with it
//! wall +86400000                              wall time alone
//! crawl 1 delay=2000 attempts=3               a crawl's policy
//! host a.example block=5000                   a host's policy
//! discover 1 http://a.example/1 priority=40   a link
//! errand http://a.example http://b.example/r hop=1 attempt=1
//! result http://a.example attempt=1 allow     what an errand found
//! lease s1 #1 x2 ttl=60000                    session, number, grants at most
//! report #3 stored age=20                     by the token of the grant
//! release #3
//! remove 1 http://a.example/1 [forget]        or a host name, or `all`
//! deliver                                     everything that waits in the outbox
//! tick
//! restart                                     goes on with a machine rebuilt from rows
//! recover 5                                   a recovery, by its id: hosts wait, counters jump, leases end
//! split 8 at=16 epoch=0                       the range from that hash on becomes shard 8
//! on 8                                        what follows goes to that shard
//! books                                       range and books of the shard
//! ```
//!
//! Outcomes: `stored`, `same`, `moved`, `gone`, `busy`, `dead`, `nodns`, `forbidden`, `refused`, `again` for pages; `rules`,
//! `allow`, `down`, `same`, `elsewhere`, `again` for robots; `delivered`, `failed`, `again` for errands. Options of a report:
//! `age` (ms since the first byte), `silent` (no response), `unwritten`, `took` (response time), `after` (Retry-After),
//! `undelivered` (how many links). The model and all invariants judge every line too.

use super::{
    ops,
    run::{Run, SHARD},
    state::Judged,
    world,
};
use crate::{
    command::{
        deliver::Deliver,
        discover::{Discover, ErrandResult, Item, ItemKind, Link},
        lease::{Lease, LeaseCall, LeaseKind, LeaseReply, Work},
        recover::{Recover, RecoverReply},
        release::{Release, ReleaseBatch},
        remove::{CrawlTarget, HostTarget, Remove, Target, UrlTarget},
        report::{Contact, ErrandOutcome, Outcome, Report, ReportBatch, RobotsOutcome},
        set_policy::{CrawlPolicy, HostPolicy, Policy, SetPolicy},
        split::{Split, SplitReply},
    },
    entry::{Body, Command, CommandReply},
};
use std::collections::BTreeMap;

/// Wall time at shard time 0.
const WALL_UNIX_MS: u64 = 1_700_000_000_000;

/// A script being played.
struct Player {
    /// By shard.
    runs: BTreeMap<u64, Run>,
    /// The shard spoken to.
    on: u64,
    now_ms: u64,
    wall_ms: u64,
}

/// Plays a script and gives it back with the answers the machine gives now.
pub fn play(text: &str) -> Judged<String> {
    let mut player = Player {
        runs: BTreeMap::from([(SHARD.0, Run::new()?)]),
        on: SHARD.0,
        now_ms: 0,
        wall_ms: WALL_UNIX_MS,
    };
    let mut played = String::new();
    for (at, line) in text.lines().enumerate() {
        if line.starts_with("    ") {
            continue;
        }
        played.push_str(line);
        played.push('\n');
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let answers = player
            .line(line)
            .map_err(|error| format!("line {}, `{line}`: {error}", at + 1))?;
        for answer in answers {
            played.push_str("    ");
            played.push_str(&answer);
            played.push('\n');
        }
    }
    Ok(played)
}

/// A line's words and its `name=value` options.
struct Words<'a> {
    words: Vec<&'a str>,
    options: Vec<(&'a str, &'a str)>,
}

impl<'a> Words<'a> {
    fn of(line: &'a str) -> Self {
        // A URL may hold `=`; an option's name is letters only.
        let is_option = |word: &&str| {
            word.split_once('=')
                .is_some_and(|(name, _)| name.bytes().all(|byte| byte.is_ascii_lowercase()))
        };
        let options = line
            .split_whitespace()
            .filter(is_option)
            .filter_map(|word| word.split_once('='))
            .collect();
        Self {
            words: line
                .split_whitespace()
                .filter(|word| !is_option(word))
                .collect(),
            options,
        }
    }

    fn at(&self, at: usize) -> Judged<&'a str> {
        self.words
            .get(at)
            .copied()
            .ok_or_else(|| format!("word {at} is missing"))
    }

    fn number(&self, at: usize) -> Judged<u64> {
        let word = self.at(at)?;
        word.trim_start_matches(['#', 'x', '+'])
            .parse()
            .map_err(|_| format!("{word} is no number"))
    }

    fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }

    fn option(&self, name: &str) -> Judged<Option<u64>> {
        let Some((_, value)) = self.options.iter().find(|(other, _)| *other == name) else {
            return Ok(None);
        };
        value
            .parse()
            .map(Some)
            .map_err(|_| format!("{name}={value} is no number"))
    }

    fn or_zero(&self, name: &str) -> Judged<u64> {
        Ok(self.option(name)?.unwrap_or(0))
    }
}

impl Player {
    fn line(&mut self, line: &str) -> Judged<Vec<String>> {
        let words = Words::of(line);
        match words.at(0)? {
            "at" => {
                let now_ms = words.number(1)?;
                self.wall_ms += now_ms.checked_sub(self.now_ms).ok_or("time goes forward")?;
                self.now_ms = now_ms;
                return Ok(Vec::new());
            }
            "wall" => {
                let step_ms: i64 = words.at(1)?.parse().map_err(|_| "no number")?;
                self.wall_ms = self.wall_ms.saturating_add_signed(step_ms);
                return Ok(Vec::new());
            }
            "restart" => {
                self.run_mut()?.rebuild(20)?;
                return Ok(Vec::new());
            }
            "on" => {
                self.on = words.number(1)?;
                return self.run().map(|_| Vec::new());
            }
            "books" => return Ok(vec![self.tell_books()?]),
            _ => {}
        }
        let body = self.body(&words)?;
        let commands = body
            .map(|body| Command { body: Some(body) })
            .into_iter()
            .collect();
        let (now_ms, wall_ms) = (self.now_ms, self.wall_ms);
        let run = self.run_mut()?;
        let replies = run.step(now_ms, wall_ms, commands)?;
        for child in run.take_children() {
            self.runs.insert(child.model.shard, child);
        }
        let mut answers: Vec<String> = replies.iter().flat_map(|reply| self.tell(reply)).collect();
        if words.has("hosts") {
            answers.extend(self.tell_hosts()?);
        }
        Ok(answers)
    }

    fn run(&self) -> Judged<&Run> {
        let run = self.runs.get(&self.on);
        run.ok_or_else(|| format!("no shard {}", self.on))
    }

    fn run_mut(&mut self) -> Judged<&mut Run> {
        let run = self.runs.get_mut(&self.on);
        run.ok_or_else(|| format!("no shard {}", self.on))
    }

    fn body(&self, words: &Words) -> Judged<Option<Body>> {
        let item = |kind| {
            Body::Discover(Discover {
                items: vec![Item { kind: Some(kind) }],
            })
        };
        Ok(Some(match words.at(0)? {
            "crawl" => Body::SetPolicy(SetPolicy {
                policy: Some(Policy::Crawl(crawl(words)?)),
            }),
            "host" => {
                let host = words.at(1)?;
                let partition = world::partition(&format!("http://{host}"));
                let policy = HostPolicy {
                    host: host.into(),
                    partition,
                    min_delay_ms: words.or_zero("delay")?,
                    block_for_ms: words.or_zero("block")?,
                };
                Body::SetPolicy(SetPolicy {
                    policy: Some(Policy::Host(policy)),
                })
            }
            "discover" => {
                let link = world::link(
                    words.number(1)? as u32,
                    words.at(2)?,
                    words.or_zero("priority")? as u32,
                );
                item(ItemKind::Link(Link {
                    depth: words.or_zero("depth")? as u32,
                    ..link
                }))
            }
            "errand" => item(ItemKind::Errand(world::errand(
                words.at(1)?,
                words.at(2)?,
                words.or_zero("hop")? as u32,
                words.or_zero("attempt")? as u32,
            ))),
            "result" => {
                let origin = words.at(1)?;
                let robots = Some(ops::found(
                    robots_code(words.at(2)?)?,
                    false,
                    words.or_zero("body")? as u8,
                ));
                item(ItemKind::ErrandResult(ErrandResult {
                    origin: origin.into(),
                    origin_partition: world::partition(origin),
                    attempt: words.or_zero("attempt")? as u32,
                    robots,
                }))
            }
            "lease" => {
                let session = words.at(1)?.bytes().cycle().take(16).collect();
                let ttl_ms = words.option("ttl")?.unwrap_or(60_000);
                Body::Lease(LeaseCall {
                    session,
                    number: words.number(2)?,
                    max_leases: words.number(3)? as u32,
                    ttl_ms,
                })
            }
            "report" => Body::Report(ReportBatch {
                items: vec![self.report(words)?],
            }),
            "release" => {
                let lease = self.granted(words.number(1)?)?;
                Body::Release(ReleaseBatch {
                    items: vec![Release {
                        key: Some(lease.key),
                        token: lease.token,
                    }],
                })
            }
            "remove" => Body::Remove(removal(words)?),
            "deliver" => Body::Deliver(Deliver {
                keys: self.run()?.outbox_keys(),
            }),
            "split" => Body::Split(Split {
                child: words.number(1)?,
                at: words.or_zero("at")?,
                epoch: words.or_zero("epoch")?,
            }),
            "recover" => Body::Recover(Recover {
                id: words.number(1)?,
            }),
            "tick" | "hosts" => return Ok(None),
            other => return Err(format!("no command {other}")),
        }))
    }

    fn granted(&self, token: u64) -> Judged<&Lease> {
        // A token may have been given out by two shards: that of the shard spoken to is meant.
        let here = self.run()?.granted.iter();
        let all = self.runs.values().flat_map(|run| &run.granted);
        here.chain(all)
            .find(|lease| lease.token == token)
            .ok_or_else(|| format!("#{token} was never granted"))
    }

    fn report(&self, words: &Words) -> Judged<Report> {
        let lease = self.granted(words.number(1)?)?;
        let word = words.at(2)?;
        let outcome = match lease.key.kind() {
            LeaseKind::Page => Outcome::Page(ops::page_outcome(
                page_code(word)?,
                words.or_zero("body")? as u8,
            )),
            LeaseKind::Robots => {
                let found = match word {
                    "again" => None,
                    word => Some(ops::found(
                        robots_code(word)?,
                        false,
                        words.or_zero("body")? as u8,
                    )),
                };
                Outcome::Robots(RobotsOutcome {
                    requeue: found.is_none(),
                    found,
                })
            }
            LeaseKind::Errand => Outcome::Errand(ErrandOutcome {
                delivered: word != "again",
                requeue: word == "again",
                failed: word == "failed",
            }),
        };
        let no_answer = words.has("silent") || words.has("unwritten");
        let contact = Contact {
            nothing_written: words.has("unwritten"),
            since_first_byte_ms: if no_answer {
                None
            } else {
                Some(words.or_zero("age")?)
            },
            since_end_ms: words.or_zero("age")?,
            response_time_ms: words.or_zero("took")?,
            retry_after_ms: words.or_zero("after")?,
        };
        let link = |at| Item {
            kind: Some(ItemKind::Link(world::link(
                1,
                &format!("http://outside.example/{at}"),
                0,
            ))),
        };
        let undelivered = (0..words.or_zero("undelivered")?).map(link).collect();
        Ok(Report {
            key: Some(lease.key),
            token: lease.token,
            contact: Some(contact),
            outcome: Some(outcome),
            undelivered,
        })
    }

    fn tell(&self, reply: &CommandReply) -> Vec<String> {
        match reply {
            CommandReply::Lease(LeaseReply::Granted {
                leases,
                repeated,
                next_ready_in_ms,
                ..
            }) => {
                let mut told: Vec<String> = leases
                    .iter()
                    .map(|lease| self.tell_lease(lease, *repeated))
                    .collect();
                if told.is_empty() {
                    told.push(next_ready_in_ms.map_or_else(
                        || "nothing".into(),
                        |ms| format!("nothing, next in {ms} ms"),
                    ));
                }
                told
            }
            CommandReply::Lease(other) => vec![format!("{other:?}")],
            CommandReply::Discover(results) => {
                results.iter().map(|result| format!("{result:?}")).collect()
            }
            CommandReply::Report(results) | CommandReply::Release(results) => {
                results.iter().map(|result| format!("{result:?}")).collect()
            }
            CommandReply::SetPolicy(reply) if reply.refused.is_empty() => Vec::new(),
            CommandReply::SetPolicy(reply) => vec![format!("refused: {}", reply.refused)],
            CommandReply::Remove(reply) if !reply.refused.is_empty() => {
                vec![format!("refused: {}", reply.refused)]
            }
            CommandReply::Remove(reply) => vec![format!(
                "removed {}, marked {}",
                reply.removed, reply.marked
            )],
            CommandReply::Deliver(count) => vec![format!("delivered {count}")],
            CommandReply::Split(SplitReply::Done(done)) => vec![format!(
                "shard {} has {} to {}, epoch {}",
                done.child.0, done.at, done.last, done.epoch
            )],
            CommandReply::Split(SplitReply::Refused(refusal)) => {
                vec![format!("refused: {}", refusal.name())]
            }
            CommandReply::Recover(RecoverReply::Done(done)) => vec![format!(
                "hosts wait from {}, {} leases left",
                done.until_ms, done.leases_left
            )],
            CommandReply::Recover(RecoverReply::NoId) => vec!["refused: no id".into()],
            // No script restores.
            CommandReply::Restore(_) | CommandReply::BeingRestored => vec!["restore".into()],
            CommandReply::LostStore(reply) => vec![format!("{reply:?}")],
            CommandReply::Alias(reply) => vec![format!("{reply:?}")],
            CommandReply::Unknown => vec!["unknown".into()],
        }
    }

    fn tell_lease(&self, lease: &Lease, repeated: bool) -> String {
        let work = match &lease.work {
            Work::Page(work) if work.attempt > 0 => {
                format!("page {} attempt {}", work.url, work.attempt)
            }
            Work::Page(work) => format!("page {}", work.url),
            Work::Robots(work) => format!("robots {}", work.origin),
            Work::Errand(work) => format!("errand {} for {}", work.url, work.origin),
        };
        let again = if repeated { " (repeated)" } else { "" };
        format!("#{} {work} until {}{again}", lease.token, lease.deadline_ms)
    }

    fn tell_books(&self) -> Judged<String> {
        let machine = &self.run()?.replica.machine;
        let ((first, last), terms) = (machine.range(), machine.status().terms);
        Ok(format!(
            "{first} to {last}, epoch {}: accepted {} = queued {} + scheduled {} + leased {} + done {} + removed {} + refused {}",
            machine.epoch(),
            terms.accepted,
            terms.queued,
            terms.scheduled,
            terms.leased,
            terms.done,
            terms.removed,
            terms.refused
        ))
    }

    fn tell_hosts(&self) -> Judged<Vec<String>> {
        let told = |host: &super::state::Host| {
            let contact = host
                .last_contact_ms
                .map_or_else(|| "never".into(), |ms| ms.to_string());
            format!(
                "{} contacted {contact}, delay {}, back-off until {}",
                host.name, host.stored_delay_ms, host.back_off_until_ms
            )
        };
        Ok(self.run()?.model.hosts.iter().map(told).collect())
    }
}

fn crawl(words: &Words) -> Judged<CrawlPolicy> {
    Ok(CrawlPolicy {
        crawl: words.number(1)? as u32,
        min_delay_ms: words.or_zero("delay")?,
        max_attempts: words.or_zero("attempts")? as u32,
        response_time_factor_tenths: words.or_zero("factor")? as u32,
        host_budget_pages: words.or_zero("budget")?,
        budget_cycle_ms: words.or_zero("cycle")?,
        revisit: words.has("revisit"),
        revisit_min_ms: words.or_zero("least")?,
        revisit_max_ms: words.or_zero("most")?,
        paused: words.has("paused"),
        ..CrawlPolicy::default()
    })
}

fn removal(words: &Words) -> Judged<Remove> {
    let crawl = words.number(1)? as u32;
    let target = match words.at(2)? {
        "all" => Target::Crawl(CrawlTarget {}),
        url if url.contains("://") => Target::Url(UrlTarget {
            partition: world::partition(url),
            fingerprint: world::fingerprint(crawl, url),
            url: url.into(),
        }),
        host => Target::Host(HostTarget {
            partition: world::partition(&format!("http://{host}")),
            host: host.into(),
        }),
    };
    Ok(Remove {
        crawl,
        target: Some(target),
        forget: words.has("forget"),
        cursor: Vec::new(),
    })
}

fn page_code(word: &str) -> Judged<i32> {
    let words = [
        "stored",
        "same",
        "moved",
        "gone",
        "busy",
        "dead",
        "forbidden",
        "refused",
        "nodns",
        "again",
    ];
    words
        .iter()
        .position(|known| *known == word)
        .map(|at| at as i32 + 1)
        .ok_or_else(|| format!("no outcome {word}"))
}

fn robots_code(word: &str) -> Judged<i32> {
    let words = ["rules", "allow", "down", "same", "elsewhere"];
    words
        .iter()
        .position(|known| *known == word)
        .map(|at| at as i32 + 1)
        .ok_or_else(|| format!("no finding {word}"))
}
