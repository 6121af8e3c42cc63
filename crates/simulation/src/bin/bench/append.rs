//! Measures appends alone. Each writer has a run and appends batches as fast as the store commits them. With `push`, a
//! second store on the same database follows every run, as another process would, and must have received each event at
//! the end.

use crate::Options;
use crate::bench_server::{Wall, brief};
use crate::meter::Meter;
use engine::actor::Actor;
use engine::ids::{self, ActorId, RunId};
use engine::projection;
use engine::run::{Command, Lane, Run};
use runtime::live::{Listener, Live, Message};
use runtime::ports::{Append, Clock, LOCAL_HANDLE, Library, Log};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use store::SqlStore;
use tokio::sync::broadcast::error::RecvError;

/// Events in one append: as many as a tree of 3x4 commits at a time, measured at 251 events in 12 to 13 commits.
const EVENTS_PER_APPEND: usize = 20;
/// Four of these make an event of about the size that `bench/postgres.py` writes with `pgbench`.
const MESSAGE: &str = "The bench writes a message of about three hundred and twenty letters into the log of its run. ";
/// How long after the last commit its events may still arrive.
const PUSH_DEADLINE: Duration = Duration::from_secs(10);

pub struct Load {
    pub writers: usize,
    pub seconds: usize,
    pub push: bool,
}

pub(super) async fn measure(options: &Options) -> Result<Value, String> {
    let text = |error: runtime::ports::StoreError| error.to_string();
    let load = &options.append;
    let store = options.open_store().await?;
    let owner = store.actor(LOCAL_HANDLE).await.map_err(text)?.ok_or("there is no local person")?.id;
    let mut writers = Vec::new();
    for nth in 0..load.writers {
        writers.push(Writer::create(store.clone(), owner, nth as u64).await?);
    }
    let followers = match load.push {
        true => Some(Followers::start(&options.database, &writers).await?),
        false => None,
    };
    let meter = Meter::start(options.postmaster);
    let until = Instant::now() + Duration::from_secs(load.seconds as u64);
    let writing: Vec<_> = writers.into_iter().map(|writer| tokio::spawn(writer.write(until))).collect();
    let mut ends = Vec::new();
    for writer in writing {
        ends.push(writer.await.map_err(|error| error.to_string())??);
    }
    let spent = meter.stop();
    if let Some(followers) = followers {
        followers.wait_for(&ends).await?;
    }
    let events: u64 = ends.iter().map(|(_, last)| last - 1).sum();
    let mut line = json!({
        "test": "append", "peer": "pleach-pg", "push": load.push, "writers": load.writers, "together": EVENTS_PER_APPEND,
        "events": events, "events_s": events as f64 / spent.wall_s, "pg_us_event": spent.cpu_pg_s * 1e6 / events as f64,
        "own_us_event": spent.cpu_s * 1e6 / events as f64,
    });
    spent.add_to(&mut line);
    Ok(line)
}

struct Writer {
    store: Arc<store::SqlStore>,
    owner: ActorId,
    run: Run,
    /// The live broadcast of the writing process, which the product has too.
    live: Live,
}

impl Writer {
    async fn create(store: Arc<store::SqlStore>, owner: ActorId, nth: u64) -> Result<Writer, String> {
        let now = Wall.now();
        let id = RunId(ids::derive(now, &[&std::process::id().to_le_bytes(), &nth.to_le_bytes()]));
        let run =
            Run::create(id, brief(id, owner), Actor::Person(owner), now).ok_or("the brief does not make a run")?;
        let mut writer = Writer { store, owner, run, live: Live::default() };
        writer.append().await?;
        Ok(writer)
    }

    /// Appends until the given time. Returns the run and the seq at which its log ends.
    async fn write(mut self, until: Instant) -> Result<(RunId, u64), String> {
        let text = MESSAGE.repeat(4);
        while Instant::now() < until {
            for _ in 0..EVENTS_PER_APPEND {
                let message = Command::Say { text: text.clone(), node: None, lane: Lane::Queue };
                let now = Wall.now();
                self.run.command(message, Actor::Person(self.owner), now).map_err(|refusal| format!("{refusal:?}"))?;
            }
            self.append().await?;
        }
        Ok((self.run.shared.id, self.run.shared.last_seq))
    }

    async fn append(&mut self) -> Result<(), String> {
        let batch = self.run.take_batch();
        let (rows, events) = (projection::rows(&self.run, &batch.events), batch.events.clone());
        let append = Append { batch, rows, fence: None, claim_for: None };
        self.store.append(append).await.map_err(|error| error.to_string())?;
        self.live.publish(&events);
        Ok(())
    }
}

/// A second store on the same database, with a follower for every run.
struct Followers {
    _live: Live,
    received: Vec<Arc<AtomicU64>>,
}

impl Followers {
    async fn start(database: &str, writers: &[Writer]) -> Result<Followers, String> {
        let options = store::Options { direct_url: Some(database.to_owned()), ..store::Options::default() };
        let other = store::open(database, options).await.map_err(|error| error.to_string())?;
        let live = Live::default();
        live.follow_other_processes(other.clone());
        let follower = |writer: &Writer| {
            let (run, received) = (writer.run.shared.id, Arc::new(AtomicU64::new(writer.run.shared.last_seq)));
            tokio::spawn(follow(live.listen(run), other.clone(), run, received.clone()));
            received
        };
        let received = writers.iter().map(follower).collect();
        Ok(Followers { _live: live, received })
    }

    /// Waits until every follower has every event. An event that does not arrive makes the measurement worthless.
    async fn wait_for(self, ends: &[(RunId, u64)]) -> Result<(), String> {
        let (asked, written) = (Instant::now(), ends.iter().map(|(_, last)| *last).sum::<u64>());
        loop {
            match self.received.iter().map(|received| received.load(Relaxed)).sum::<u64>() {
                received if received == written => return Ok(()),
                received if asked.elapsed() > PUSH_DEADLINE => {
                    return Err(format!(
                        "{received} of {written} events were pushed within {PUSH_DEADLINE:?} of the last"
                    ));
                }
                _ => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }
}

/// Follows a run like an event stream of the server: it takes commits as they arrive, and reads what it missed from the
/// log.
async fn follow(mut listener: Listener, store: Arc<SqlStore>, run: RunId, received: Arc<AtomicU64>) {
    loop {
        let commit = match listener.messages.recv().await {
            Ok(Message::Commit(commit)) => commit,
            Ok(Message::Delta(_)) | Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        let mut last = received.load(Relaxed);
        while last + 1 < commit.first {
            let Ok(missed) = store.events(run, last, (commit.first - 1 - last) as usize).await else { return };
            last += missed.len() as u64;
        }
        received.store(last.max(commit.last), Relaxed);
    }
}
