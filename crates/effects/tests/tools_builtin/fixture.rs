//! Two people, three projects and one run. Every call is an effect of its own, and its changes are committed.

use effects::tools::Registry;
use engine::actor::{Actor, ActorKind};
use engine::effect::{EffectId, RunContext, ToolCall, ToolOutcome};
use engine::ids::{ActorId, DocumentId, ProjectId, RunId};
use engine::time::Timestamp;
use engine::workspace::{ActorRecord, Change, Document, Edge, Mutation, Scope};
use runtime::ports::{Clock, EdgeFilter, Library, Slice};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use store::SqlStore;
use uuid::Uuid;

const NOW: i64 = 1_790_000_000_000;

/// Each reading is a millisecond later than the last, so that "newest first" has an order.
struct TickingClock(AtomicI64);

impl Clock for TickingClock {
    fn now(&self) -> Timestamp {
        Timestamp(NOW + self.0.fetch_add(1, Ordering::Relaxed))
    }
}

pub(crate) struct Fixture {
    pub store: Arc<SqlStore>,
    pub registry: Registry,
    pub run: RunContext,
    pub owner: ActorId,
    /// The run's project, another project of the owner, and one of another person.
    pub home: ProjectId,
    pub second: ProjectId,
    pub foreign: ProjectId,
    /// The platform's own workspace document in the run's project.
    pub workspace: DocumentId,
    pub granted: Vec<String>,
    calls: AtomicU32,
}

fn id<T: From<Uuid>>(number: u128) -> T {
    Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 + number).into()
}

fn project(project: ProjectId, title: &str, owner: ActorId) -> Mutation {
    Mutation::CreateProject { id: project, title: title.into(), description: String::new(), props: json!({}), owner }
}

impl Fixture {
    /// A run bound to its home project.
    pub(crate) async fn bound() -> Fixture {
        let mut fixture = Fixture::global().await;
        fixture.run.scope = Scope::Within(fixture.owner, vec![fixture.home]);
        fixture
    }

    /// A run that may use all of its owner's projects.
    pub(crate) async fn global() -> Fixture {
        let store =
            store::open_inline(None, Arc::new(TickingClock(AtomicI64::new(0)))).await.expect("a database in memory");
        let (owner, other): (ActorId, ActorId) = (id(1), id(2));
        for (actor, handle) in [(owner, "owner"), (other, "other")] {
            let (handle, name) = (handle.to_owned(), handle.to_owned());
            let record = ActorRecord { id: actor, kind: ActorKind::Person, handle, name, created_at: Timestamp(NOW) };
            store.create_actor(record).await.expect("actor");
        }
        let (home, second, foreign): (ProjectId, ProjectId, ProjectId) = (id(11), id(12), id(13));
        let (workspace, run_id): (DocumentId, RunId) = (id(21), id(31));
        let registry = Registry::builtin();
        let granted = registry.list().iter().map(|action| action.name.to_owned()).collect();
        let run = RunContext {
            run_id,
            scope: Scope::Actor(owner),
            home_project: home,
            projects: Vec::new(),
            tainted: false,
            now: Timestamp(NOW),
        };
        let fixture = Fixture {
            store,
            registry,
            run,
            owner,
            home,
            second,
            foreign,
            workspace,
            granted,
            calls: AtomicU32::new(0),
        };
        fixture
            .commit(vec![
                project(home, "Home", owner),
                project(second, "Second", owner),
                project(foreign, "Foreign", other),
            ])
            .await;
        fixture.platform_document(workspace, "document.homework.workspace", "workspace").await;
        fixture
    }

    pub(crate) async fn platform_document(&self, document: DocumentId, type_key: &str, role: &str) {
        let props = json!({"homework_run_id": self.run.run_id, "doc_role": role});
        let (title, content) = (format!("Platform {role}"), "secret ledger of the platform".to_owned());
        let create = Mutation::CreateDocument {
            id: document,
            project_id: self.home,
            title,
            type_key: type_key.into(),
            content,
            props,
        };
        self.commit(vec![create]).await;
    }

    /// A document that was written outside any run.
    pub(crate) async fn document_in(
        &self,
        project_id: ProjectId,
        number: u128,
        title: &str,
        content: &str,
    ) -> DocumentId {
        let document = id(100 + number);
        let (title, content, type_key) = (title.to_owned(), content.to_owned(), "document.note".to_owned());
        self.commit(vec![Mutation::CreateDocument {
            id: document,
            project_id,
            title,
            type_key,
            content,
            props: json!({}),
        }])
        .await;
        document
    }

    pub(crate) async fn commit(&self, mutations: Vec<Mutation>) {
        let change = |mutation| Change { mutation, actor: Actor::Person(self.owner), seq: 0 };
        self.store.change(mutations.into_iter().map(change).collect()).await.expect("the changes fit");
    }

    pub(crate) fn request(&self, tool: &str, arguments: Value) -> ToolCall {
        ToolCall {
            tool: tool.into(),
            arguments,
            granted: self.granted.clone(),
            home_document: Some(self.workspace),
            props: json!({"homework_run_id": self.run.run_id, "iteration": 3}),
            external: None,
            answered: None,
            agent: None,
        }
    }

    /// The outcome alone; nothing is committed.
    pub(crate) async fn outcome(&self, tool: &str, arguments: Value) -> ToolOutcome {
        let effect = EffectId(format!("i1.t{}", self.calls.fetch_add(1, Ordering::Relaxed)));
        self.registry
            .call(&*self.store, &self.run, &self.request(tool, arguments), &effect)
            .await
            .expect("the store answers")
    }

    /// The content of a call that succeeds, after its changes were committed.
    pub(crate) async fn done(&self, tool: &str, arguments: Value) -> Value {
        let outcome = self.outcome(tool, arguments).await;
        let output = outcome.result.unwrap_or_else(|error| panic!("{tool} failed: {error}"));
        assert!(output.summary.chars().count() <= 200 && !output.summary.contains('\n'), "{:?}", output.summary);
        self.commit(outcome.mutations).await;
        output.content
    }

    pub(crate) async fn error(&self, tool: &str, arguments: Value) -> String {
        let outcome = self.outcome(tool, arguments).await;
        assert!(outcome.mutations.is_empty(), "a refused call asks for no changes");
        outcome.result.expect_err("the call is refused")
    }

    pub(crate) async fn document(&self, document: &Value) -> Document {
        let document = document.as_str().and_then(|id| id.parse().ok()).expect("an id");
        self.store.document(&Scope::Platform, document).await.expect("readable").expect("exists")
    }

    pub(crate) async fn edges_to(&self, dst: &Value) -> Vec<Edge> {
        let dst = dst.as_str().and_then(|id| id.parse().ok());
        self.store
            .edges(&Scope::Platform, EdgeFilter { dst, ..EdgeFilter::default() }, Slice::first(1_000))
            .await
            .expect("readable")
    }
}
