//! One world: real workers, desks, tools and store around a fake provider and impatient people, on a clock
//! that jumps. It lives through a storm of faults and a calm in which everything must come to rest.

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
use people::{Person, Wish};
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

/// Everything that makes one world different from another.
#[derive(Clone, Debug)]
pub struct Setup {
    pub seed: u64,
    pub kinds: Kinds,
    pub fault_rates: FaultRates,
    pub workers: usize,
    pub errands: u64,
    pub crash_at: Option<CrashAt>,
    pub keep_lines: bool,
}

impl Setup {
    pub fn of(seed: u64, kinds: Kinds) -> Setup {
        let mut dice = Dice::about(seed, "setup");
        let (workers, errands) = (dice.between(1, 3) as usize, dice.between(1, 4));
        Setup { seed, kinds, fault_rates: FaultRates::of(seed), workers, errands, crash_at: None, keep_lines: false }
    }
}

/// What is left when a world has ended.
pub struct Lived {
    pub setup: Setup,
    pub fixtures: Fixtures,
    pub store: Arc<SqlStore>,
    pub errands: Vec<PlannedRun>,
    pub record: Record,
    pub bill: Vec<Request>,
    pub appends: u64,
    pub trace_hash: u64,
    pub virtual_ms: u64,
}

/// Something that will happen at its time.
#[derive(Clone, Debug)]
enum Due {
    Start(usize),
    Wish(usize, Wish),
    Kill(usize),
    Terminate(usize),
    Hire(usize),
    Revoke,
    EditPage,
    Calm,
}

struct World {
    setup: Setup,
    ground: SharedWorld,
    fixtures: Fixtures,
    errands: Vec<PlannedRun>,
    workforce: Workforce,
    agenda: BTreeMap<(u64, u64), Due>,
    planned: u64,
    wishes: u64,
    people: JoinSet<()>,
    dice: Dice,
}

