//! What exists before the first run: people, projects, pages, and the briefs of the runs.

use crate::dice::Dice;
use crate::fake_models::FakeModel;
use effects::tools::Registry;
use engine::actor::{Actor, ActorKind};
use engine::budget::Budgets;
use engine::facts::run::{Agent, Queued};
use engine::ids::{self, ActorId, DocumentId, ProjectId, RunId};
use engine::member_role::MemberRole;
use engine::model::{ModelSpec, Models, Price};
use engine::money::Usd;
use engine::run::{Criterion, Kind, ScopeKind};
use engine::time::Timestamp;
use engine::workspace::{ActorRecord, Change, Mutation};
use runtime::agents::AgentRecord;
use runtime::ports::{LOCAL_HANDLE, Library};
use serde_json::json;
use store::SqlStore;

/// The owner's two projects, one of which others edit, and another person's project.
pub struct Fixtures {
    pub owner: ActorId,
    pub other_person: ActorId,
    pub projects: [ProjectId; 2],
    pub foreign_project: ProjectId,
    pub foreign_page: DocumentId,
    pub shared_page: DocumentId,
    /// A subagent of the owner's, in both projects.
    pub agent: AgentRecord,
}

/// One run to be started.
#[derive(Clone)]
pub struct PlannedRun {
    pub id: RunId,
    pub brief: Queued,
    pub fake_model: FakeModel,
    pub at_ms: u64,
}

impl Fixtures {
    pub async fn create(store: &SqlStore, now: Timestamp) -> Fixtures {
        let id = |name: &str| ids::derive(now, &[b"land", name.as_bytes()]);
        let owner = store
            .actor(LOCAL_HANDLE)
            .await
            .ok()
            .flatten()
            .map(|actor| actor.id)
            .expect("a fresh store has a local person");
        let other_person = ActorRecord {
            id: id("stranger").into(),
            kind: ActorKind::Person,
            handle: "stranger".into(),
            name: "S".into(),
            created_at: now,
        };
        let fixtures = Fixtures {
            owner,
            other_person: other_person.id,
            projects: [id("first").into(), id("second").into()],
            foreign_project: id("foreign").into(),
            foreign_page: id("foreign page").into(),
            shared_page: id("shared page").into(),
            agent: scout(id("scout").into(), owner, now),
        };
        store.create_actor(other_person).await.expect("a new person");
        store.change(fixtures.first_changes()).await.expect("the land is settled");
        store.create_agent(fixtures.agent.clone()).await.expect("a new subagent");
        for project in fixtures.projects {
            store.grant(project, fixtures.agent.id, MemberRole::Editor).await.expect("its project");
        }
        fixtures
    }

    pub fn first_changes(&self) -> Vec<Change> {
        let [first, second] = self.projects;
        let project = |id, owner| Mutation::CreateProject {
            id,
            title: "Project".into(),
            description: String::new(),
            props: json!({}),
            owner,
        };
        let page = |id, project_id| Mutation::CreateDocument {
            id,
            project_id,
            title: "Page".into(),
            type_key: "document.note".into(),
            content: "text from before".into(),
            props: json!({}),
        };
        let mutations = [
            project(first, self.owner),
            project(second, self.owner),
            project(self.foreign_project, self.other_person),
            page(self.foreign_page, self.foreign_project),
            page(self.shared_page, first),
        ];
        mutations.into_iter().map(|mutation| Change { mutation, actor: Actor::Person(self.owner), seq: 0 }).collect()
    }

    fn sent(&self, max_steps: u32) -> Agent {
        let AgentRecord { id, handle, identity, .. } = self.agent.clone();
        Agent { id, handle, identity, max_steps: Some(max_steps) }
    }

