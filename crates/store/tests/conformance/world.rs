//! Stores to test, and runs to put into them. Every test has a new store of its own.

use engine::actor::Actor;
use engine::budget::Budgets;
use engine::facts::run::Queued;
use engine::ids::{self, ActorId, DocumentId, ProjectId, RunId, TaskId};
use engine::model::{ModelSpec, Models, Price};
use engine::projection;
use engine::run::{Command, Kind, Lane, Run, ScopeKind};
use engine::time::Timestamp;
use engine::workspace::{Change, Mutation, Scope};
use runtime::ports::{Append, AppendError, Clock, LOCAL_HANDLE, Lease, Library, Log};
use serde_json::{Value, json};
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;
use store::{Options, SqlStore};

pub struct TestClock(AtomicI64);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        now()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Sqlite,
    Inline,
    Postgres,
}

/// The database of a store, so that a test can read its rows with plain SQL.
#[derive(Clone)]
pub enum Place {
    File(PathBuf),
    Database(String),
}

#[derive(Clone)]
pub struct World {
    pub store: Arc<SqlStore>,
    pub place: Place,
    clock: Option<Arc<TestClock>>,
    pub me: ActorId,
}

/// Runs one promise on a new store, and deletes the store even when the test fails.
pub async fn check<F: Future<Output = ()> + Send + 'static>(backend: Backend, promise: fn(World) -> F) {
    let clock = Arc::new(TestClock(AtomicI64::new(1_790_000_000_000)));
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("pleach.db");
    match backend {
        Backend::Sqlite => {
            let sql =
                store::open(&format!("sqlite://{}", file.display()), Options::default()).await.expect("SQLite opens");
            promise(World::around(sql, Place::File(file), None).await).await;
        }
        Backend::Inline => {
            let sql = store::open_inline(Some(&file), clock.clone()).await.expect("SQLite opens inline");
            promise(World::around(sql, Place::File(file), Some(clock)).await).await;
        }
        Backend::Postgres => {
            let database = Database::create().await;
            let sql =
                store::open(&database.url, Options { direct_url: Some(database.url.clone()), ..Options::default() })
                    .await
                    .expect("PostgreSQL opens");
            let world = World::around(sql, Place::Database(database.url.clone()), None).await;
            let outcome = tokio::spawn(promise(world)).await;
            database.drop().await;
            outcome.expect("the promise holds");
        }
    }
}

/// A new database on the PostgreSQL server of the tests.
pub struct Database {
    pub url: String,
    name: String,
    server: String,
}

impl Database {
    pub async fn create() -> Database {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let server = std::env::var("PLEACH_TEST_POSTGRES").expect(
            "PLEACH_TEST_POSTGRES must name a PostgreSQL server for these tests; `./test` starts one and sets it",
        );
        let name = format!("pleach_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        execute(&server, &format!("CREATE DATABASE {name}")).await;
        let (base, _) = server.rsplit_once('/').expect("a URL with a database");
        Database { url: format!("{base}/{name}"), name, server }
    }

    pub async fn drop(self) {
        execute(&self.server, &format!("DROP DATABASE {} WITH (FORCE)", self.name)).await;
    }
}

pub async fn client(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.expect("the server answers");
    tokio::spawn(connection);
    client
}

pub async fn execute(url: &str, sql: &str) {
    client(url).await.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
}

impl World {
    async fn around(store: Arc<SqlStore>, place: Place, clock: Option<Arc<TestClock>>) -> World {
        let me = store.actor(LOCAL_HANDLE).await.expect("actors").expect("the local person").id;
        World { store, place, clock, me }
    }

    /// Lets time pass on the database's clock.
    pub async fn pass(&self, duration: Duration) {
        match &self.clock {
            Some(clock) => drop(clock.0.fetch_add(duration.as_millis() as i64, Ordering::SeqCst)),
            None => tokio::time::sleep(duration).await,
        }
    }

    /// Sets the database's clock, where the test controls it.
    pub fn set_clock(&self, by_ms: i64) {
        if let Some(clock) = &self.clock {
            clock.0.fetch_add(by_ms, Ordering::SeqCst);
        }
    }

    /// The time by the database's clock.
    pub fn now(&self) -> Timestamp {
        self.wall().now()
    }

    pub fn wall(&self) -> Arc<dyn Clock> {
        match &self.clock {
            Some(clock) => clock.clone(),
            None => Arc::new(WallClock),
        }
    }

    pub fn mine(&self) -> Scope {
        Scope::Actor(self.me)
    }

    pub fn actor(&self) -> Actor {
        Actor::Person(self.me)
    }

    /// A project of the local person, made outside any run.
    pub async fn project(&self, title: &str) -> ProjectId {
        let id = fresh();
        let mutation = Mutation::CreateProject {
            id,
            title: title.into(),
            description: String::new(),
            props: json!({}),
            owner: self.me,
        };
        self.change(mutation).await.expect("a project");
        id
    }

    pub async fn change(&self, mutation: Mutation) -> Result<(), AppendError> {
        self.store.change(vec![Change { mutation, actor: self.actor(), seq: 0 }]).await
    }

