//! A store in memory on tokio's clock, runs to drive, and one process that drives them.

use crate::faulty_log::FaultyLog;
use crate::performer::{PATIENCE, Scripted};
use engine::actor::Actor;
use engine::batch::RunRow;
use engine::budget::Budgets;
use engine::effect::ToolSpec;
use engine::facts::run::Queued;
use engine::ids::{self, ActorId, ProjectId, RunId};
use engine::model::{ModelSpec, Models, Price};
use engine::run::{Command, Kind, Lane, ScopeKind};
use engine::time::Timestamp;
use runtime::ports::{Clock, LOCAL_HANDLE, Library, Log};
use runtime::{ClaimPolicy, RunCommands, Worker, WorkerConfig};
use std::sync::Arc;
use std::time::Duration;
use store::SqlStore;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub const LEASE: Duration = Duration::from_secs(60);

struct TokioClock(Instant);

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        Timestamp(1_790_000_000_000 + self.0.elapsed().as_millis() as i64)
    }
}

pub struct Fixture {
    pub store: Arc<SqlStore>,
    /// The store as the process under test reaches it.
    pub log: Arc<FaultyLog>,
    pub owner: ActorId,
    clock: Arc<dyn Clock>,
}

/// A worker that serves until it is stopped.
pub struct Process {
    pub commands: RunCommands,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

impl Process {
    pub async fn settled(&self, run: RunId) -> RunRow {
        let settled = tokio::time::timeout(PATIENCE, self.commands.settled(run));
        settled.await.expect("the run settles in time").expect("readable")
    }

    /// Asks the worker to stop and waits until it has given everything back.
    pub async fn stop(self) {
        self.stop.cancel();
        self.serving.await.expect("the worker ends by itself");
    }
}

impl Fixture {
    pub async fn new() -> Fixture {
        let clock: Arc<dyn Clock> = Arc::new(TokioClock(Instant::now()));
        let store = store::open_inline(None, clock.clone()).await.expect("a database in memory");
        let owner = store.actor(LOCAL_HANDLE).await.expect("readable").expect("the local person").id;
        Fixture { log: FaultyLog::over(store.clone()), store, owner, clock }
    }

    pub fn actor(&self) -> Actor {
        Actor::Person(self.owner)
    }

    /// A process that takes commands and drives nothing.
    pub fn commands(&self) -> RunCommands {
        RunCommands::new(self.log.clone(), self.clock.clone())
    }

    /// Another such process, whose log never fails.
    pub fn other_commands(&self) -> RunCommands {
        RunCommands::new(self.store.clone(), self.clock.clone())
    }

    pub fn serve(&self, performer: Arc<Scripted>, slots: usize) -> Process {
        let config = WorkerConfig { id: "here".into(), slots, lease: LEASE, claims: ClaimPolicy::AnyRun, shared: true };
        let worker = Worker::new(self.log.clone(), performer, self.clock.clone(), config);
        let (commands, stop) = (worker.commands(), CancellationToken::new());
        Process { commands, serving: tokio::spawn(worker.serve(stop.clone())), stop }
    }

    /// A stored run that waits for a driver. `number` makes its id.
    pub async fn queue(&self, kind: Kind, number: u8) -> RunId {
        let id = ids::derive(self.clock.now(), &[b"run", &[number]]).into();
        let created = self.other_commands().create(id, brief(kind, self.owner, number), self.actor()).await;
        created.expect("the run is taken");
        id
    }

    pub async fn kinds(&self, run: RunId) -> Vec<String> {
        let events = self.store.events(run, 0, 1_000).await.expect("readable");
        events.into_iter().map(|event| event.kind).collect()
    }

    /// The runs that another worker can take over now.
    pub async fn claim_elsewhere(&self) -> Vec<runtime::ports::Lease> {
        let claimed = self.store.claim("elsewhere", 10, LEASE, None, &[]).await.expect("readable");
        claimed.into_iter().map(|claimed| claimed.lease).collect()
    }
}

/// In virtual time: enough for every poll, renewal and retry to have had its turn.
pub async fn a_while() {
    tokio::time::sleep(Duration::from_secs(20)).await;
}

pub fn say(text: &str) -> Command {
    Command::Say { text: text.into(), node: None, lane: Lane::Queue }
}

fn brief(kind: Kind, owner: ActorId, number: u8) -> Queued {
    let model = ModelSpec {
        provider: "scripted".into(),
        model: "default".into(),
        context_window: 128_000,
        max_output: 8_192,
        price: Some(Price::FREE),
    };
    let rewrite = ToolSpec {
        name: "update_document".into(),
        arguments: "document_id".into(),
        description: "Rewrites a document".into(),
        read: false,
        external: None,
    };
    Queued {
        kind,
        objective: "Compare three suppliers of oak".into(),
        scope: ScopeKind::Global,
        project_ids: Vec::new(),
        success_criteria: Vec::new(),
        tools: vec![rewrite],
        budgets: Budgets::default(),
        models: Models::uniform(model),
        owner,
        workspace_project_id: ProjectId(ids::derive(Timestamp(1_790_000_000_000), &[b"workspace", &[number]])),
        warnings: Vec::new(),
        tool_lists: Vec::new(),
        agent: None,
        agents: Vec::new(),
        own_workspace: false,
        no_verify: false,
    }
}
