//! One world: the product's workers, run commands, tools and store, with a fake provider, simulated people and virtual
//! time. A storm of faults is followed by a calm in which every run must end.

mod calm;
pub mod faults;
mod faulty_store;
mod fixtures;
mod people;
mod process;
pub mod provider;
pub mod witness;
mod workforce;

use crate::clock::VirtualClock;
use crate::dice::Dice;
use crate::fault_rates::FaultRates;
use engine::actor::Actor;
use engine::run::Kind;
use engine::workspace::{Change, Mutation, Scope};
use faults::{CrashAt, Faults};
pub use fixtures::{Fixtures, PlannedRun};
use people::{Person, PersonAction};
use provider::{Provider, Request};
use runtime::ports::{Clock, Library};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use store::SqlStore;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use witness::{Record, Witness};
use workforce::{SharedWorld, Workforce};

/// Which kinds of run a world has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kinds {
    Homework,
    Tree,
    Task,
    Mixed,
}

impl Kinds {
    pub fn name(self) -> &'static str {
        match self {
            Kinds::Homework => "homework",
            Kinds::Tree => "tree",
            Kinds::Task => "task",
            Kinds::Mixed => "mixed",
        }
    }

    pub fn named(name: &str) -> Option<Kinds> {
        [Kinds::Homework, Kinds::Tree, Kinds::Task, Kinds::Mixed].into_iter().find(|kinds| kinds.name() == name)
    }

    fn kind(self, seed: u64, nth: u64) -> Kind {
        match self {
            Kinds::Homework => Kind::Homework,
            Kinds::Tree => Kind::Tree,
            Kinds::Task => Kind::Task,
            Kinds::Mixed => match Dice::about(seed, &format!("kind {nth}")).below(5) {
                0 | 1 => Kind::Homework,
                2 | 3 => Kind::Tree,
                _ => Kind::Task,
            },
        }
    }
}

/// The parameters of one world.
#[derive(Clone, Debug)]
pub struct Setup {
    pub seed: u64,
    pub kinds: Kinds,
    pub fault_rates: FaultRates,
    pub workers: usize,
    pub planned_runs: u64,
    pub crash_at: Option<CrashAt>,
    /// A person has the criteria of ended runs judged once more.
    pub looks_again: bool,
    pub keep_lines: bool,
}

impl Setup {
    pub fn of(seed: u64, kinds: Kinds) -> Setup {
        let mut dice = Dice::about(seed, "setup");
        let (workers, planned_runs) = (dice.between(1, 3) as usize, dice.between(1, 4));
        let fault_rates = FaultRates::of(seed);
        Setup {
            seed,
            kinds,
            looks_again: fault_rates.commands > 0,
            fault_rates,
            workers,
            planned_runs,
            crash_at: None,
            keep_lines: false,
        }
    }
}

/// A world that has ended, for the checks.
pub struct FinishedWorld {
    pub setup: Setup,
    pub fixtures: Fixtures,
    pub store: Arc<SqlStore>,
    pub planned_runs: Vec<PlannedRun>,
    pub record: Record,
    pub bill: Vec<Request>,
    pub appends: u64,
    pub trace_hash: u64,
    pub virtual_ms: u64,
}

/// A scheduled happening.
#[derive(Clone, Debug)]
enum Due {
    Start(usize),
    PersonAction(usize, PersonAction),
    Kill(usize),
    Terminate(usize),
    StartWorker(usize),
    Revoke,
    EditPage,
    Calm,
}

struct World {
    setup: Setup,
    shared: SharedWorld,
    fixtures: Fixtures,
    planned_runs: Vec<PlannedRun>,
    workforce: Workforce,
    agenda: BTreeMap<(u64, u64), Due>,
    planned: u64,
    actions_taken: u64,
    people: JoinSet<()>,
    dice: Dice,
}

