//! Committed events, pushed to whoever listens in this process. A hint with content: the log is the
//! truth, and a listener that falls behind re-reads it.

use engine::event::Event;
use std::sync::Arc;
use tokio::sync::broadcast;

const BUFFER: usize = 4_096;

#[derive(Clone, Debug)]
pub struct Live {
    sender: broadcast::Sender<Arc<Event>>,
}

impl Default for Live {
    fn default() -> Self {
        Live { sender: broadcast::channel(BUFFER).0 }
    }
}

impl Live {
    /// Only what is already stored may be published.
    pub fn publish(&self, events: Vec<Event>) {
        if self.sender.receiver_count() == 0 {
            return;
        }
        for event in events {
            // Nobody listening any more is fine: the log has it.
            let _ = self.sender.send(Arc::new(event));
        }
    }

    /// Every run's events; the listener picks its own.
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<Event>> {
        self.sender.subscribe()
    }
}
