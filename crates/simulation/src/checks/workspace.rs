//! 42, 46 and exactly-once: tools ran only when granted and in scope, and the store holds exactly what they created.

use super::RunLog;
use super::tree::NodeParents;
use crate::world::FinishedWorld;
use engine::facts::{Fact, HomeworkFact as H, RunFact as R, TaskFact as K, TreeFact as T};
use engine::ids::ProjectId;
use engine::run::{Kind, ScopeKind};
use engine::workspace::{Mutation, Scope};
use runtime::ports::{DocumentFilter, Library, TaskFilter};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

pub async fn check(finished: &FinishedWorld, log: &RunLog, violations: &mut Vec<String>) {
    granted(log, violations);
    in_scope(finished, log, violations);
    made_once(finished, log, violations).await;
    one_workspace(finished, log, violations).await;
}

fn granted(log: &RunLog, violations: &mut Vec<String>) {
    let mut own: BTreeSet<String> = BTreeSet::new();
    let mut branches: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut caller: BTreeMap<String, Option<String>> = BTreeMap::new();
    for event in &log.events {
        match &event.fact {
            Fact::Run(R::Queued(fact)) => own = fact.tools.iter().map(|tool| tool.name.clone()).collect(),
            Fact::Homework(H::ExecutorStarted(fact)) => {
                drop(branches.insert(fact.branch_id.clone(), fact.tools.iter().cloned().collect()))
            }
            Fact::Homework(H::ToolCallRequested(fact)) => {
                drop(caller.insert(fact.call_id.0.clone(), fact.branch_id.clone()))
            }
            Fact::Homework(H::ToolCallResult(fact)) if fact.ok => {
                let tools = match caller.get(&fact.call_id.0) {
                    Some(Some(branch)) => branches.get(branch),
                    Some(None) => Some(&own),
                    None => None,
                };
                let beyond = tools.is_none_or(|tools| !tools.contains(&fact.tool) || !tools.is_subset(&own));
                if beyond {
                    violations
                        .push(format!("42: run {} ran {} as {} without a grant", log.id, fact.tool, fact.call_id));
                }
            }
            Fact::Tree(T::ToolCallRequested(fact)) => drop(caller.insert(fact.call_id.0.clone(), None)),
            Fact::Tree(T::ToolCallResult(fact))
                if fact.ok && !(own.contains(&fact.tool) && caller.contains_key(&fact.call_id.0)) =>
            {
                violations.push(format!("42: run {} ran {} as {} without a grant", log.id, fact.tool, fact.call_id));
            }
            _ => {}
        }
    }
}

/// The run changed only documents of its own projects, and none of a project its owner had left.
fn in_scope(finished: &FinishedWorld, log: &RunLog, violations: &mut Vec<String>) {
    let Some(Fact::Run(R::Queued(brief))) = log.events.first().map(|event| &event.fact) else { return };
    let mut allowed: BTreeSet<ProjectId> = brief.project_ids.iter().copied().collect();
    allowed.insert(brief.workspace_project_id);
    if brief.scope == ScopeKind::Global {
        allowed.extend(finished.fixtures.projects);
    }
    let slack = if finished.setup.fault_rates.process.stall == 0 { 0 } else { 150_000 };
    let mut homes: BTreeMap<Uuid, ProjectId> = BTreeMap::from([
        (finished.fixtures.foreign_page.0, finished.fixtures.foreign_project),
        (finished.fixtures.shared_page.0, finished.fixtures.projects[0]),
    ]);
    for commit in &finished.record.commits {
        for change in &commit.changes {
            let project = project_of(&change.mutation, &mut homes);
            if commit.run != log.id {
                continue;
            }
            if let Mutation::CreateProject { id, .. } = &change.mutation {
                allowed.insert(*id);
            }
            let left = |project: &ProjectId| {
                finished.record.revoked.iter().any(|(at, gone)| gone == project && commit.asked_ms > at + slack)
            };
            if project.is_some_and(|project| !allowed.contains(&project) || left(&project)) {
                let left = project.is_some_and(|project| left(&project));
                violations.push(format!(
                    "46: run {} ({:?}) changed a project {} at {}: {:?}",
                    log.id,
                    brief.scope,
                    if left { "its owner had left" } else { "out of its scope" },
                    change.seq,
                    change.mutation
                ));
            }
        }
    }
}

