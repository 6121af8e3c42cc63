//! Several topics in one stream, so that a browser tab needs one connection: runs as they change, the logs of some of
//! them, notifications. One cursor covers all of them.

use super::caller::Caller;
use super::heartbeat::{Heartbeat, HeartbeatEvent};
use super::problems::Problem;
use super::stream::{RETRY_MS, aside, told_of};
use super::tail::{Tail, TailItem};
use super::{ApiResult, AppState, auth};
use crate::connections::Frames;
use axum::body::Bytes;
use engine::ids::{ActorId, RunId};
use engine::time::Timestamp;
use engine::workspace::Scope;
use futures::FutureExt;
use futures::future::select_all;
use runtime::ports::{Library, Log, StoreError};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio::time::Instant;

const MOST_TOPICS: usize = 50;
/// A busy run is shown this often, not at every event.
const BETWEEN_SHOWINGS: Duration = Duration::from_millis(250);
/// Runs are stamped by the clocks of those who drive them.
const CLOCKS_DIFFER_MS: i64 = 5_000;
const NEWEST: usize = 20;
const MOST_TOLD: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// Every run that may be seen, as it changes.
    Runs,
    /// The log of one run, after a seq or from now on.
    Run(RunId, Option<u64>),
    Notifications,
}

/// `runs,run:ID,run:ID@SEQ,notifications`
pub fn parse(text: &str) -> Result<Vec<Topic>, String> {
    let topics: Vec<Topic> =
        text.split(',').map(str::trim).filter(|topic| !topic.is_empty()).map(topic).collect::<Result<_, _>>()?;
    match topics.len() {
        0 => Err("topics is empty; give some of runs, run:ID, run:ID@SEQ, notifications".into()),
        many if many > MOST_TOPICS => {
            Err(format!("{many} topics were asked for; at most {MOST_TOPICS} fit one stream"))
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

/// Where a reader is in every topic: `logs~seq.seq-time`, the logs in the order they were asked for. Opaque outside.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cursor {
    /// Tells these logs in this order from any others.
    logs: u32,
    seqs: Vec<u64>,
    at: Timestamp,
}

impl Cursor {
    fn parse(text: &str, runs: &[RunId]) -> Option<Cursor> {
        let (logs, rest) = text.split_once('~')?;
        let logs = u32::from_str_radix(logs, 16).ok().filter(|logs| *logs == fingerprint(runs))?;
        let (seqs, at) = rest.split_once('-')?;
        let seqs: Vec<u64> = match seqs {
            "" => Vec::new(),
            seqs => seqs.split('.').map(str::parse).collect::<Result<_, _>>().ok()?,
        };
        let at = Timestamp(at.parse().ok()?);
        (seqs.len() == runs.len()).then_some(Cursor { logs, seqs, at })
    }

    fn text(&self) -> String {
        let seqs: Vec<String> = self.seqs.iter().map(u64::to_string).collect();
        format!("{:x}~{}-{}", self.logs, seqs.join("."), self.at.0)
    }
}

fn fingerprint(runs: &[RunId]) -> u32 {
    let mixed = runs.iter().fold(0u128, |mixed, run| mixed.rotate_left(7) ^ run.0.as_u128());
    (mixed ^ (mixed >> 32) ^ (mixed >> 64) ^ (mixed >> 96)) as u32
}

pub struct Multiplex {
    app: Arc<AppState>,
    reader: ActorId,
    scope: Scope,
    tails: Vec<Tail>,
    cursor: Cursor,
    changed: Option<Receiver<RunId>>,
    shows_runs: bool,
    notifies: bool,
    /// Runs that changed since they were last shown.
    stirred: BTreeSet<RunId>,
    /// Runs this reader was shown: one that is gone is missed by nobody else.
    shown: BTreeSet<RunId>,
    /// Notifications it was told, by id.
    told: BTreeSet<String>,
    show_at: Instant,
    ready: VecDeque<Bytes>,
    heartbeat: Heartbeat,
    ended: bool,
}

impl Frames for Multiplex {
    /// `None` ends the stream; the reader comes back with the last id it saw.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(frame);
            }
            if self.ended {
                return None;
            }
            let input = self.next_input().await;
            if let Err(error) = self.take(input).await {
                tracing::warn!(%error, "a stream ended: the database could not be read");
                return None;
            }
        }
    }
}