    pub fn planned_run(&self, seed: u64, nth: u64, kind: Kind, faults_end_after_ms: u64) -> PlannedRun {
        let mut dice = Dice::about(seed, &format!("errand {nth}"));
        let id: RunId = ids::derive(Timestamp(1_793_491_200_000), &[&seed.to_le_bytes(), &nth.to_le_bytes()]).into();
        let (scope, project_ids) = match dice.below(4) {
            // A task works in its agent's projects.
            _ if kind == Kind::Task => (ScopeKind::Global, Vec::new()),
            0 => (ScopeKind::Global, Vec::new()),
            1 => (ScopeKind::MultiProject, self.projects.to_vec()),
            _ => (ScopeKind::Project, vec![self.projects[0]]),
        };
        let criteria = (0..dice.below(3)).map(|n| format!("criterion {n}"));
        let brief = Queued {
            kind,
            objective: format!("PlannedRun {nth}: find out what matters"),
            scope,
            project_ids,
            success_criteria: Criterion::number(criteria),
            tools: tools(&mut dice),
            budgets: match kind {
                Kind::Tree => growth(seed, nth, budgets(&mut dice)),
                Kind::Homework | Kind::Task => budgets(&mut dice),
            },
            models: Models::uniform(model(id, &mut dice)),
            owner: self.owner,
            workspace_project_id: ids::derive(Timestamp(1_793_491_200_000), &[id.0.as_bytes(), b"project"]).into(),
            warnings: Vec::new(),
            tool_lists: Vec::new(),
            agent: (kind == Kind::Task).then(|| self.sent(dice.between(2, 8) as u32)),
            agents: Vec::new(),
            own_workspace: false,
            no_verify: Dice::about(seed, &format!("verify {nth}")).happens(250),
        };
        let foreign = vec![self.foreign_page.0, self.foreign_project.0];
        let fake_model = FakeModel::of(&mut dice, foreign, Some(self.shared_page.0));
        PlannedRun { id, brief, fake_model, at_ms: dice.below(faults_end_after_ms / 4 + 1) }
    }
}

/// A subagent that may write, but not everything.
fn scout(id: ActorId, owner: ActorId, now: Timestamp) -> AgentRecord {
    AgentRecord {
        id,
        handle: "scout".into(),
        name: "Scout".into(),
        owner,
        identity: "You look around.".into(),
        actions: vec!["create_document".into(), "update_document".into()],
        model: None,
        version: 1,
        created_at: now,
        updated_at: now,
    }
}

/// The model's name is the run's id: that is how the fake provider tells runs apart.
fn model(run: RunId, dice: &mut Dice) -> ModelSpec {
    let price = dice.happens(800).then_some(Price { input: 3_000_000, cached: 300_000, output: 15_000_000 });
    ModelSpec { provider: "fake".into(), model: run.to_string(), context_window: 128_000, max_output: 8_192, price }
}

fn tools(dice: &mut Dice) -> Vec<engine::effect::ToolSpec> {
    let few = dice.happens(200);
    let kept = |spec: &engine::effect::ToolSpec| !few || spec.read || spec.name == "create_document";
    Registry::builtin().catalogue().into_iter().filter(kept).collect()
}

fn budgets(dice: &mut Dice) -> Budgets {
    Budgets {
        max_cost_usd: dice.happens(700).then(|| Usd(dice.between(300_000, 3_000_000))),
        max_tokens: dice.happens(500).then(|| dice.between(40_000, 400_000)),
        max_wall_ms: dice.happens(700).then(|| dice.between(60_000, 3_600_000) as i64),
        max_iterations: dice.between(1, 8) as u32,
        max_parallel: dice.between(1, 4) as u32,
        ..Budgets::default()
    }
}

/// How far a tree may grow: a few are a leaf by order or soon out of money, most as large as their plans.
fn growth(seed: u64, nth: u64, budgets: Budgets) -> Budgets {
    let mut dice = Dice::about(seed, &format!("growth {nth}"));
    let (small, poor) = (dice.happens(120), dice.happens(200));
    let rich = |limit: u64| if poor { limit } else { limit * 10 };
    Budgets {
        max_cost_usd: budgets.max_cost_usd.map(|limit| Usd(rich(limit.0))),
        max_tokens: budgets.max_tokens.map(rich),
        max_depth: if small { dice.below(2) } else { dice.between(2, 5) } as u32,
        max_nodes: if small { dice.between(1, 6) } else { dice.between(8, 60) } as u32,
        max_bands: dice.between(if small { 1 } else { 2 }, 4) as u32,
        max_steps_per_band: dice.between(if small { 1 } else { 2 }, 4) as u32,
        max_replans: dice.below(3) as u32,
        ..budgets
    }
}
