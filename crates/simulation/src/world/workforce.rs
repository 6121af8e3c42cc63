//! The product's workers, each in a simulated process that is started, killed, stopped and started again.

use super::faults::Faults;
use super::faulty_store::FaultyStore;
use super::process::Process;
use super::provider::{Provider, ProviderConnection};
use super::witness::Witness;
use crate::clock::VirtualClock;
use effects::performer::EffectsPerformer;
use effects::tools::{Registry, Toolboxes};
use runtime::{ClaimPolicy, RunCommands, Worker, WorkerConfig};
use std::sync::Arc;
use std::time::Duration;
use store::SqlStore;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub const LEASE: Duration = Duration::from_secs(10);
/// How long a process may take to stop.
const PATIENCE: Duration = Duration::from_millis(10_500);

/// What every process of one world shares.
#[derive(Clone)]
pub struct SharedWorld {
    pub clock: Arc<VirtualClock>,
    pub store: Arc<SqlStore>,
    pub faults: Arc<Faults>,
    pub witness: Arc<Witness>,
    pub death_notices: mpsc::UnboundedSender<String>,
    /// No fault of this world delays the store.
    pub kind_store: bool,
}

impl SharedWorld {
    pub fn process(&self, name: String) -> Arc<Process> {
        Arc::new(Process::new(name, self.death_notices.clone()))
    }

    pub fn store_of(&self, process: &Arc<Process>) -> Arc<FaultyStore> {
        Arc::new(FaultyStore {
            inner: self.store.clone(),
            process: process.clone(),
            faults: self.faults.clone(),
            witness: self.witness.clone(),
        })
    }

    /// Run commands in a process that has no worker.
    pub fn detached_commands(&self, name: String) -> RunCommands {
        RunCommands::new(self.store_of(&self.process(name)), self.clock.clone())
    }
}

pub struct WorkerProcess {
    pub process: Arc<Process>,
    pub commands: RunCommands,
    cancel: CancellationToken,
    task: JoinHandle<()>,
}

pub struct Workforce {
    shared: SharedWorld,
    provider: Arc<Provider>,
    seats: Vec<Option<WorkerProcess>>,
    started: u32,
}

impl Workforce {
    pub fn new(shared: SharedWorld, provider: Arc<Provider>, seats: usize) -> Workforce {
        Workforce { shared, provider, seats: (0..seats).map(|_| None).collect(), started: 0 }
    }

    pub fn seats(&self) -> usize {
        self.seats.len()
    }

    pub fn commands(&self, seat: usize) -> Option<RunCommands> {
        self.seats.get(seat)?.as_ref().map(|seat| seat.commands.clone())
    }

    pub fn start_worker(&mut self, seat: usize) {
        if self.seats.get(seat).is_none_or(|taken| taken.is_some()) {
            return;
        }
        self.started += 1;
        let shared = &self.shared;
        let process = shared.process(format!("w{seat}.{}", self.started));
        let store = shared.store_of(&process);
        let line = ProviderConnection { provider: self.provider.clone(), process: process.clone() };
        let performer = EffectsPerformer {
            library: store.clone(),
            registry: Registry::builtin(),
            toolboxes: Toolboxes::default(),
            task_tools: Arc::new(pages::PageTools::new(store.clone())),
            models: Arc::new(line),
            live: Default::default(),
        };
        let config = WorkerConfig {
            id: process.name.clone(),
            slots: 8,
            lease: LEASE,
            claims: ClaimPolicy::AnyRun,
            shared: true,
        };
        let worker = Worker::new(store, Arc::new(performer), shared.clock.clone(), config);
        let (commands, cancel) = (worker.commands(), CancellationToken::new());
        shared.witness.note(format_args!("{} starts", process.name));
        let task = tokio::spawn(worker.serve(cancel.clone()));
        self.seats[seat] = Some(WorkerProcess { process, commands, cancel, task });
    }

    pub fn start_all(&mut self) {
        (0..self.seats.len()).for_each(|seat| self.start_worker(seat));
    }

    pub fn kill(&mut self, seat: usize) {
        if let Some(Some(seat)) = self.seats.get(seat) {
            seat.process.kill();
        }
    }

    /// Removes a dead process with everything it had in memory. Returns its seat.
    pub fn remove_dead(&mut self, name: &str) -> Option<usize> {
        let seat = self.seats.iter().position(|seat| seat.as_ref().is_some_and(|seat| seat.process.name == name))?;
        let gone = self.seats[seat].take()?;
        gone.task.abort();
        self.shared.witness.note(format_args!("{name} dies"));
        self.shared.witness.record().deaths += 1;
        Some(seat)
    }

    /// As by SIGTERM: the worker drains, and must stop in time when no fault delays it.
    pub fn terminate(&mut self, seat: usize) -> Option<JoinHandle<()>> {
        let leaving = self.seats.get_mut(seat)?.take()?;
        let witness = self.shared.witness.clone();
        let held_up = !self.shared.kind_store;
        witness.note(format_args!("{} is asked to stop", leaving.process.name));
        leaving.cancel.cancel();
        Some(tokio::spawn(async move {
            let WorkerProcess { process, task, .. } = leaving;
            let abort = task.abort_handle();
            if tokio::time::timeout(PATIENCE, task).await.is_err() {
                if !held_up && !process.is_dead() {
                    witness.violation(format!("55: {} did not stop within {PATIENCE:?}", process.name));
                }
                process.kill();
                abort.abort();
            }
        }))
    }
}
