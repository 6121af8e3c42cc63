//! Nothing but appends: writers with a run each, as fast as the store takes their batches. With push, a second process's
//! view of the same database listens to every one of those runs, and must have heard each event once at the end.

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

/// As many as a tree of 3x4 commits together: 251 events in 12 to 13 commits.
const TOGETHER: usize = 20;
/// The size of the events in `perf.md`'s floor.
const WORDS: &str = "The bench writes a message of about three hundred and twenty letters into the log of its run. ";
/// How long after the last commit the listeners may still hear of it.
const LAST_NEWS: Duration = Duration::from_secs(10);

pub struct Load {
    pub writers: usize,
    pub seconds: usize,
    pub push: bool,
}

pub async fn measure(database: &str, load: &Load, postmaster: Option<u32>) -> Result<Value, String> {
    let said = |error: runtime::ports::StoreError| error.to_string();
    let store = store::open(database, store::Options::default()).await.map_err(said)?;
    let owner = store.actor(LOCAL_HANDLE).await.map_err(said)?.ok_or("there is no local person")?.id;
    let mut writers = Vec::new();
    for nth in 0..load.writers {
        writers.push(Writer::born(store.clone(), owner, nth as u64).await?);
    }
    let audience = match load.push {
        true => Some(Audience::gather(database, &writers).await?),
        false => None,
    };
    let meter = Meter::start(postmaster);
    let until = Instant::now() + Duration::from_secs(load.seconds as u64);
    let writing: Vec<_> = writers.into_iter().map(|writer| tokio::spawn(writer.write(until))).collect();
    let mut ends = Vec::new();
    for writer in writing {
        ends.push(writer.await.map_err(|error| error.to_string())??);
    }
    let spent = meter.stop();
    if let Some(audience) = audience {
        audience.has_heard(&ends).await?;
    }
    let events: u64 = ends.iter().map(|(_, last)| last - 1).sum();
    let mut line = json!({
        "test": "append", "peer": "pleach-pg", "push": load.push, "writers": load.writers, "together": TOGETHER,
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
    /// What the writing process itself would push to.
    live: Live,
}

impl Writer {
    async fn born(store: Arc<store::SqlStore>, owner: ActorId, nth: u64) -> Result<Writer, String> {
        let now = Wall.now();
        let id = RunId(ids::derive(now, &[&std::process::id().to_le_bytes(), &nth.to_le_bytes()]));
        let run =
            Run::create(id, brief(id, owner), Actor::Person(owner), now).ok_or("the brief does not make a run")?;
        let mut writer = Writer { store, owner, run, live: Live::default() };
        writer.append().await?;
        Ok(writer)
    }

    /// Where its log ends.
    async fn write(mut self, until: Instant) -> Result<(RunId, u64), String> {
        let text = WORDS.repeat(4);
        while Instant::now() < until {
            for _ in 0..TOGETHER {
                let word = Command::Say { text: text.clone(), node: None, lane: Lane::Queue };
                let now = Wall.now();
                self.run.command(word, Actor::Person(self.owner), now).map_err(|refusal| format!("{refusal:?}"))?;
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

/// Another process on the same database, with somebody at every run.
struct Audience {
    _live: Live,
    heard: Vec<Arc<AtomicU64>>,
}

impl Audience {
    async fn gather(database: &str, writers: &[Writer]) -> Result<Audience, String> {
        let options = store::Options { direct_url: Some(database.to_owned()), ..store::Options::default() };
        let other = store::open(database, options).await.map_err(|error| error.to_string())?;
        let live = Live::default();
        live.follow_other_processes(other.clone());
        let seat = |writer: &Writer| {
            let (run, heard) = (writer.run.shared.id, Arc::new(AtomicU64::new(writer.run.shared.last_seq)));
            tokio::spawn(follow(live.listen(run), other.clone(), run, heard.clone()));
            heard
        };
        let heard = writers.iter().map(seat).collect();
        Ok(Audience { _live: live, heard })
    }

    /// Everybody has heard of every event, or the figure is worth nothing.
    async fn has_heard(self, ends: &[(RunId, u64)]) -> Result<(), String> {
        let (asked, written) = (Instant::now(), ends.iter().map(|(_, last)| *last).sum::<u64>());
        loop {
            match self.heard.iter().map(|heard| heard.load(Relaxed)).sum::<u64>() {
                heard if heard == written => return Ok(()),
                heard if asked.elapsed() > LAST_NEWS => {
                    return Err(format!("{heard} of {written} events were pushed within {LAST_NEWS:?} of the last"));
                }
                _ => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }
}

/// As a stream does it: what was told is taken as it comes, and what was missed is read from the log.
async fn follow(mut listener: Listener, store: Arc<SqlStore>, run: RunId, heard: Arc<AtomicU64>) {
    loop {
        let commit = match listener.messages.recv().await {
            Ok(Message::Commit(commit)) => commit,
            Ok(Message::Delta(_)) | Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        let mut last = heard.load(Relaxed);
        while last + 1 < commit.first {
            let Ok(missed) = store.events(run, last, (commit.first - 1 - last) as usize).await else { return };
            last += missed.len() as u64;
        }
        heard.store(last.max(commit.last), Relaxed);
    }
}