fn project_of(mutation: &Mutation, homes: &mut BTreeMap<Uuid, ProjectId>) -> Option<ProjectId> {
    match mutation {
        Mutation::CreateProject { .. } | Mutation::WriteScratchpad { .. } => None,
        Mutation::AddLesson { .. } | Mutation::PromoteLessons { .. } | Mutation::DismissLesson { .. } => None,
        Mutation::UpdateProject { id, .. } => Some(*id),
        Mutation::CreateDocument { id, project_id, .. } => homes.insert(id.0, *project_id).or(Some(*project_id)),
        Mutation::CreateTask { id, project_id, .. } => homes.insert(id.0, *project_id).or(Some(*project_id)),
        Mutation::UpdateDocument { id, .. } => homes.get(&id.0).copied(),
        Mutation::UpdateTask { id, .. } => homes.get(&id.0).copied(),
        Mutation::Link { project_id, .. } => Some(*project_id),
        Mutation::Unlink { .. } => None,
    }
}

async fn made_once(finished: &FinishedWorld, log: &RunLog, violations: &mut Vec<String>) {
    let (mut documents, mut tasks) = (Vec::new(), Vec::new());
    let mut registered = BTreeSet::new();
    for event in &log.events {
        let made = match &event.fact {
            Fact::Homework(H::ToolCallResult(fact)) => &fact.artifacts,
            Fact::Tree(T::ToolCallResult(fact)) => {
                let updated = fact.artifacts.updated_documents.iter().map(|named| named.id);
                registered.extend(updated);
                &fact.artifacts
            }
            Fact::Task(K::StepResult(fact)) => &fact.artifacts,
            // Documents no tool made were written by the platform for the node; a parent may pass on its child's.
            Fact::Tree(T::ArtifactCreated(fact)) => {
                documents.extend(fact.document_id.map(|id| id.0).filter(|id| registered.insert(*id)));
                continue;
            }
            _ => continue,
        };
        registered.extend(made.created_documents.iter().map(|named| named.id));
        documents.extend(made.created_documents.iter().map(|named| named.id));
        tasks.extend(made.created_tasks.iter().map(|named| named.id));
    }
    let filter = DocumentFilter { run_id: Some(log.id), limit: 10_000, ..DocumentFilter::default() };
    let stored = finished.store.documents(&Scope::Platform, filter).await.unwrap_or_default();
    let stored = stored.into_iter().filter(|document| document.props.get("doc_role").is_none());
    compare("documents", log, documents, stored.map(|document| document.id.0).collect(), violations);
    let filter = TaskFilter { run_id: Some(log.id), limit: 10_000, ..TaskFilter::default() };
    let stored = finished.store.tasks(&Scope::Platform, filter).await.unwrap_or_default();
    compare("tasks", log, tasks, stored.into_iter().map(|task| task.id.0).collect(), violations);
}

fn compare(what: &str, log: &RunLog, mut recorded: Vec<Uuid>, mut stored: Vec<Uuid>, violations: &mut Vec<String>) {
    recorded.sort_unstable();
    stored.sort_unstable();
    if recorded != stored {
        violations.push(format!(
            "exactly once: run {} tells of {} {what}, the store has {}",
            log.id,
            recorded.len(),
            stored.len()
        ));
    }
}

async fn one_workspace(finished: &FinishedWorld, log: &RunLog, violations: &mut Vec<String>) {
    let filter = DocumentFilter { run_id: Some(log.id), limit: 10_000, ..DocumentFilter::default() };
    let stored = finished.store.documents(&Scope::Platform, filter).await.unwrap_or_default();
    if log.row.kind == Kind::Tree {
        let pads = stored.iter().filter(|document| document.props["doc_role"] == "tree_agent_scratchpad").count();
        let nodes = NodeParents::of(&log.events).len();
        if pads != nodes {
            violations.push(format!("11: run {} has {nodes} nodes and {pads} scratchpads", log.id));
        }
        return;
    }
    if log.row.kind == Kind::Task {
        return;
    }
    let expected = usize::from(log.row.started_at.is_some());
    for role in ["workspace", "scratchpad_root", "plan"] {
        let count = stored.iter().filter(|document| document.props["doc_role"] == role).count();
        if count != expected {
            violations.push(format!("S2: run {} has {count} documents in the role {role}", log.id));
        }
    }
}