    /// A stored run of the local person that waits for a driver.
    pub async fn queued(&self, projects: &[ProjectId]) -> Run {
        let (run, append) = self.created(projects, None);
        self.store.append(append).await.expect("a new run");
        run
    }

    /// The same, with the given brief.
    pub async fn queued_as(&self, brief: Queued) -> Run {
        let mut run = Run::create(fresh(), brief, self.actor(), now()).expect("a run");
        self.store.append(drafted(&mut run, None)).await.expect("a new run");
        run
    }

    pub fn created(&self, projects: &[ProjectId], claim_for: Option<&str>) -> (Run, Append) {
        let mut run = Run::create(fresh(), brief(self.me, projects), self.actor(), now()).expect("a run");
        let mut append = drafted(&mut run, None);
        append.claim_for = claim_for.map(str::to_owned);
        (run, append)
    }

    /// An append of one event that does not come from the driver.
    pub fn said(&self, run: &mut Run, text: &str) -> Append {
        run.command(Command::Say { text: text.into(), node: None, lane: Lane::Queue }, self.actor(), now())
            .expect("said");
        drafted(run, None)
    }

    pub fn commanded(&self, run: &mut Run, command: Command) -> Append {
        run.command(command, self.actor(), now()).expect("a command that is allowed");
        drafted(run, None)
    }

    /// One more event that carries workspace changes.
    pub fn with(&self, run: &mut Run, mutations: Vec<Mutation>) -> Append {
        let mut append = self.said(run, "with changes");
        let seq = append.batch.events.last().expect("an event").seq;
        append.batch.changes =
            mutations.into_iter().map(|mutation| Change { mutation, actor: Actor::Platform, seq }).collect();
        append
    }

    pub async fn claim_one(&self, worker: &str, run: &Run) -> Lease {
        let claimed = self.store.claim(worker, 1, LONG, Some(run.shared.id), &[]).await.expect("claim");
        claimed.into_iter().next().expect("one run to claim").lease
    }
}

pub const LONG: Duration = Duration::from_secs(60);
pub const SHORT: Duration = Duration::from_millis(400);

/// The pending events of a run as one append.
pub fn drafted(run: &mut Run, fence: Option<Lease>) -> Append {
    let batch = run.take_batch();
    let rows = projection::rows(run, &batch.events);
    Append { batch, rows, fence, claim_for: None }
}

pub fn fenced(append: Append, lease: &Lease) -> Append {
    Append { fence: Some(lease.clone()), ..append }
}

pub fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock after 1970");
    Timestamp(since.as_millis() as i64)
}

/// Ids in rising order, like UUIDs of version 7.
pub fn fresh<T: From<uuid::Uuid>>() -> T {
    static NUMBER: AtomicI64 = AtomicI64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    ids::derive(Timestamp(1_780_000_000_000 + number), &[b"test"]).into()
}

pub fn brief(owner: ActorId, projects: &[ProjectId]) -> Queued {
    let price = Some(Price::FREE);
    let spec = ModelSpec {
        provider: "rehearsal".into(),
        model: "default".into(),
        context_window: 128_000,
        max_output: 8_192,
        price,
    };
    let value = json!({
        "kind": Kind::Homework,
        "objective": "Compare three suppliers of oak",
        "scope": if projects.is_empty() { ScopeKind::Global } else { ScopeKind::Project },
        "projectIds": projects,
        "successCriteria": [],
        "tools": [],
        "budgets": Budgets::default(),
        "models": Models::uniform(spec),
        "owner": owner,
        "workspaceProjectId": projects.first().copied().unwrap_or_else(fresh::<ProjectId>),
    });
    serde_json::from_value(value).expect("a brief")
}

pub fn document(project_id: ProjectId, title: &str, content: &str) -> (DocumentId, Mutation) {
    let id = fresh();
    (id, document_as(id, project_id, title, content, json!({})))
}

pub fn document_as(id: DocumentId, project_id: ProjectId, title: &str, content: &str, props: Value) -> Mutation {
    Mutation::CreateDocument {
        id,
        project_id,
        title: title.into(),
        type_key: "document.note".into(),
        content: content.into(),
        props,
    }
}

pub fn rewrite(id: DocumentId, expected_version: Option<i64>, content: &str) -> Mutation {
    Mutation::UpdateDocument { id, expected_version, title: None, content: Some(content.into()), props: None }
}

pub fn link(project_id: ProjectId, src: uuid::Uuid, dst: uuid::Uuid) -> Mutation {
    Mutation::Link { id: fresh(), project_id, src, dst, rel: "cites".into(), props: json!({}) }
}

pub fn task(project_id: ProjectId, title: &str, description: &str) -> (TaskId, Mutation) {
    let id = fresh();
    let state = engine::workspace::TaskState::Todo;
    (
        id,
        Mutation::CreateTask {
            id,
            project_id,
            title: title.into(),
            description: description.into(),
            state,
            props: json!({}),
        },
    )
}

pub fn run_id(run: &Run) -> RunId {
    run.shared.id
}
