//! Several topics in one stream, so that a browser tab needs one connection: runs as they change, the logs of some of
//! them, notifications. One cursor covers all of them.

use super::caller::Caller;
use super::heartbeat::{Heartbeat, HeartbeatEvent};
use super::problems::Problem;
use super::stream::{EventStream, FrameQueue, RETRY_MS, aside};
use super::tail::{Tail, TailItem};
use super::{ApiResult, AppState, auth, criteria};
use axum::body::Bytes;
use engine::ids::{ActorId, RunId};
use engine::time::Timestamp;
use engine::workspace::Scope;
use futures::FutureExt;
use futures::future::select_all;
use runtime::ports::{Library, Log, StoreError};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio::time::Instant;

const MAX_TOPICS: usize = 50;
/// A busy run is sent this often, not at every event.
const FLUSH_INTERVAL: Duration = Duration::from_millis(250);
/// Workers stamp runs with clocks of their own, which may differ by this much.
const CLOCK_SKEW_MS: i64 = 5_000;
const NEWEST_NOTICES: usize = 20;
const REMEMBERED_NOTICES: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topic {
    /// Every visible run, as it changes.
    Runs,
    /// The log of one run, after a seq or from now on.
    Run(RunId, Option<u64>),
    Notifications,
}

/// `runs,run:ID,run:ID@SEQ,notifications`
pub(super) fn parse(text: &str) -> Result<Vec<Topic>, String> {
    let topics: Vec<Topic> =
        text.split(',').map(str::trim).filter(|topic| !topic.is_empty()).map(topic).collect::<Result<_, _>>()?;
    match topics.len() {
        0 => Err("topics is empty; give some of runs, run:ID, run:ID@SEQ, notifications".into()),
        given if given > MAX_TOPICS => {
            Err(format!("{given} topics were given; one stream carries at most {MAX_TOPICS}"))
        }
        _ => Ok(topics),
    }
}

fn topic(text: &str) -> Result<Topic, String> {
    let unknown = || format!("there is no topic {text}; topics are runs, run:ID, run:ID@SEQ, notifications");
    match text {
        "runs" => Ok(Topic::Runs),
        "notifications" => Ok(Topic::Notifications),
        _ => {
            let of = text.strip_prefix("run:").ok_or_else(unknown)?;
            let (id, after) = match of.split_once('@') {
                Some((id, after)) => (id, Some(after.parse().map_err(|_| unknown())?)),
                None => (of, None),
            };
            Ok(Topic::Run(id.parse().map_err(|_| unknown())?, after))
        }
    }
}

/// A reader's position in every topic: `fingerprint~seq.seq-time`, with the logs in the order of the request. Opaque to clients.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cursor {
    /// Identifies the runs and their order.
    fingerprint: u32,
    seqs: Vec<u64>,
    at: Timestamp,
}

impl Cursor {
    fn parse(text: &str, runs: &[RunId]) -> Option<Cursor> {
        let (print, rest) = text.split_once('~')?;
        let print = u32::from_str_radix(print, 16).ok().filter(|print| *print == fingerprint(runs))?;
        let (seqs, at) = rest.split_once('-')?;
        let seqs: Vec<u64> = match seqs {
            "" => Vec::new(),
            seqs => seqs.split('.').map(str::parse).collect::<Result<_, _>>().ok()?,
        };
        let at = Timestamp(at.parse().ok()?);
        (seqs.len() == runs.len()).then_some(Cursor { fingerprint: print, seqs, at })
    }

    fn text(&self) -> String {
        let seqs: Vec<String> = self.seqs.iter().map(u64::to_string).collect();
        format!("{:x}~{}-{}", self.fingerprint, seqs.join("."), self.at.0)
    }
}

fn fingerprint(runs: &[RunId]) -> u32 {
    let mixed = runs.iter().fold(0u128, |mixed, run| mixed.rotate_left(7) ^ run.0.as_u128());
    (mixed ^ (mixed >> 32) ^ (mixed >> 64) ^ (mixed >> 96)) as u32
}

pub(super) struct Multiplex {
    app: Arc<AppState>,
    reader: ActorId,
    scope: Scope,
    tails: Vec<Tail>,
    cursor: Cursor,
    changed: Option<Receiver<RunId>>,
    with_runs: bool,
    with_notices: bool,
    /// Runs that changed since they were last sent.
    dirty: BTreeSet<RunId>,
    /// Runs this reader was sent: only for those is it told when they are gone.
    known_runs: BTreeSet<RunId>,
    /// Ids of notifications that were sent.
    sent_notices: BTreeSet<String>,
    flush_at: Instant,
    queue: FrameQueue,
    heartbeat: Heartbeat,
}

impl EventStream for Multiplex {
    fn queue(&mut self) -> &mut FrameQueue {
        &mut self.queue
    }

