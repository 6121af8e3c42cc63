//! Commits of other processes on the same database: looked for while somebody here listens. Hints shorten the
//! wait; looking is the guarantee.

use super::{Commit, House, Live, Word};
use crate::ports::{Store, StoreError};
use engine::ids::RunId;
use engine::time::Timestamp;
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::time::Instant;

const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Lists of runs are looked at less often than the runs somebody watches.
const STIRS_EVERY: Duration = Duration::from_secs(1);
const PAGE: usize = 500;
/// Runs are stamped by the clocks of those who drive them.
const CLOCKS_DIFFER_MS: i64 = 5_000;

impl Live {
    /// Until nobody has this `Live` any more. Needed wherever another process may be the one that writes.
    pub fn look_elsewhere(&self, store: Arc<dyn Store>) {
        tokio::spawn(look(Arc::downgrade(&self.house), store));
    }
}

async fn look(house: Weak<House>, store: Arc<dyn Store>) {
    let mut news = News::default();
    loop {
        let Some(live) = house.upgrade().map(|house| Live { house }) else { return };
        if !live.is_needed() {
            news = News::default();
            let rung = live.house.clone();
            drop(live);
            let _ = tokio::time::timeout(Duration::from_secs(1), rung.bell.notified()).await;
            continue;
        }
        if let Err(error) = live.catch_up(store.as_ref(), &mut news).await {
            tracing::debug!(%error, "looking for other processes' commits was postponed");
        }
        drop(live);
        store.wakeup(LOOK_EVERY).await;
    }
}

/// What is known of the runs that changed lately.
#[derive(Default)]
struct News {
    looked: Option<Instant>,
    since: Timestamp,
    seen: HashMap<RunId, Timestamp>,
}

impl Live {
    fn is_needed(&self) -> bool {
        !self.house.rooms().is_empty() || self.house.stirs.receiver_count() > 0
    }

    async fn catch_up(&self, store: &dyn Store, news: &mut News) -> Result<(), StoreError> {
        let told: Vec<(RunId, u64)> = self.house.rooms().iter().map(|(run, room)| (*run, room.told)).collect();
        let runs: Vec<RunId> = told.iter().map(|(run, _)| *run).collect();
        let ends: HashMap<RunId, u64> = store.ends(&runs).await?.into_iter().collect();
        for (run, told) in told {
            match ends.get(&run) {
                // Whoever came before has read the log up to here by himself.
                Some(end) if told == 0 => self.told_up_to(run, *end),
                Some(end) if *end > told => self.fetch(store, run, told).await?,
                Some(_) => {}
                None => self.forget(run),
            }
        }
        if self.house.stirs.receiver_count() > 0 && news.looked.is_none_or(|at| at.elapsed() >= STIRS_EVERY) {
            self.stirred(store, news).await?;
        }
        Ok(())
    }

    /// The first look: what is there already is the listeners' own to read, but it may have come after they did.
    fn told_up_to(&self, run: RunId, end: u64) {
        let mut rooms = self.house.rooms();
        let Some(room) = rooms.get_mut(&run) else { return };
        room.told = room.told.max(end);
        let _ = room.news.send(Word::Commit(Arc::new(Commit::reaching(run, end))));
    }

    async fn fetch(&self, store: &dyn Store, run: RunId, after: u64) -> Result<(), StoreError> {
        let events = store.events(run, after, PAGE).await?;
        if !events.is_empty() {
            self.tell(Commit::of_stored(run, &events));
        }
        Ok(())
    }

    async fn stirred(&self, store: &dyn Store, news: &mut News) -> Result<(), StoreError> {
        news.looked = Some(Instant::now());
        let changed = store.changed_runs(news.since.plus_ms(-CLOCKS_DIFFER_MS)).await?;
        for (run, at) in &changed {
            // Seen before, within the time by which clocks may differ.
            if news.seen.get(run) != Some(at) {
                let _ = self.house.stirs.send(*run);
            }
        }
        news.since = changed.iter().map(|(_, at)| *at).max().unwrap_or(news.since);
        news.seen = changed.into_iter().collect();
        Ok(())
    }
}
