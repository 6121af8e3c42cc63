//! The worker of this process: it drives every run, only those it is asked to, or none.

use crate::api::Drives;
use crate::config::{Config, Database};
use engine::ids::RunId;
use engine::time::Timestamp;
use runtime::live::Live;
use runtime::ports::{Clock, Log, Performer};
use runtime::{ClaimPolicy, RunCommands, Worker, WorkerConfig};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The system's wall clock.
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// Which runs a process drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkerScope {
    /// Only stores commands.
    Nothing,
    Only(RunId),
    Everything,
}

impl WorkerScope {
    pub(crate) fn drives(self) -> Drives {
        match self {
            WorkerScope::Nothing => Drives::Nothing,
            WorkerScope::Only(_) => Drives::Some,
            WorkerScope::Everything => Drives::All,
        }
    }
}

pub(crate) struct Drive {
    commands: RunCommands,
    stop: CancellationToken,
    serving: Option<JoinHandle<()>>,
}

impl Drive {
    pub(crate) fn start(
        config: &Config,
        scope: WorkerScope,
        log: Arc<dyn Log>,
        performer: Arc<dyn Performer>,
        clock: Arc<dyn Clock>,
        live: Live,
    ) -> Drive {
        let settings = WorkerConfig {
            id: worker_id(),
            slots: config.workers.value,
            lease: Duration::from_millis(config.lease_ms.value),
            claims: if scope == WorkerScope::Everything { ClaimPolicy::AnyRun } else { ClaimPolicy::RequestedOnly },
            shared: matches!(config.database.value, Database::Postgres(_)),
        };
        let worker = Worker::with_live(live, log, performer, clock, settings);
        let commands = worker.commands();
        if let WorkerScope::Only(run) = scope {
            commands.drive(run);
        }
        let stop = CancellationToken::new();
        let cancel = stop.clone();
        let serving = (scope != WorkerScope::Nothing).then(|| tokio::spawn(async move { worker.serve(cancel).await }));
        Drive { commands, stop, serving }
    }

    pub(crate) fn commands(&self) -> RunCommands {
        self.commands.clone()
    }

    /// Starts nothing more, lets calls in flight end for a while, and releases the leases.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        if let Some(serving) = self.serving
            && let Err(error) = serving.await
        {
            tracing::error!(%error, "the worker panicked while it stopped; its runs continue when their leases lapse");
        }
    }
}

/// Unique per process, readable in the jobs table.
fn worker_id() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{}-{}-{:08x}", host.trim(), std::process::id(), rand::random::<u32>())
}
