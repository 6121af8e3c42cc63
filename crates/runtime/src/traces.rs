//! How far each run's log was told as traces. Telling is somebody else's work; here is only what must outlive it, so that
//! every span is sent once however often processes come and go.

use crate::ports::StoreError;
use async_trait::async_trait;
use engine::ids::RunId;
use std::time::Duration;

#[async_trait]
pub trait Traces: Send + Sync + 'static {
    /// From now on there are traces, unless there have been before: runs that were over by then are not told.
    async fn begin_tracing(&self) -> Result<(), StoreError>;
    /// Take up to `limit` runs, of these or of all, whose log goes on after what was told of it, for so long; and up to
    /// where it was told. The database's clock judges.
    async fn take_untold(
        &self,
        of: Option<&[RunId]>,
        limit: usize,
        hold: Duration,
    ) -> Result<Vec<(RunId, u64)>, StoreError>;
    /// Told up to `seq`; kept for so long, or given back with no time at all.
    async fn told(&self, run: RunId, seq: u64, hold: Duration) -> Result<(), StoreError>;
}
