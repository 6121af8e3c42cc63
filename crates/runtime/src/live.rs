//! What was committed, told to whoever listens in this process: per run, each event written out once and shared
//! by all. A hint with content: the log is the truth, and a listener that falls behind re-reads it. Deltas (an
//! answer as it grows) pass by here too and are kept nowhere.

mod commit;
mod elsewhere;

pub use commit::Commit;

use engine::effect::EffectId;
use engine::event::Event;
use engine::ids::RunId;
use engine::model::Role;
use serde::Serialize;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, broadcast};

/// What a listener may be behind before it has to read the log.
const NEWS: usize = 256;
const TURNS: usize = 4_096;

/// An answer that grows. Never stored: what counts is the whole answer, in the log.
#[derive(Clone, Debug, Serialize)]
pub struct Delta<'a> {
    pub run_id: RunId,
    pub effect: &'a EffectId,
    pub attempt: u32,
    pub role: Role,
    pub text: &'a str,
}

#[derive(Clone)]
pub struct Live {
    house: Arc<House>,
}

struct House {
    /// `run.*` events of every run: the turns of their lives.
    turns: broadcast::Sender<Arc<Event>>,
    /// Runs whose log grew.
    stirs: broadcast::Sender<RunId>,
    rooms: Mutex<HashMap<RunId, Room>>,
    /// Rung when a first listener comes.
    bell: Notify,
    commits: AtomicU64,
    events: AtomicU64,
}

/// What was told since the process began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub commits: u64,
    pub events: u64,
}

/// What is told in a room. One channel for both: a thousand listeners that wait for two would lock each other out twice.
#[derive(Clone, Debug)]
pub enum Word {
    Commit(Arc<Commit>),
    /// An answer that grows, as JSON; cheap to lose.
    Delta(Arc<str>),
}

/// Where the listeners of one run are.
struct Room {
    news: broadcast::Sender<Word>,
    /// The newest seq that was told here; nothing is told twice by those who only look.
    told: u64,
}

/// A place in a run's room, given back when it is dropped.
pub struct Listener {
    pub news: broadcast::Receiver<Word>,
    /// Last: by now this listener's receiver is gone.
    _leaving: Leaving,
}

struct Leaving {
    house: Arc<House>,
    run: RunId,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        let mut rooms = self.house.rooms();
        if rooms.get(&self.run).is_some_and(|room| room.news.receiver_count() == 0) {
            rooms.remove(&self.run);
        }
    }
}

impl House {
    fn rooms(&self) -> MutexGuard<'_, HashMap<RunId, Room>> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Live {
    fn default() -> Self {
        let house = House {
            turns: broadcast::channel(TURNS).0,
            stirs: broadcast::channel(TURNS).0,
            rooms: Mutex::default(),
            bell: Notify::new(),
            commits: AtomicU64::new(0),
            events: AtomicU64::new(0),
        };
        Live { house: Arc::new(house) }
    }
}

impl Live {
    /// Only what is already stored may be published.
    pub fn publish(&self, events: &[Event]) {
        let Some(run) = events.first().map(|event| event.run_id) else { return };
        self.house.commits.fetch_add(1, Relaxed);
        self.house.events.fetch_add(events.len() as u64, Relaxed);
        if self.is_heard(run) {
            self.tell(Commit::of(run, events));
        }
        let _ = self.house.stirs.send(run);
        if self.house.turns.receiver_count() > 0 {
            for event in events.iter().filter(|event| event.kind().starts_with("run.")) {
                // Nobody listening any more is fine: the log has it.
                let _ = self.house.turns.send(Arc::new(event.clone()));
            }
        }
    }

    /// The run was removed: its listeners hear it by the end of their room.
    pub fn forget(&self, run: RunId) {
        self.house.rooms().remove(&run);
        let _ = self.house.stirs.send(run);
    }

    fn is_heard(&self, run: RunId) -> bool {
        self.house.rooms().contains_key(&run)
    }

    fn tell(&self, commit: Commit) {
        let mut rooms = self.house.rooms();
        let Some(room) = rooms.get_mut(&commit.run) else { return };
        room.told = room.told.max(commit.last);
        let _ = room.news.send(Word::Commit(Arc::new(commit)));
    }

    /// Pass on how an answer grows, if anybody looks.
    pub fn whisper(&self, delta: &Delta<'_>) {
        let sender = self.house.rooms().get(&delta.run_id).map(|room| room.news.clone());
        if let (Some(sender), Ok(json)) = (sender, serde_json::to_string(delta)) {
            let _ = sender.send(Word::Delta(json.into()));
        }
    }

    /// From now on. Listen first, then read the log: what is committed in between comes twice, never not at all.
    pub fn listen(&self, run: RunId) -> Listener {
        let mut rooms = self.house.rooms();
        let room = rooms.entry(run).or_insert_with(|| {
            self.house.bell.notify_one();
            Room { news: broadcast::channel(NEWS).0, told: 0 }
        });
        Listener { news: room.news.subscribe(), _leaving: Leaving { house: self.house.clone(), run } }
    }

    /// The `run.*` events of every run.
    pub fn turns(&self) -> broadcast::Receiver<Arc<Event>> {
        self.house.turns.subscribe()
    }

    /// Which runs' logs grow.
    pub fn stirs(&self) -> broadcast::Receiver<RunId> {
        self.house.stirs.subscribe()
    }

    pub fn told(&self) -> Told {
        Told { commits: self.house.commits.load(Relaxed), events: self.house.events.load(Relaxed) }
    }

    /// How many runs are listened to, and by how many.
    pub fn audience(&self) -> (usize, usize) {
        let rooms = self.house.rooms();
        (rooms.len(), rooms.values().map(|room| room.news.receiver_count()).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t14_a_room_stays_while_anybody_is_in_it() {
        let live = Live::default();
        let run = RunId(uuid::Uuid::nil());
        let (mut first, second) = (live.listen(run), live.listen(run));
        drop(second);
        assert_eq!(live.audience(), (1, 1));
        live.tell(Commit::reaching(run, 7));
        assert!(matches!(first.news.try_recv(), Ok(Word::Commit(commit)) if commit.last == 7));
        drop(first);
        assert_eq!(live.audience(), (0, 0));
    }
}
