//! The worker, performer and store as the server assembles them, with many runs at once. Only the model is not the
//! product's.

use crate::Options;
use crate::meter::own_cpu;
use crate::model::{InstantModel, Workload};
use effects::performer::EffectsPerformer;
use effects::tools::{Registry, Toolboxes};
use engine::actor::Actor;
use engine::budget::Budgets;
use engine::event::{Event, StoredEvent};
use engine::facts::run::Queued;
use engine::ids::{self, ActorId, RunId};
use engine::model::{ModelSpec, Models, Price};
use engine::run::{Kind, ScopeKind, Status};
use engine::time::Timestamp;
use engine::workspace::Scope;
use futures::StreamExt;
use runtime::ports::{Clock, LOCAL_HANDLE, Library, Log, RunFilter};
use runtime::{ClaimPolicy, RunCommands, Worker, WorkerConfig};
use simulation::checks::fold::replay;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::SqlStore;
use tokio::sync::{broadcast, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const LEASE: Duration = Duration::from_secs(10);
/// The default of `--workers`.
const SLOTS: usize = 64;

pub struct Wall;

impl Clock for Wall {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(since.as_millis() as i64)
    }
}

pub struct BenchServer {
    pub models: Arc<InstantModel>,
    store: Arc<SqlStore>,
    commands: RunCommands,
    owner: ActorId,
    stop: CancellationToken,
    serving: tokio::sync::Mutex<Option<JoinHandle<()>>>,
    created: AtomicU64,
    ended: Arc<EndWaiters>,
}

/// The waiters for the end of each run. One listener serves all of them. A listener for each of a hundred runs would
/// wake up for every event of every run, and its cost would be measured as the product's.
#[derive(Default)]
struct EndWaiters(Mutex<HashMap<RunId, oneshot::Sender<()>>>);

impl EndWaiters {
    fn expect(&self, run: RunId) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        self.waiting().insert(run, sender);
        receiver
    }

    async fn listen(&self, mut events: broadcast::Receiver<Arc<Event>>) {
        loop {
            match events.recv().await {
                Ok(event) if event.kind() == "run.queued" => {}
                Ok(event) => drop(self.waiting().remove(&event.run_id)),
                // Events were missed: wake all waiters, and each checks its own run.
                Err(broadcast::error::RecvError::Lagged(_)) => self.waiting().clear(),
                Err(broadcast::error::RecvError::Closed) => return,
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<RunId, oneshot::Sender<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BenchServer {
    pub(super) async fn open(options: &Options, workload: Workload) -> Result<BenchServer, String> {
        let text = |error: runtime::ports::StoreError| error.to_string();
        let store = options.open_store().await?;
        let owner = store.actor(LOCAL_HANDLE).await.map_err(text)?.ok_or("there is no local person")?.id;
        let models = Arc::new(InstantModel::new(workload));
        let performer = EffectsPerformer {
            library: store.clone(),
            registry: Registry::builtin(),
            toolboxes: Toolboxes::default(),
            task_tools: Arc::new(pages::PageTools::new(store.clone())),
            models: models.clone(),
            live: Default::default(),
        };
        let config = WorkerConfig {
            id: format!("bench-{}", std::process::id()),
            slots: SLOTS.max(options.at_once),
            lease: LEASE,
            claims: ClaimPolicy::AnyRun,
            shared: options.database.starts_with("postgres"),
        };
        let worker = Worker::new(store.clone(), Arc::new(performer), Arc::new(Wall), config);
        let (commands, stop) = (worker.commands(), CancellationToken::new());
        let (ended, events) = (Arc::<EndWaiters>::default(), commands.live().lifecycle());
        let waiting = ended.clone();
        tokio::spawn(async move { waiting.listen(events).await });
        let serving = tokio::spawn(worker.serve(stop.clone()));
        let serving = tokio::sync::Mutex::new(Some(serving));
        Ok(BenchServer { models, store, commands, owner, stop, serving, created: AtomicU64::new(0), ended })
    }

    /// Runs `runs` runs, at most `at_once` of them at a time. Returns the number of events that they appended.
    pub async fn run_many(self: &Arc<BenchServer>, runs: usize, at_once: usize) -> Result<u64, String> {
        let one = |_| {
            let server = self.clone();
            async move { tokio::spawn(async move { server.run_one().await }).await.map_err(|error| error.to_string())? }
        };
        let ended: Vec<Result<u64, String>> =
            futures::stream::iter(0..runs).map(one).buffer_unordered(at_once).collect().await;
        ended.into_iter().sum()
    }

    async fn run_one(&self) -> Result<u64, String> {
        let text = |error: runtime::CommandError| error.to_string();
        let now = Wall.now();
        let nth = self.created.fetch_add(1, Ordering::Relaxed);
        let id = RunId(ids::derive(now, &[&std::process::id().to_le_bytes(), &nth.to_le_bytes()]));
        let ended = self.ended.expect(id);
        self.commands.create(id, self.brief(id), Actor::Person(self.owner)).await.map_err(text)?;
        let _ = ended.await;
        let row = self.commands.settled(id).await.map_err(text)?;
        let made = row.metrics.llm_calls as usize;
        match row.status {
            Status::Completed if made == self.models.workload().calls() => Ok(row.last_seq),
            status => Err(format!("run {id} is {} after {made} calls: {:?}", status.name(), row.stop_detail)),
        }
    }

    fn brief(&self, id: RunId) -> Queued {
        let brief = brief(id, self.owner);
        match self.models.workload() {
            Workload::Homework(_) => brief,
            Workload::Tree(shape) => Queued { kind: Kind::Tree, budgets: shape.budgets(), ..brief },
        }
    }

    /// Processor time in microseconds to decode and fold one event, measured on the last run.
    pub async fn fold_us_event(&self) -> Result<f64, String> {
        let text = |error: runtime::ports::StoreError| error.to_string();
        let filter = RunFilter { limit: 1, ..RunFilter::default() };
        let newest = self.store.runs(&Scope::Platform, filter).await.map_err(text)?;
        let run = newest.first().ok_or("there is no run to fold")?.id;
        let stored = self.store.events(run, 0, usize::MAX >> 1).await.map_err(text)?;
        let (count, began) = (stored.len(), own_cpu());
        let events: Vec<Event> = stored.into_iter().map(StoredEvent::decode).collect();
        replay(&events, |_, _| ()).ok_or("the log does not fold")?;
        Ok((own_cpu() - began) * 1e6 / count as f64)
    }

    pub async fn close(&self) {
        self.stop.cancel();
        if let Some(serving) = self.serving.lock().await.take() {
            let _ = serving.await;
        }
    }
}

/// The brief of a homework run on the model of the benchmark.
pub fn brief(id: RunId, owner: ActorId) -> Queued {
    let model = ModelSpec {
        provider: "bench".into(),
        model: "instant".into(),
        context_window: 128_000,
        max_output: 2_048,
        price: Some(Price::FREE),
    };
    Queued {
        kind: Kind::Homework,
        objective: "Plan a vegetable garden for a family of four on 60 square metres".into(),
        scope: ScopeKind::Global,
        project_ids: Vec::new(),
        success_criteria: Vec::new(),
        tools: Registry::builtin().catalogue(),
        budgets: Budgets { max_iterations: u32::MAX, ..Budgets::default() },
        models: Models::uniform(model),
        owner,
        workspace_project_id: ids::derive(Wall.now(), &[id.0.as_bytes()]).into(),
        warnings: Vec::new(),
        tool_lists: Vec::new(),
        agent: None,
        agents: Vec::new(),
        own_workspace: false,
        no_verify: false,
    }
}