/// Live through one world. Only inside a paused, single-threaded runtime.
pub async fn live(setup: Setup) -> Lived {
    let clock = Arc::new(VirtualClock::start());
    let store = store::open_inline(None, clock.clone()).await.expect("a database in memory opens");
    let fixtures = Fixtures::settle(store.as_ref(), clock.now()).await;
    let errand = |nth| fixtures.errand(setup.seed, nth, setup.kinds.kind(setup.seed, nth), setup.fault_rates.storm_ms);
    let errands: Vec<PlannedRun> = (0..setup.errands).map(errand).collect();
    let faults = Arc::new(Faults::new(setup.seed, setup.fault_rates.clone(), setup.crash_at));
    let witness = Arc::new(Witness::new(clock.clone(), setup.keep_lines));
    witness.changed(&fixtures.first_changes());
    let minds = errands.iter().map(|errand| (errand.id, errand.fake_model.clone())).collect();
    let provider = Arc::new(Provider::new(setup.seed, faults.clone(), witness.clone(), minds));
    let (obituaries, mut deaths) = mpsc::unbounded_channel();
    let kind_store = setup.fault_rates.is_kind_to_stores();
    let ground = SharedWorld { clock, store, faults, witness, obituaries, kind_store };
    let workforce = Workforce::new(ground.clone(), provider.clone(), setup.workers);
    let dice = Dice::about(setup.seed, "world");
    let mut world = World {
        setup,
        ground,
        fixtures,
        errands,
        workforce,
        agenda: BTreeMap::new(),
        planned: 0,
        wishes: 0,
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
        let storm = fault_rates.storm_ms;
        for nth in 0..self.errands.len() {
            let (at, kind) = (self.errands[nth].at_ms, self.errands[nth].brief.kind);
            self.plan(at, Due::Start(nth));
            // A tree has more places to lay hands on.
            let most = if kind == Kind::Tree { fault_rates.commands * 3 } else { fault_rates.commands };
            for _ in 0..self.dice.below(most + 1) {
                let (wish, later) = (Wish::any(kind, &mut self.dice), self.dice.below(storm + 1));
                self.plan(at + later, Due::Wish(nth, wish));
            }
        }
        for seat in 0..self.workforce.seats() {
            self.plan(0, Due::Hire(seat));
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
            let wait = Duration::from_millis(at.saturating_sub(self.ground.witness.now_ms()));
            tokio::select! {
                biased;
                Some(name) = deaths.recv() => {
                    self.plan(at, due);
                    self.bury(&name);
                }
                () = tokio::time::sleep(wait) => match due {
                    Due::Calm => break,
                    due => self.happen(due).await,
                },
            }
        }
    }

    fn bury(&mut self, name: &str) {
        if let Some(seat) = self.workforce.bury(name) {
            let at = self.ground.witness.now_ms() + self.dice.below(40_000);
            self.plan(at, Due::Hire(seat));
        }
    }

    async fn happen(&mut self, due: Due) {
        match due {
            Due::Start(nth) => self.start(nth),
            Due::Wish(nth, wish) => self.wish(nth, wish),
            Due::Kill(seat) => self.workforce.kill(seat),
            Due::Hire(seat) => self.workforce.start_worker(seat),
            Due::Terminate(seat) => {
                if let Some(leaving) = self.workforce.terminate(seat) {
                    self.people.spawn(async move { drop(leaving.await) });
                    let at = self.ground.witness.now_ms() + self.dice.below(30_000);
                    self.plan(at, Due::Hire(seat));
                }
            }
            Due::Revoke => self.revoke().await,
            Due::EditPage => self.edit_page().await,
            Due::Calm => {}
        }
    }

    /// Whoever asks may die before the run exists; then there is none.
    fn start(&mut self, nth: usize) {
        let PlannedRun { id, brief, .. } = self.errands[nth].clone();
        let commands = self.ground.detached_commands(format!("starter-{nth}"));
        let (owner, witness) = (Actor::Person(self.fixtures.owner), self.ground.witness.clone());
        self.people.spawn(async move {
            let created = tokio::time::timeout(Duration::from_secs(30), commands.create(id, brief, owner)).await;
            witness.note(format_args!(
                "run {id} was asked for: {:?}",
                created.map(|created| created.map(|row| row.status))
            ));
        });
    }

    fn wish(&mut self, nth: usize, wish: Wish) {
        self.wishes += 1;
        let number = self.wishes;
        let seat = self.dice.below(self.workforce.seats() as u64 + 1) as usize;
        let commands =
            self.workforce.commands(seat).unwrap_or_else(|| self.ground.detached_commands(format!("person-{number}")));
        let person = Person { id: self.fixtures.owner, witness: self.ground.witness.clone() };
        let run = self.errands[nth].id;
        // Whoever asks a process that dies hears nothing, and gives up.
        let wished = async move { person.wish(commands, run, wish, number).await };
        self.people.spawn(async move { drop(tokio::time::timeout(Duration::from_secs(60), wished).await) });
    }

    async fn revoke(&mut self) {
        let (project, owner) = (self.fixtures.projects[1], self.fixtures.owner);
        if self.ground.store.revoke(project, owner).await.is_ok() {
            let now = self.ground.witness.now_ms();
            self.ground.witness.note(format_args!("the owner leaves the second project"));
            self.ground.witness.record().revoked.push((now, project));
        }
    }

    /// Somebody else writes on the page that runs append to.
    async fn edit_page(&mut self) {
        let id = self.fixtures.shared_page;
        let Ok(Some(page)) = self.ground.store.document(&Scope::Platform, id).await else { return };
        let content = Some(format!("{}\nedited by hand", page.content));
        let mutation =
            Mutation::UpdateDocument { id, expected_version: Some(page.version), title: None, content, props: None };
        let changes = vec![Change { mutation, actor: Actor::Person(self.fixtures.owner), seq: 0 }];
        if self.ground.store.change(changes.clone()).await.is_ok() {
            self.ground.witness.changed(&changes);
        }
    }

    fn end(self, provider: &Provider) -> Lived {
        let trace_hash = self.ground.witness.trace_hash();
        Lived {
            setup: self.setup,
            fixtures: self.fixtures,
            store: self.ground.store.clone(),
            errands: self.errands,
            record: std::mem::take(&mut *self.ground.witness.record()),
            bill: provider.bill(),
            appends: self.ground.faults.appends(),
            trace_hash,
            virtual_ms: self.ground.witness.now_ms(),
        }
    }
}