impl Multiplex {
    pub async fn open(
        app: Arc<AppState>,
        caller: &Caller,
        topics: Vec<Topic>,
        last_seen: Option<&str>,
    ) -> ApiResult<Multiplex> {
        let run = |topic: &Topic| if let Topic::Run(run, _) = topic { Some(*run) } else { None };
        let runs: Vec<RunId> = topics.iter().filter_map(run).collect();
        let resumed = last_seen.map(|text| {
            let unusable =
                || format!("{text} is no cursor of these topics; open the stream anew without Last-Event-ID");
            Cursor::parse(text, &runs).ok_or_else(|| Problem::invalid("bad_cursor", unusable()))
        });
        let resumed = resumed.transpose()?;
        let (shows_runs, notifies) = (topics.contains(&Topic::Runs), topics.contains(&Topic::Notifications));
        if notifies && !caller.bounds().is_empty() {
            return Err(auth::bound());
        }
        // Heard from here on, before anything is read.
        let changed = (shows_runs || notifies).then(|| app.live.changed());
        let mut tails = Vec::with_capacity(runs.len());
        for topic in topics {
            let Topic::Run(run, after) = topic else { continue };
            let row = caller.run(&app, run).await?;
            let reached = resumed.as_ref().map(|cursor| cursor.seqs[tails.len()]);
            tails.push(Tail::new(&app, caller, run, reached.or(after).unwrap_or(row.last_seq)));
        }
        let at = resumed.map_or_else(|| app.clock.now(), |cursor| cursor.at);
        let cursor = Cursor { logs: fingerprint(&runs), seqs: tails.iter().map(|tail| tail.after).collect(), at };
        let stirred = match shows_runs || notifies {
            true => changed_since(&app, at).await?,
            false => BTreeSet::new(),
        };
        let hello = format!("id: {}\nretry: {RETRY_MS}\n\n", cursor.text()).into();
        Ok(Multiplex {
            reader: caller.id(),
            scope: caller.scope(),
            heartbeat: Heartbeat::of(&app.revoked, caller),
            app,
            tails,
            cursor,
            changed,
            shows_runs,
            notifies,
            stirred,
            shown: BTreeSet::new(),
            told: BTreeSet::new(),
            show_at: Instant::now(),
            // With the cursor, so that who is cut off before the first event misses nothing.
            ready: VecDeque::from([hello]),
            ended: false,
        })
    }

    async fn next_input(&mut self) -> StreamInput {
        let stirred = !self.stirred.is_empty();
        tokio::select! {
            beat = self.heartbeat.next() => StreamInput::HeartbeatEvent(beat),
            (index, heard) = next_of(&mut self.tails) => StreamInput::TailItem(index, heard),
            run = next_change(&mut self.changed) => StreamInput::RunChanged(run),
            () = tokio::time::sleep_until(self.show_at), if stirred => StreamInput::Time,
        }
    }

    async fn take(&mut self, input: StreamInput) -> Result<(), StoreError> {
        match input {
            StreamInput::TailItem(index, heard) => self.hear(index, heard?),
            StreamInput::RunChanged(Ok(run)) => drop(self.stirred.insert(run)),
            StreamInput::RunChanged(Err(_)) => self.stirred.extend(changed_since(&self.app, self.cursor.at).await?),
            StreamInput::Time => self.show().await?,
            StreamInput::HeartbeatEvent(beat) => {
                let (frame, is_last) = told_of(&beat);
                self.ready.extend(frame);
                self.ended = is_last;
            }
        }
        Ok(())
    }

    fn hear(&mut self, index: usize, heard: TailItem) {
        match heard {
            TailItem::Events(commit, after) => {
                let mut frames = String::new();
                for told in commit.events_after(after) {
                    self.cursor.seqs[index] = told.seq;
                    frames.push_str(&format!("id: {}\ndata: {}\n\n", self.cursor.text(), told.json));
                }
                self.ready.push_back(frames.into());
            }
            TailItem::CaughtUp => {}
            TailItem::Gone => {
                let run = self.tails[index].run;
                // Said once, also to who is shown all runs.
                self.shown.remove(&run);
                self.ready.push_back(aside("run_gone", format_args!("{{\"id\":\"{run}\"}}")));
            }
            TailItem::Delta(json) => self.ready.push_back(aside("delta", json)),
            TailItem::Behind => {
                let Tail { run, after, .. } = &self.tails[index];
                self.ready.push_back(aside("behind", format_args!("{{\"run_id\":\"{run}\",\"after\":{after}}}")));
            }
        }
    }

