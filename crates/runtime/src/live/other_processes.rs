//! Publishes commits of other processes on the same database, while this process has listeners. Polling is the guarantee;
//! hints from the database only shorten the wait.

use super::{Broadcast, Commit, Live, Message};
use crate::ports::{Log, StoreError};
use engine::ids::RunId;
use engine::time::Timestamp;
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::time::Instant;

const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Lists of runs are looked at less often than the runs somebody watches.
const RUN_LIST_INTERVAL: Duration = Duration::from_secs(1);
const PAGE_EVENTS: usize = 500;
/// Runs are stamped by the clocks of those who drive them.
const CLOCK_SKEW_MS: i64 = 5_000;

impl Live {
    /// Until the last clone of this `Live` is dropped. Needed wherever another process may write.
    pub fn follow_other_processes(&self, log: Arc<dyn Log>) {
        tokio::spawn(poll(Arc::downgrade(&self.shared), log));
    }
}

async fn poll(shared: Weak<Broadcast>, log: Arc<dyn Log>) {
    let mut seen_runs = SeenRuns::default();
    loop {
        let Some(live) = shared.upgrade().map(|shared| Live { shared }) else { return };
        if !live.is_needed() {
            seen_runs = SeenRuns::default();
            let idle = live.shared.clone();
            drop(live);
            let _ = tokio::time::timeout(Duration::from_secs(1), idle.first_listener.notified()).await;
            continue;
        }
        if let Err(error) = live.catch_up(log.as_ref(), &mut seen_runs).await {
            tracing::debug!(%error, "polling for other processes' commits failed; it is tried again");
        }
        drop(live);
        log.wakeup(POLL_INTERVAL).await;
    }
}

/// What is known of the runs that changed lately.
#[derive(Default)]
struct SeenRuns {
    looked: Option<Instant>,
    since: Timestamp,
    seen: HashMap<RunId, Timestamp>,
}

impl Live {
    fn is_needed(&self) -> bool {
        !self.shared.channels().is_empty() || self.shared.changed.receiver_count() > 0
    }

    async fn catch_up(&self, log: &dyn Log, seen_runs: &mut SeenRuns) -> Result<(), StoreError> {
        let published: Vec<(RunId, u64)> =
            self.shared.channels().iter().map(|(run, channel)| (*run, channel.published)).collect();
        let runs: Vec<RunId> = published.iter().map(|(run, _)| *run).collect();
        let ends: HashMap<RunId, u64> = log.last_seqs(&runs).await?.into_iter().collect();
        for (run, published) in published {
            match ends.get(&run) {
                // The first poll: earlier listeners have read the log up to here themselves.
                Some(end) if published == 0 => self.mark_published(run, *end),
                Some(end) if *end > published => self.fetch(log, run, published).await?,
                Some(_) => {}
                None => self.forget(run),
            }
        }
        if self.shared.changed.receiver_count() > 0
            && seen_runs.looked.is_none_or(|at| at.elapsed() >= RUN_LIST_INTERVAL)
        {
            self.publish_changed(log, seen_runs).await?;
        }
        Ok(())
    }

    /// What is already stored is the listeners' to read; it may have been stored after they subscribed, so they learn its end.
    fn mark_published(&self, run: RunId, end: u64) {
        let mut channels = self.shared.channels();
        let Some(channel) = channels.get_mut(&run) else { return };
        channel.published = channel.published.max(end);
        let _ = channel.messages.send(Message::Commit(Arc::new(Commit::without_events(run, end))));
    }

    async fn fetch(&self, log: &dyn Log, run: RunId, after: u64) -> Result<(), StoreError> {
        let events = log.events(run, after, PAGE_EVENTS).await?;
        if !events.is_empty() {
            self.send_commit(Commit::of_stored(run, &events));
        }
        Ok(())
    }

    async fn publish_changed(&self, log: &dyn Log, seen_runs: &mut SeenRuns) -> Result<(), StoreError> {
        seen_runs.looked = Some(Instant::now());
        let changed = log.changed_runs(seen_runs.since.plus_ms(-CLOCK_SKEW_MS)).await?;
        for (run, at) in &changed {
            // Seen before, within the time by which clocks may differ.
            if seen_runs.seen.get(run) != Some(at) {
                let _ = self.shared.changed.send(*run);
            }
        }
        seen_runs.since = changed.iter().map(|(_, at)| *at).max().unwrap_or(seen_runs.since);
        seen_runs.seen = changed.into_iter().collect();
        Ok(())
    }
}