/// Runs one world to its end. Only inside a paused, single-threaded runtime.
pub async fn run_world(setup: Setup) -> FinishedWorld {
    let clock = Arc::new(VirtualClock::start());
    let store = store::open_inline(None, clock.clone()).await.expect("a database in memory opens");
    let fixtures = Fixtures::create(store.as_ref(), clock.now()).await;
    let planned_run = |nth| {
        fixtures.planned_run(setup.seed, nth, setup.kinds.kind(setup.seed, nth), setup.fault_rates.faults_end_after_ms)
    };
    let planned_runs: Vec<PlannedRun> = (0..setup.planned_runs).map(planned_run).collect();
    let faults = Arc::new(Faults::new(setup.seed, setup.fault_rates.clone(), setup.crash_at));
    let witness = Arc::new(Witness::new(clock.clone(), setup.keep_lines));
    witness.changed(&fixtures.first_changes());
    let fake_models_by_run =
        planned_runs.iter().map(|planned_run| (planned_run.id, planned_run.fake_model.clone())).collect();
    let provider = Arc::new(Provider::new(setup.seed, faults.clone(), witness.clone(), fake_models_by_run));
    let (death_notices, mut deaths) = mpsc::unbounded_channel();
    let kind_store = setup.fault_rates.has_no_store_faults();
    let shared = SharedWorld { clock, store, faults, witness, death_notices, kind_store };
    let workforce = Workforce::new(shared.clone(), provider.clone(), setup.workers);
    let dice = Dice::about(setup.seed, "world");
    let mut world = World {
        setup,
        shared,
        fixtures,
        planned_runs,
        workforce,
        agenda: BTreeMap::new(),
        planned: 0,
        actions_taken: 0,
        people: JoinSet::new(),
        dice,
    };
    world.plan_storm();
    world.storm(&mut deaths).await;
    world.calm(&mut deaths).await;
    world.end(&provider)
}

impl World {
    fn plan(&mut self, at_ms: u64, due: Due) {
        self.planned += 1;
        self.agenda.insert((at_ms, self.planned), due);
    }

    fn plan_storm(&mut self) {
        let fault_rates = self.setup.fault_rates.clone();
        let storm = fault_rates.faults_end_after_ms;
        for nth in 0..self.planned_runs.len() {
            let (at, kind) = (self.planned_runs[nth].at_ms, self.planned_runs[nth].brief.kind);
            self.plan(at, Due::Start(nth));
            // A tree has nodes to send commands to as well.
            let most = if kind == Kind::Tree { fault_rates.commands * 3 } else { fault_rates.commands };
            for _ in 0..self.dice.below(most + 1) {
                let (person_action, later) = (PersonAction::any(kind, &mut self.dice), self.dice.below(storm + 1));
                self.plan(at + later, Due::PersonAction(nth, person_action));
            }
        }
        for seat in 0..self.workforce.seats() {
            self.plan(0, Due::StartWorker(seat));
            for minute in 0..storm / 60_000 + 1 {
                let at = minute * 60_000 + self.dice.below(60_000);
                if self.dice.happens(fault_rates.process.crash_any_time) {
                    self.plan(at, Due::Kill(seat));
                }
                if self.dice.happens(fault_rates.process.terminate) {
                    self.plan(at, Due::Terminate(seat));
                }
            }
        }
        if self.dice.happens(150) && fault_rates.commands > 0 {
            let at = self.dice.below(storm + 1);
            self.plan(at, Due::Revoke);
        }
        for _ in 0..self.dice.below(40) {
            let at = self.dice.below(storm + 1);
            self.plan(at, Due::EditPage);
        }
        self.plan(storm, Due::Calm);
    }

    async fn storm(&mut self, deaths: &mut mpsc::UnboundedReceiver<String>) {
        while let Some(((at, _), due)) = self.agenda.pop_first() {
            let wait = Duration::from_millis(at.saturating_sub(self.shared.witness.now_ms()));
            tokio::select! {
                biased;
                Some(name) = deaths.recv() => {
                    self.plan(at, due);
                    self.remove_dead(&name);
                }
                () = tokio::time::sleep(wait) => match due {
                    Due::Calm => break,
                    due => self.happen(due).await,
                },
            }
        }
    }