    async fn advance(&mut self) -> Result<Option<Bytes>, StoreError> {
        let input = self.next_input().await;
        self.take(input).await?;
        Ok(None)
    }
}

impl Multiplex {
    pub(super) async fn open(
        app: Arc<AppState>,
        caller: &Caller,
        topics: Vec<Topic>,
        last_seen: Option<&str>,
    ) -> ApiResult<Multiplex> {
        let run = |topic: &Topic| if let Topic::Run(run, _) = topic { Some(*run) } else { None };
        let runs: Vec<RunId> = topics.iter().filter_map(run).collect();
        let resumed = last_seen.map(|text| {
            let unusable =
                || format!("Last-Event-ID {text:?} does not belong to these topics; open the stream again without it");
            Cursor::parse(text, &runs).ok_or_else(|| Problem::invalid("bad_cursor", unusable()))
        });
        let resumed = resumed.transpose()?;
        let (with_runs, with_notices) = (topics.contains(&Topic::Runs), topics.contains(&Topic::Notifications));
        if with_notices && !caller.bounds().is_empty() {
            return Err(auth::bound());
        }
        // Subscribed before anything is read, so that nothing falls in between.
        let changed = (with_runs || with_notices).then(|| app.live.changed());
        let mut tails = Vec::with_capacity(runs.len());
        for topic in topics {
            let Topic::Run(run, after) = topic else { continue };
            let row = caller.run(&app, run).await?;
            let reached = resumed.as_ref().map(|cursor| cursor.seqs[tails.len()]);
            tails.push(Tail::new(&app, caller, run, reached.or(after).unwrap_or(row.last_seq)));
        }
        let at = resumed.map_or_else(|| app.clock.now(), |cursor| cursor.at);
        let cursor =
            Cursor { fingerprint: fingerprint(&runs), seqs: tails.iter().map(|tail| tail.after).collect(), at };
        let dirty = match with_runs || with_notices {
            true => changed_since(&app, at).await?,
            false => BTreeSet::new(),
        };
        let hello = format!("id: {}\nretry: {RETRY_MS}\n\n", cursor.text());
        Ok(Multiplex {
            reader: caller.id(),
            scope: caller.scope(),
            heartbeat: Heartbeat::of(&app.revoked, caller),
            app,
            tails,
            cursor,
            changed,
            with_runs,
            with_notices,
            dirty,
            known_runs: BTreeSet::new(),
            sent_notices: BTreeSet::new(),
            flush_at: Instant::now(),
            // With the cursor, so that a client that is cut off before the first event misses nothing.
            queue: FrameQueue::new(hello),
        })
    }

    async fn next_input(&mut self) -> StreamInput {
        let is_dirty = !self.dirty.is_empty();
        tokio::select! {
            beat = self.heartbeat.next() => StreamInput::HeartbeatEvent(beat),
            (index, item) = next_of(&mut self.tails) => StreamInput::TailItem(index, item),
            run = next_change(&mut self.changed) => StreamInput::RunChanged(run),
            () = tokio::time::sleep_until(self.flush_at), if is_dirty => StreamInput::Time,
        }
    }

    async fn take(&mut self, input: StreamInput) -> Result<(), StoreError> {
        match input {
            StreamInput::TailItem(index, item) => self.queue_item(index, item?),
            StreamInput::RunChanged(Ok(run)) => drop(self.dirty.insert(run)),
            StreamInput::RunChanged(Err(_)) => self.dirty.extend(changed_since(&self.app, self.cursor.at).await?),
            StreamInput::Time => self.flush().await?,
            StreamInput::HeartbeatEvent(beat) => self.queue.beat(beat),
        }
        Ok(())
    }

    fn queue_item(&mut self, index: usize, item: TailItem) {
        match item {
            TailItem::Events(commit, after) => {
                let mut frames = String::new();
                for event in commit.events_after(after) {
                    self.cursor.seqs[index] = event.seq;
                    frames.push_str(&format!("id: {}\ndata: {}\n\n", self.cursor.text(), event.json));
                }
                self.queue.push(frames);
            }
            TailItem::CaughtUp => {}
            TailItem::Gone => {
                let run = self.tails[index].run;
                // Once, also to a reader that subscribed to all runs.
                self.known_runs.remove(&run);
                self.queue.push(aside("run_gone", format_args!("{{\"id\":\"{run}\"}}")));
            }
            TailItem::Delta(json) | TailItem::Written(json) => self.queue.push(aside("delta", json)),
            TailItem::Behind => {
                let Tail { run, after, .. } = &self.tails[index];
                self.queue.push(aside("behind", format_args!("{{\"run_id\":\"{run}\",\"after\":{after}}}")));
            }
        }
    }

