//! Workers of the product, each in a process of its own: hired, killed, asked to leave, hired again.

use super::faulty_store::FaultyStore;
use super::nature::Nature;
use super::process::Process;
use super::provider::{Line, Provider};
use super::witness::Witness;
use crate::clock::VirtualClock;
use effects::performer::EffectsPerformer;
use effects::tools::{Outsiders, Registry};
use runtime::ports::Store;
use runtime::{Desk, Duty, Worker, WorkerConfig};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub const LEASE: Duration = Duration::from_secs(10);
/// A process that is asked to stop is given this long.
const PATIENCE: Duration = Duration::from_millis(10_500);

/// What every process of one world shares.
#[derive(Clone)]
pub struct Ground {
    pub clock: Arc<VirtualClock>,
    pub store: Arc<dyn Store>,
    pub nature: Arc<Nature>,
    pub witness: Arc<Witness>,
    pub obituaries: mpsc::UnboundedSender<String>,
    /// Nothing in this world's weather holds a store up.
    pub kind_store: bool,
}

impl Ground {
    pub fn process(&self, name: String) -> Arc<Process> {
        Arc::new(Process::new(name, self.obituaries.clone()))
    }

    pub fn store_of(&self, process: &Arc<Process>) -> Arc<FaultyStore> {
        Arc::new(FaultyStore {
            inner: self.store.clone(),
            process: process.clone(),
            nature: self.nature.clone(),
            witness: self.witness.clone(),
        })
    }

    /// A desk in a process that drives nothing.
    pub fn detached_desk(&self, name: String) -> Desk {
        Desk::new(self.store_of(&self.process(name)), self.clock.clone())
    }
}

pub struct Seat {
    pub process: Arc<Process>,
    pub desk: Desk,
    cancel: CancellationToken,
    task: JoinHandle<()>,
}

pub struct Workforce {
    ground: Ground,
    provider: Arc<Provider>,
    seats: Vec<Option<Seat>>,
    hired: u32,
}

impl Workforce {
    pub fn new(ground: Ground, provider: Arc<Provider>, seats: usize) -> Workforce {
        Workforce { ground, provider, seats: (0..seats).map(|_| None).collect(), hired: 0 }
    }

    pub fn seats(&self) -> usize {
        self.seats.len()
    }

    pub fn desk(&self, seat: usize) -> Option<Desk> {
        self.seats.get(seat)?.as_ref().map(|seat| seat.desk.clone())
    }

    pub fn hire(&mut self, seat: usize) {
        if self.seats.get(seat).is_none_or(|taken| taken.is_some()) {
            return;
        }
        self.hired += 1;
        let ground = &self.ground;
        let process = ground.process(format!("w{seat}.{}", self.hired));
        let store = ground.store_of(&process);
        let line = Line { provider: self.provider.clone(), process: process.clone() };
        let performer = EffectsPerformer {
            library: store.clone(),
            registry: Registry::builtin(),
            outside: Outsiders::default(),
            models: Arc::new(line),
            live: Default::default(),
        };
        let config = WorkerConfig { id: process.name.clone(), slots: 8, lease: LEASE, duty: Duty::All, shared: true };
        let worker = Worker::new(store, Arc::new(performer), ground.clock.clone(), config);
        let (desk, cancel) = (worker.desk(), CancellationToken::new());
        ground.witness.note(format_args!("{} starts", process.name));
        let task = tokio::spawn(worker.serve(cancel.clone()));
        self.seats[seat] = Some(Seat { process, desk, cancel, task });
    }

    pub fn hire_all(&mut self) {
        (0..self.seats.len()).for_each(|seat| self.hire(seat));
    }

    pub fn kill(&mut self, seat: usize) {
        if let Some(Some(seat)) = self.seats.get(seat) {
            seat.process.kill();
        }
    }

    /// The process is gone, with everything it had in memory. Returns its seat.
    pub fn bury(&mut self, name: &str) -> Option<usize> {
        let seat = self.seats.iter().position(|seat| seat.as_ref().is_some_and(|seat| seat.process.name == name))?;
        let gone = self.seats[seat].take()?;
        gone.task.abort();
        self.ground.witness.note(format_args!("{name} dies"));
        self.ground.witness.record().deaths += 1;
        Some(seat)
    }

    /// As by SIGTERM: it drains, and must be gone in time when nothing holds it up.
    pub fn terminate(&mut self, seat: usize) -> Option<JoinHandle<()>> {
        let leaving = self.seats.get_mut(seat)?.take()?;
        let witness = self.ground.witness.clone();
        let held_up = !self.ground.kind_store;
        witness.note(format_args!("{} is asked to stop", leaving.process.name));
        leaving.cancel.cancel();
        Some(tokio::spawn(async move {
            let Seat { process, task, .. } = leaving;
            let abort = task.abort_handle();
            if tokio::time::timeout(PATIENCE, task).await.is_err() {
                if !held_up && !process.is_dead() {
                    witness.wrong(format!("55: {} did not stop within {PATIENCE:?}", process.name));
                }
                process.kill();
                abort.abort();
            }
        }))
    }
}
