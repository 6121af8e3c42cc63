//! Broadcasts what was committed to listeners in this process. Each event is written out once and shared by all listeners of
//! its run. The log is the truth: a listener that falls behind re-reads it. Deltas (an answer as it grows) are broadcast
//! here too and never stored.

mod commit;
mod other_processes;
mod writing;

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

/// How many messages a listener may be behind before it has to read the log.
const RUN_CAPACITY: usize = 256;
const LIFECYCLE_CAPACITY: usize = 4_096;

/// An answer that grows. Never stored: what counts is the whole answer, in the log.
#[derive(Clone, Debug, Serialize)]
pub struct Delta<'a> {
    pub run_id: RunId,
    pub effect: &'a EffectId,
    pub attempt: u32,
    pub role: Role,
    /// A piece of the answer as it came.
    pub text: &'a str,
    /// What people can read of it, or of the newest part of the whole for a reader who came late.
    pub shown: &'a str,
    /// The number of readable characters before `shown`.
    pub from: u64,
}

/// The broadcast of one process. Clones share it.
#[derive(Clone)]
pub struct Live {
    shared: Arc<Broadcast>,
}

struct Broadcast {
    /// The `run.*` events of every run.
    lifecycle: broadcast::Sender<Arc<Event>>,
    /// Runs whose log grew.
    changed: broadcast::Sender<RunId>,
    channels: Mutex<HashMap<RunId, RunChannel>>,
    writings: writing::Writings,
    /// Notified when a run gets its first listener.
    first_listener: Notify,
    commits: AtomicU64,
    events: AtomicU64,
}

/// What was published since the process started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PublishedCounts {
    pub commits: u64,
    pub events: u64,
}

/// What a run's channel carries. Both kinds share one channel: with two, a thousand listeners contend for two locks.
#[derive(Clone, Debug)]
pub enum Message {
    Commit(Arc<Commit>),
    /// An answer that grows, as JSON; cheap to lose.
    Delta(Arc<str>),
}

/// The channel of one run's listeners.
struct RunChannel {
    messages: broadcast::Sender<Message>,
    /// The newest published seq, so that polling for other processes' commits publishes nothing twice.
    published: u64,
    /// Every listener has a clone.
    present: Arc<()>,
}

/// A subscription to one run. The run's channel is removed with its last listener.
pub struct Listener {
    pub messages: broadcast::Receiver<Message>,
    pub presence: Presence,
}

/// Counts as a listener, also for one that no longer receives messages itself.
pub struct Presence {
    _present: Arc<()>,
    /// The last field, so that it is dropped after the one above and does not count it.
    _leave: LeaveOnDrop,
}

struct LeaveOnDrop {
    shared: Arc<Broadcast>,
    run: RunId,
}

impl Drop for LeaveOnDrop {
    fn drop(&mut self) {
        let mut channels = self.shared.channels();
        if channels.get(&self.run).is_some_and(|channel| channel.listeners() == 0) {
            channels.remove(&self.run);
        }
    }
}

impl RunChannel {
    fn listeners(&self) -> usize {
        Arc::strong_count(&self.present) - 1
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
            writings: writing::Writings::default(),
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
        if self.has_listeners(run) {
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

    /// The run was removed: its channel closes, which ends its listeners.
    pub fn forget(&self, run: RunId) {
        self.shared.channels().remove(&run);
        let _ = self.shared.changed.send(run);
    }

    fn has_listeners(&self, run: RunId) -> bool {
        self.shared.channels().contains_key(&run)
    }

    fn send_commit(&self, commit: Commit) {
        let mut channels = self.shared.channels();
        let Some(channel) = channels.get_mut(&commit.run) else { return };
        channel.published = channel.published.max(commit.last);
        let _ = channel.messages.send(Message::Commit(Arc::new(commit)));
    }

    /// Broadcasts a piece of a growing answer to the listeners of its run, and keeps the newest part for later ones.
    pub fn send_delta(&self, delta: &Delta<'_>) {
        self.shared.writings.add(delta);
        let sender = self.shared.channels().get(&delta.run_id).map(|channel| channel.messages.clone());
        if let (Some(sender), Ok(json)) = (sender, serde_json::to_string(delta)) {
            let _ = sender.send(Message::Delta(json.into()));
        }
    }

    /// Everything published from now on. Listen first, then read the log: what is committed in between then comes twice instead
    /// of being missed.
    pub fn listen(&self, run: RunId) -> Listener {
        let mut channels = self.shared.channels();
        let channel = channels.entry(run).or_insert_with(|| {
            self.shared.first_listener.notify_one();
            RunChannel { messages: broadcast::channel(RUN_CAPACITY).0, published: 0, present: Arc::default() }
        });
        let _leave = LeaveOnDrop { shared: self.shared.clone(), run };
        let presence = Presence { _present: channel.present.clone(), _leave };
        Listener { messages: channel.messages.subscribe(), presence }
    }

    /// The newest seq that was published to the listeners of a run.
    pub fn published_seq(&self, run: RunId) -> u64 {
        self.shared.channels().get(&run).map_or(0, |channel| channel.published)
    }

    /// The `run.*` events of every run.
    pub fn lifecycle(&self) -> broadcast::Receiver<Arc<Event>> {
        self.shared.lifecycle.subscribe()
    }

    /// The runs whose log grew.
    pub fn changed(&self) -> broadcast::Receiver<RunId> {
        self.shared.changed.subscribe()
    }

    pub fn published(&self) -> PublishedCounts {
        PublishedCounts { commits: self.shared.commits.load(Relaxed), events: self.shared.events.load(Relaxed) }
    }

    /// How many runs have listeners, and how many listeners there are.
    pub fn listener_counts(&self) -> (usize, usize) {
        let channels = self.shared.channels();
        (channels.len(), channels.values().map(RunChannel::listeners).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t14_a_runs_channel_stays_while_it_has_listeners() {
        let live = Live::default();
        let run = RunId(uuid::Uuid::nil());
        let (mut first, second) = (live.listen(run), live.listen(run));
        drop(second);
        assert_eq!(live.listener_counts(), (1, 1));
        live.send_commit(Commit::without_events(run, 7));
        assert!(matches!(first.messages.try_recv(), Ok(Message::Commit(commit)) if commit.last == 7));
        drop(first);
        assert_eq!(live.listener_counts(), (0, 0));
    }
}
