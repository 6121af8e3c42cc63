//! One simulated process, which can die or stall. Requests it had sent still take effect; their answers are lost to it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

pub struct Process {
    pub name: String,
    dead: AtomicBool,
    still_until: Mutex<Option<Instant>>,
    death_notices: mpsc::UnboundedSender<String>,
}

impl Process {
    pub fn new(name: String, death_notices: mpsc::UnboundedSender<String>) -> Process {
        Process { name, dead: AtomicBool::new(false), still_until: Mutex::new(None), death_notices }
    }

    pub fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Relaxed)
    }

    /// Awaited before everything the process does: never returns when it is dead, and returns late when it is stalled.
    pub async fn pass(&self) {
        loop {
            if self.is_dead() {
                return std::future::pending().await;
            }
            let until = *self.still_until.lock().unwrap_or_else(PoisonError::into_inner);
            match until {
                Some(until) if until > Instant::now() => tokio::time::sleep_until(until).await,
                _ => return,
            }
        }
    }

    pub fn stall(&self, time: Duration) {
        let until = Instant::now() + time;
        let mut still = self.still_until.lock().unwrap_or_else(PoisonError::into_inner);
        *still = Some(still.map_or(until, |known| known.max(until)));
    }

    pub fn kill(&self) {
        if !self.dead.swap(true, Ordering::Relaxed) {
            // The receiver may be gone when the world ends.
            let _ = self.death_notices.send(self.name.clone());
        }
    }

    /// Killed in the middle of what it was doing.
    pub async fn die<T>(&self) -> T {
        self.kill();
        std::future::pending().await
    }
}
