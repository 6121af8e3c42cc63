//! One process of the product: it can die, and it can stand still. What it asked of the world before is
//! not undone by that; what it would have learned is.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

pub struct Process {
    pub name: String,
    dead: AtomicBool,
    still_until: Mutex<Option<Instant>>,
    obituaries: mpsc::UnboundedSender<String>,
}

impl Process {
    pub fn new(name: String, obituaries: mpsc::UnboundedSender<String>) -> Process {
        Process { name, dead: AtomicBool::new(false), still_until: Mutex::new(None), obituaries }
    }

    pub fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Relaxed)
    }

    /// Everything the process does passes here: a dead one never gets through, a still one later.
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

    pub fn stand_still(&self, time: Duration) {
        let until = Instant::now() + time;
        let mut still = self.still_until.lock().unwrap_or_else(PoisonError::into_inner);
        *still = Some(still.map_or(until, |known| known.max(until)));
    }

    pub fn kill(&self) {
        if !self.dead.swap(true, Ordering::Relaxed) {
            // Nobody may be left to read it at the end of the world.
            let _ = self.obituaries.send(self.name.clone());
        }
    }

    /// Killed in the middle of what it was doing.
    pub async fn die<T>(&self) -> T {
        self.kill();
        std::future::pending().await
    }
}
