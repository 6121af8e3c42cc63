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
const RUN_CAPACITY: usize = 256;
const LIFECYCLE_CAPACITY: usize = 4_096;

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
    shared: Arc<Broadcast>,
}

struct Broadcast {
    /// `run.*` events of every run: the turns of their lives.
    lifecycle: broadcast::Sender<Arc<Event>>,
    /// Runs whose log grew.
    changed: broadcast::Sender<RunId>,
    channels: Mutex<HashMap<RunId, RunChannel>>,
    /// Rung when a first listener comes.
    first_listener: Notify,
    commits: AtomicU64,
    events: AtomicU64,
}

/// What was told since the process began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PublishedCounts {
    pub commits: u64,
    pub events: u64,
}

/// What is told in a room. One channel for both: a thousand listeners that wait for two would lock each other out twice.
#[derive(Clone, Debug)]
pub enum Message {
    Commit(Arc<Commit>),
    /// An answer that grows, as JSON; cheap to lose.
    Delta(Arc<str>),
}

/// Where the listeners of one run are.
struct RunChannel {
    messages: broadcast::Sender<Message>,
    /// The newest seq that was told here; nothing is told twice by those who only look.
    published: u64,
}

/// A place in a run's room, given back when it is dropped.
pub struct Listener {
    pub messages: broadcast::Receiver<Message>,
    /// Last: by now this listener's receiver is gone.
    _leave: LeaveOnDrop,
}

struct LeaveOnDrop {
    shared: Arc<Broadcast>,
    run: RunId,
}

impl Drop for LeaveOnDrop {
    fn drop(&mut self) {
        let mut channels = self.shared.channels();
        if channels.get(&self.run).is_some_and(|channel| channel.messages.receiver_count() == 0) {
            channels.remove(&self.run);
        }
    }
}

impl Broadcast {
    fn channels(&self) -> MutexGuard<'_, HashMap<RunId, RunChannel>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Live {
    fn default() -> Self {
        let shared = Broadcast {
            lifecycle: broadcast::channel(LIFECYCLE_CAPACITY).0,
            changed: broadcast::channel(LIFECYCLE_CAPACITY).0,
            channels: Mutex::default(),
            first_listener: Notify::new(),
            commits: AtomicU64::new(0),
            events: AtomicU64::new(0),
        };
        Live { shared: Arc::new(shared) }
    }
}

impl Live {
    /// Only what is already stored may be published.
    pub fn publish(&self, events: &[Event]) {
        let Some(run) = events.first().map(|event| event.run_id) else { return };
        self.shared.commits.fetch_add(1, Relaxed);
        self.shared.events.fetch_add(events.len() as u64, Relaxed);
        if self.is_heard(run) {
            self.send_commit(Commit::of(run, events));
        }
        let _ = self.shared.changed.send(run);
        if self.shared.lifecycle.receiver_count() > 0 {
            for event in events.iter().filter(|event| event.kind().starts_with("run.")) {
                // Nobody listening any more is fine: the log has it.
                let _ = self.shared.lifecycle.send(Arc::new(event.clone()));
            }
        }
    }

    /// The run was removed: its listeners hear it by the end of their room.
    pub fn forget(&self, run: RunId) {
        self.shared.channels().remove(&run);
        let _ = self.shared.changed.send(run);
    }

    fn is_heard(&self, run: RunId) -> bool {
        self.shared.channels().contains_key(&run)
    }

    fn send_commit(&self, commit: Commit) {
        let mut channels = self.shared.channels();
        let Some(channel) = channels.get_mut(&commit.run) else { return };
        channel.published = channel.published.max(commit.last);
        let _ = channel.messages.send(Message::Commit(Arc::new(commit)));
    }

    /// Pass on how an answer grows, if anybody looks.
    pub fn send_delta(&self, delta: &Delta<'_>) {
        let sender = self.shared.channels().get(&delta.run_id).map(|channel| channel.messages.clone());
        if let (Some(sender), Ok(json)) = (sender, serde_json::to_string(delta)) {
            let _ = sender.send(Message::Delta(json.into()));
        }
    }

    /// From now on. Listen first, then read the log: what is committed in between comes twice, never not at all.
    pub fn listen(&self, run: RunId) -> Listener {
        let mut channels = self.shared.channels();
        let channel = channels.entry(run).or_insert_with(|| {
            self.shared.first_listener.notify_one();
            RunChannel { messages: broadcast::channel(RUN_CAPACITY).0, published: 0 }
        });
        Listener { messages: channel.messages.subscribe(), _leave: LeaveOnDrop { shared: self.shared.clone(), run } }
    }

    /// The `run.*` events of every run.
    pub fn lifecycle(&self) -> broadcast::Receiver<Arc<Event>> {
        self.shared.lifecycle.subscribe()
    }

    /// Which runs' logs grow.
    pub fn changed(&self) -> broadcast::Receiver<RunId> {
        self.shared.changed.subscribe()
    }

    pub fn published(&self) -> PublishedCounts {
        PublishedCounts { commits: self.shared.commits.load(Relaxed), events: self.shared.events.load(Relaxed) }
    }

    /// How many runs are listened to, and by how many.
    pub fn audience(&self) -> (usize, usize) {
        let channels = self.shared.channels();
        (channels.len(), channels.values().map(|channel| channel.messages.receiver_count()).sum())
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
        live.send_commit(Commit::reaching(run, 7));
        assert!(matches!(first.messages.try_recv(), Ok(Message::Commit(commit)) if commit.last == 7));
        drop(first);
        assert_eq!(live.audience(), (0, 0));
    }
}