    /// Everything that changed, as it stands now. Only the last frame moves the cursor: who is cut off before it is
    /// shown all of them again.
    async fn show(&mut self) -> Result<(), StoreError> {
        self.show_at = Instant::now() + BETWEEN_SHOWINGS;
        let (now, stirred) = (self.app.clock.now(), std::mem::take(&mut self.stirred));
        let mut shown = Vec::new();
        if self.shows_runs {
            for run in stirred {
                shown.extend(self.run(run).await?);
            }
        }
        if self.notifies {
            shown.extend(self.fresh_notices().await?);
        }
        let last = shown.len().saturating_sub(1);
        for (index, (event, json)) in shown.into_iter().enumerate() {
            if index == last {
                self.cursor.at = now;
            }
            let id = self.cursor.text();
            self.ready.push_back(format!("id: {id}\nevent: {event}\ndata: {json}\n\n").into());
        }
        Ok(())
    }

    async fn run(&mut self, run: RunId) -> Result<Option<(&'static str, String)>, StoreError> {
        Ok(match self.app.store.run(&self.scope, run).await? {
            Some(row) => {
                self.shown.insert(run);
                serde_json::to_string(&row).ok().map(|json| ("run", json))
            }
            None => self.shown.remove(&run).then(|| ("run_gone", format!("{{\"id\":\"{run}\"}}"))),
        })
    }

    /// By their own time, which is a little before they were stored: one that was told already is not told again.
    async fn fresh_notices(&mut self) -> Result<Vec<(&'static str, String)>, StoreError> {
        let since = self.cursor.at.plus_ms(-CLOCKS_DIFFER_MS);
        let newest = self.app.store.notices(self.reader, false, None, NEWEST).await?;
        let mut fresh = Vec::new();
        for notice in newest.into_iter().rev().filter(|notice| notice.at >= since) {
            if self.told.insert(notice.id.clone()) {
                fresh.extend(serde_json::to_string(&notice).ok().map(|json| ("notification", json)));
            }
        }
        while self.told.len() > MOST_TOLD {
            // Ids begin with the run, and runs are numbered in time.
            self.told.pop_first();
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
    let (heard, index, _) = select_all(tails.iter_mut().map(|tail| tail.next().boxed())).await;
    (index, heard)
}

async fn next_change(changed: &mut Option<Receiver<RunId>>) -> Result<RunId, RecvError> {
    match changed {
        Some(changed) => changed.recv().await,
        None => std::future::pending().await,
    }
}

async fn changed_since(app: &AppState, at: Timestamp) -> Result<BTreeSet<RunId>, StoreError> {
    let changed = app.store.changed_runs(at.plus_ms(-CLOCKS_DIFFER_MS)).await?;
    Ok(changed.into_iter().map(|(run, _)| run).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_read_and_what_is_none_is_named() {
        let id = "01a1de11-0000-7000-8000-000000000009";
        let run: RunId = id.parse().unwrap();
        let asked = format!("runs, run:{id},run:{id}@17,notifications");
        assert_eq!(
            parse(&asked).unwrap(),
            [Topic::Runs, Topic::Run(run, None), Topic::Run(run, Some(17)), Topic::Notifications]
        );
        assert!(parse("run:17").unwrap_err().contains("run:17"));
        assert!(parse(" , ").is_err());
        assert!(parse(&vec!["runs"; 51].join(",")).is_err());
    }

    #[test]
    fn a_cursor_is_good_for_its_own_topics_only() {
        let runs: Vec<RunId> = (1..=3).map(|nth| RunId(uuid::Uuid::from_u128(nth))).collect();
        let at = Timestamp(1_700_000_000_000);
        let cursor = Cursor { logs: fingerprint(&runs), seqs: vec![3, 0, 12], at };
        assert_eq!(Cursor::parse(&cursor.text(), &runs), Some(cursor.clone()));
        assert_eq!(Cursor::parse(&cursor.text(), &[runs[1], runs[0], runs[2]]), None);
        assert_eq!(Cursor::parse(&cursor.text(), &runs[..2]), None);
        assert_eq!(Cursor::parse("17", &runs[..1]), None);
        let none = Cursor { logs: fingerprint(&[]), seqs: vec![], at };
        assert_eq!(Cursor::parse(&none.text(), &[]), Some(none));
    }
}
