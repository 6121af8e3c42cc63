//! The worker of this process: it takes every run, only those it is asked for, or none.

use crate::api::Drives;
use crate::config::{Config, Database};
use engine::ids::RunId;
use engine::time::Timestamp;
use runtime::live::Live;
use runtime::ports::{Clock, Log, Performer};
use runtime::{Duty, RunCommands, Worker, WorkerConfig};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The clock on the wall.
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// What a process takes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerScope {
    /// Commands are recorded, nothing is driven.
    Nothing,
    Only(RunId),
    Everything,
}

impl WorkerScope {
    pub fn drives(self) -> Drives {
        match self {
            WorkerScope::Nothing => Drives::Nothing,
            WorkerScope::Only(_) => Drives::Some,
            WorkerScope::Everything => Drives::All,
        }
    }
}

pub struct Drive {
    commands: RunCommands,
    stop: CancellationToken,
    serving: Option<JoinHandle<()>>,
}

impl Drive {
    pub fn start(
        config: &Config,
        load: WorkerScope,
        log: Arc<dyn Log>,
        performer: Arc<dyn Performer>,
        clock: Arc<dyn Clock>,
        live: Live,
    ) -> Drive {
        let settings = WorkerConfig {
            id: worker_id(),
            slots: config.workers.value,
            lease: Duration::from_millis(config.lease_ms.value),
            duty: if load == WorkerScope::Everything { Duty::All } else { Duty::Asked },
            shared: matches!(config.database.value, Database::Postgres(_)),
        };
        let worker = Worker::with_live(live, log, performer, clock, settings);
        let commands = worker.commands();
        if let WorkerScope::Only(run) = load {
            commands.drive(run);
        }
        let stop = CancellationToken::new();
        let cancel = stop.clone();
        let serving = (load != WorkerScope::Nothing).then(|| tokio::spawn(async move { worker.serve(cancel).await }));
        Drive { commands, stop, serving }
    }

    pub fn commands(&self) -> RunCommands {
        self.commands.clone()
    }

    /// Start nothing more, let calls in flight end for a while, give the runs back.
    pub async fn stop(self) {
        self.stop.cancel();
        if let Some(serving) = self.serving
            && let Err(error) = serving.await
        {
            tracing::error!(%error, "the worker did not end in an orderly way");
        }
    }
}

/// Unique per process, readable in the jobs table.
fn worker_id() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{}-{}-{:08x}", host.trim(), std::process::id(), rand::random::<u32>())
}
