//! Virtual time: tokio's paused clock, which advances only when every task waits, shown as wall time.

use engine::time::Timestamp;
use runtime::ports::Clock;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::time::Instant;

/// 2026-11-01, the start of every world.
const BEGINNING: Timestamp = Timestamp(1_793_491_200_000);
/// A world that reads the clock this often is in a loop.
const MAX_READS: u64 = 3_000_000;

pub struct VirtualClock {
    start: Instant,
    reads: AtomicU64,
}

impl VirtualClock {
    /// Starts now. Must be called inside a tokio runtime.
    pub fn start() -> VirtualClock {
        VirtualClock { start: Instant::now(), reads: AtomicU64::new(0) }
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
        let reads = self.reads.fetch_add(1, Ordering::Relaxed);
        assert!(reads < MAX_READS, "livelock: the clock was read {MAX_READS} times");
        BEGINNING.plus_ms(self.elapsed_ms() as i64)
    }
}