    fn remove_dead(&mut self, name: &str) {
        if let Some(seat) = self.workforce.remove_dead(name) {
            let at = self.shared.witness.now_ms() + self.dice.below(40_000);
            self.plan(at, Due::StartWorker(seat));
        }
    }

    async fn happen(&mut self, due: Due) {
        match due {
            Due::Start(nth) => self.start(nth),
            Due::PersonAction(nth, person_action) => self.person_action(nth, person_action),
            Due::Kill(seat) => self.workforce.kill(seat),
            Due::StartWorker(seat) => self.workforce.start_worker(seat),
            Due::Terminate(seat) => {
                if let Some(leaving) = self.workforce.terminate(seat) {
                    self.people.spawn(async move { drop(leaving.await) });
                    let at = self.shared.witness.now_ms() + self.dice.below(30_000);
                    self.plan(at, Due::StartWorker(seat));
                }
            }
            Due::Revoke => self.revoke().await,
            Due::EditPage => self.edit_page().await,
            Due::Calm => {}
        }
    }

    /// The process that creates the run may die before it exists; then there is none.
    fn start(&mut self, nth: usize) {
        let PlannedRun { id, brief, .. } = self.planned_runs[nth].clone();
        let commands = self.shared.detached_commands(format!("starter-{nth}"));
        let (owner, witness) = (Actor::Person(self.fixtures.owner), self.shared.witness.clone());
        self.people.spawn(async move {
            let created = tokio::time::timeout(Duration::from_secs(30), commands.create(id, brief, owner)).await;
            witness.note(format_args!(
                "run {id} was asked for: {:?}",
                created.map(|created| created.map(|row| row.status))
            ));
        });
    }

    fn person_action(&mut self, nth: usize, person_action: PersonAction) {
        self.actions_taken += 1;
        let number = self.actions_taken;
        let seat = self.dice.below(self.workforce.seats() as u64 + 1) as usize;
        let commands =
            self.workforce.commands(seat).unwrap_or_else(|| self.shared.detached_commands(format!("person-{number}")));
        let person = Person { id: self.fixtures.owner, witness: self.shared.witness.clone() };
        let run = self.planned_runs[nth].id;
        // A process that dies sends no reply, so the person gives up.
        let wished = async move { person.person_action(commands, run, person_action, number).await };
        self.people.spawn(async move { drop(tokio::time::timeout(Duration::from_secs(60), wished).await) });
    }

    async fn revoke(&mut self) {
        let (project, owner) = (self.fixtures.projects[1], self.fixtures.owner);
        if self.shared.store.revoke(project, owner).await.is_ok() {
            let now = self.shared.witness.now_ms();
            self.shared.witness.note(format_args!("the owner leaves the second project"));
            self.shared.witness.record().revoked.push((now, project));
        }
    }

    /// A person edits the page that runs append to.
    async fn edit_page(&mut self) {
        let id = self.fixtures.shared_page;
        let Ok(Some(page)) = self.shared.store.document(&Scope::Platform, id).await else { return };
        let content = Some(format!("{}\nedited by hand", page.content));
        let mutation =
            Mutation::UpdateDocument { id, expected_version: Some(page.version), title: None, content, props: None };
        let changes = vec![Change { mutation, actor: Actor::Person(self.fixtures.owner), seq: 0 }];
        if self.shared.store.change(changes.clone()).await.is_ok() {
            self.shared.witness.changed(&changes);
        }
    }

    fn end(self, provider: &Provider) -> FinishedWorld {
        let trace_hash = self.shared.witness.trace_hash();
        FinishedWorld {
            setup: self.setup,
            fixtures: self.fixtures,
            store: self.shared.store.clone(),
            planned_runs: self.planned_runs,
            record: std::mem::take(&mut *self.shared.witness.record()),
            bill: provider.bill(),
            appends: self.shared.faults.appends(),
            trace_hash,
            virtual_ms: self.shared.witness.now_ms(),
        }
    }
}