    /// Sends everything that changed, as it is now. Only the last frame moves the cursor, so a client that is cut off before
    /// it gets all of them again.
    async fn flush(&mut self) -> Result<(), StoreError> {
        self.flush_at = Instant::now() + FLUSH_INTERVAL;
        let (now, dirty) = (self.app.clock.now(), std::mem::take(&mut self.dirty));
        let mut frames = Vec::new();
        if self.with_runs {
            for run in dirty {
                frames.extend(self.run(run).await?);
            }
        }
        if self.with_notices {
            frames.extend(self.fresh_notices().await?);
        }
        let last = frames.len().saturating_sub(1);
        for (index, (event, json)) in frames.into_iter().enumerate() {
            if index == last {
                self.cursor.at = now;
            }
            let id = self.cursor.text();
            self.queue.push(format!("id: {id}\nevent: {event}\ndata: {json}\n\n"));
        }
        Ok(())
    }

    async fn run(&mut self, run: RunId) -> Result<Option<(&'static str, String)>, StoreError> {
        Ok(match self.app.store.run(&self.scope, run).await? {
            Some(mut row) => {
                self.known_runs.insert(run);
                criteria::mark_stale(&self.app, [&mut row]).await?;
                serde_json::to_string(&row).ok().map(|json| ("run", json))
            }
            None => self.known_runs.remove(&run).then(|| ("run_gone", format!("{{\"id\":\"{run}\"}}"))),
        })
    }

    /// A notification carries a time a little before it was stored, so the window overlaps what was sent already.
    async fn fresh_notices(&mut self) -> Result<Vec<(&'static str, String)>, StoreError> {
        let since = self.cursor.at.plus_ms(-CLOCK_SKEW_MS);
        let newest = self.app.store.notices(self.reader, false, None, NEWEST_NOTICES).await?;
        let mut fresh = Vec::new();
        for notice in newest.into_iter().rev().filter(|notice| notice.at >= since) {
            if self.sent_notices.insert(notice.id.clone()) {
                fresh.extend(serde_json::to_string(&notice).ok().map(|json| ("notification", json)));
            }
        }
        while self.sent_notices.len() > REMEMBERED_NOTICES {
            // Ids begin with the run id, which is time-ordered: the first is the oldest.
            self.sent_notices.pop_first();
        }
        Ok(fresh)
    }
}

enum StreamInput {
    TailItem(usize, Result<TailItem, StoreError>),
    RunChanged(Result<RunId, RecvError>),
    Time,
    HeartbeatEvent(HeartbeatEvent),
}

async fn next_of(tails: &mut [Tail]) -> (usize, Result<TailItem, StoreError>) {
    if tails.is_empty() {
        return std::future::pending().await;
    }
    let (item, index, _) = select_all(tails.iter_mut().map(|tail| tail.next().boxed())).await;
    (index, item)
}

async fn next_change(changed: &mut Option<Receiver<RunId>>) -> Result<RunId, RecvError> {
    match changed {
        Some(changed) => changed.recv().await,
        None => std::future::pending().await,
    }
}

async fn changed_since(app: &AppState, at: Timestamp) -> Result<BTreeSet<RunId>, StoreError> {
    let changed = app.store.changed_runs(at.plus_ms(-CLOCK_SKEW_MS)).await?;
    Ok(changed.into_iter().map(|(run, _)| run).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_parsed_and_an_unknown_one_is_named() {
        let id = "01a1de11-0000-7000-8000-000000000009";
        let run: RunId = id.parse().unwrap();
        let topics = format!("runs, run:{id},run:{id}@17,notifications");
        assert_eq!(
            parse(&topics).unwrap(),
            [Topic::Runs, Topic::Run(run, None), Topic::Run(run, Some(17)), Topic::Notifications]
        );
        assert!(parse("run:17").unwrap_err().contains("run:17"));
        assert!(parse(" , ").is_err());
        assert!(parse(&vec!["runs"; 51].join(",")).is_err());
    }

    #[test]
    fn a_cursor_is_valid_for_its_own_topics_only() {
        let runs: Vec<RunId> = (1..=3).map(|nth| RunId(uuid::Uuid::from_u128(nth))).collect();
        let at = Timestamp(1_700_000_000_000);
        let cursor = Cursor { fingerprint: fingerprint(&runs), seqs: vec![3, 0, 12], at };
        assert_eq!(Cursor::parse(&cursor.text(), &runs), Some(cursor.clone()));
        assert_eq!(Cursor::parse(&cursor.text(), &[runs[1], runs[0], runs[2]]), None);
        assert_eq!(Cursor::parse(&cursor.text(), &runs[..2]), None);
        assert_eq!(Cursor::parse("17", &runs[..1]), None);
        let none = Cursor { fingerprint: fingerprint(&[]), seqs: vec![], at };
        assert_eq!(Cursor::parse(&none.text(), &[]), Some(none));
    }
}
