//! Time that only passes when everybody waits: the paused clock of the runtime, seen as wall time.

use engine::time::Timestamp;
use runtime::ports::Clock;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::time::Instant;

/// 2026-11-01, long before anything else happens.
const BEGINNING: Timestamp = Timestamp(1_793_491_200_000);
/// Somebody who looks at the clock this often goes round in circles.
const GLANCES: u64 = 3_000_000;

pub struct VirtualClock {
    start: Instant,
    glances: AtomicU64,
}

impl VirtualClock {
    /// Starts now; only inside a runtime.
    pub fn start() -> VirtualClock {
        VirtualClock { start: Instant::now(), glances: AtomicU64::new(0) }
    }

    /// Milliseconds since the beginning of the world.
    pub fn elapsed_ms(&self) -> u64 {
        self.start.elapsed().as_millis() as u64
    }

    pub fn since_beginning(at: Timestamp) -> u64 {
        at.since(BEGINNING) as u64
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        let glances = self.glances.fetch_add(1, Ordering::Relaxed);
        assert!(glances < GLANCES, "livelock: the clock was read {GLANCES} times");
        BEGINNING.plus_ms(self.elapsed_ms() as i64)
    }
}
