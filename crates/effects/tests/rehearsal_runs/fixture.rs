//! One process on an in-memory database with one run of the rehearsal model: the real engine, driver and tools.

use effects::performer::EffectsPerformer;
use effects::rehearsal::{PROVIDER, RehearsalModels};
use effects::tools::{Registry, Toolboxes};
use engine::actor::Actor;
use engine::batch::RunRow;
use engine::budget::Budgets;
use engine::facts::run::Queued;
use engine::ids::{ActorId, ProjectId, RunId};
use engine::model::{ModelSpec, Models, Price};
use engine::run::{Command, Criterion, Kind, ScopeKind};
use engine::time::Timestamp;
use engine::workspace::{Document, Scope};
use runtime::ports::{Clock, DocumentFilter, LOCAL_HANDLE, Library, Log};
use runtime::{ClaimPolicy, RunCommands, Worker, WorkerConfig};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::SqlStore;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// One process with one run, which is driven when a test waits for it.
pub(crate) struct Fixture {
    pub store: Arc<SqlStore>,
    commands: RunCommands,
    owner: ActorId,
    worker: Option<Worker>,
    closing: CancellationToken,
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

pub(crate) const RUN: RunId = RunId(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0001));

impl Fixture {
    pub(crate) async fn with(objective: &str, criteria: &[&str], tools: &[&str]) -> Fixture {
        Fixture::with_brief(|owner| brief(objective, criteria, tools, owner)).await
    }

    /// A run with its own brief.
    pub(crate) async fn with_brief(brief: impl FnOnce(ActorId) -> Queued) -> Fixture {
        let store = store::open_inline(None, Arc::new(WallClock)).await.expect("a database in memory");
        let owner = store.actor(LOCAL_HANDLE).await.expect("readable").expect("there is a local person").id;
        let performer = EffectsPerformer {
            library: store.clone(),
            registry: Registry::builtin(),
            toolboxes: Toolboxes::default(),
            task_tools: Arc::new(pages::PageTools::new(store.clone())),
            models: Arc::new(RehearsalModels::default()),
            live: Default::default(),
        };
        let lease = Duration::from_secs(10);
        let config = WorkerConfig { id: "test".into(), slots: 4, lease, claims: ClaimPolicy::AnyRun, shared: false };
        let worker = Worker::new(store.clone(), Arc::new(performer), Arc::new(WallClock), config);
        let commands = worker.commands();
        commands.create(RUN, brief(owner), Actor::Person(owner)).await.expect("the run is taken");
        Fixture { store, commands, owner, worker: Some(worker), closing: CancellationToken::new() }
    }

    pub(crate) async fn settled(&mut self) -> RunRow {
        if let Some(worker) = self.worker.take() {
            tokio::spawn(worker.serve(self.closing.clone()));
        }
        tokio::time::timeout(Duration::from_secs(20), self.commands.settled(RUN))
            .await
            .expect("in time")
            .expect("settles")
    }

    pub(crate) async fn command(&self, command: Command) {
        self.commands.command(RUN, command, Actor::Person(self.owner)).await.expect("the command is taken");
    }

    /// The documents of the run, without the platform's own.
    pub(crate) async fn pages(&self) -> Vec<Document> {
        let filter = DocumentFilter { limit: 50, ..DocumentFilter::default() };
        let listed = self.store.documents(&Scope::Platform, filter).await.expect("readable");
        let mut pages = Vec::new();
        for document in listed {
            pages.extend(self.store.document(&Scope::Platform, document.id).await.expect("readable"));
        }
        pages
    }

    pub(crate) async fn events(&self) -> Vec<(String, String)> {
        let events = self.store.events(RUN, 0, 10_000).await.expect("readable");
        events.into_iter().map(|event| (event.kind, event.payload)).collect()
    }
}

pub(crate) fn brief(objective: &str, criteria: &[&str], tools: &[&str], owner: ActorId) -> Queued {
    let model = ModelSpec {
        provider: PROVIDER.into(),
        model: "default".into(),
        context_window: 128_000,
        max_output: 8_192,
        price: Some(Price::FREE),
    };
    let catalogue = Registry::builtin().catalogue().into_iter();
    Queued {
        kind: Kind::Homework,
        objective: objective.into(),
        scope: ScopeKind::Global,
        project_ids: Vec::new(),
        success_criteria: Criterion::number(criteria.iter().map(|text| (*text).to_owned())),
        tools: catalogue.filter(|tool| tools.is_empty() || tools.contains(&tool.name.as_str())).collect(),
        budgets: Budgets::default(),
        models: Models::uniform(model),
        owner,
        workspace_project_id: ProjectId(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0002)),
        warnings: Vec::new(),
        tool_lists: Vec::new(),
        agent: None,
        agents: Vec::new(),
        own_workspace: false,
        no_verify: false,
    }
}
