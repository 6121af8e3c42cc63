//! 42, 46 and exactly-once: tools ran only when granted and in scope, and the store holds exactly what they created.

use super::RunLog;
use super::tree::NodeParents;
use engine::facts::{Fact, HomeworkFact as H, TaskFact as K, TreeFact as T};
use engine::ids::ProjectId;
use engine::run::{Kind, ScopeKind};
use engine::workspace::{Document, Mutation, Scope};
use runtime::ports::{DocumentFilter, Library, TaskFilter};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

pub async fn check(log: &RunLog<'_>) {
    granted(log);
    in_scope(log);
    made_once(log).await;
    one_workspace(log).await;
}

fn granted(log: &RunLog<'_>) {
    let Some(brief) = log.brief() else { return };
    let own: BTreeSet<&str> = brief.tools.iter().map(|tool| tool.name.as_str()).collect();
    let mut branches: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    // The branch of each call, none for the planner's own.
    let mut callers: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    for event in &log.events {
        let (tool, call) = match &event.fact {
            Fact::Homework(H::ExecutorStarted(fact)) => {
                branches.insert(&fact.branch_id, fact.tools.iter().map(String::as_str).collect());
                continue;
            }
            Fact::Homework(H::ToolCallRequested(fact)) => {
                callers.insert(&fact.call_id.0, fact.branch_id.as_deref());
                continue;
            }
            Fact::Tree(T::ToolCallRequested(fact)) => {
                callers.insert(&fact.call_id.0, None);
                continue;
            }
            Fact::Homework(H::ToolCallResult(fact)) if fact.ok => (fact.tool.as_str(), &fact.call_id),
            Fact::Tree(T::ToolCallResult(fact)) if fact.ok => (fact.tool.as_str(), &fact.call_id),
            _ => continue,
        };
        let tools = match callers.get(call.0.as_str()) {
            Some(Some(branch)) => branches.get(branch),
            Some(None) => Some(&own),
            None => None,
        };
        if tools.is_none_or(|tools| !tools.contains(tool) || !tools.is_subset(&own)) {
            log.violation_at(event, format_args!("42: {tool} ran as {call} without a grant"));
        }
    }
}

/// The run changed only documents of its own projects, and none of a project its owner had left.
fn in_scope(log: &RunLog<'_>) {
    let (finished, Some(brief)) = (log.world, log.brief()) else { return };
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
            let Some(project) = project else { continue };
            let mut left = finished.record.revoked.iter().filter(|(_, gone)| *gone == project);
            let why = if left.any(|(at, _)| commit.asked_ms > at + slack) {
                "a project its owner had left"
            } else if !allowed.contains(&project) {
                "a project out of its scope"
            } else {
                continue;
            };
            log.violation(format_args!("46: changed {why} at {}: {:?}", change.seq, change.mutation));
        }
    }
}

fn project_of(mutation: &Mutation, homes: &mut BTreeMap<Uuid, ProjectId>) -> Option<ProjectId> {
    match mutation {
        Mutation::UpdateProject { id, .. } => Some(*id),
        Mutation::CreateDocument { id, project_id, .. } => homes.insert(id.0, *project_id).or(Some(*project_id)),
        Mutation::CreateTask { id, project_id, .. } => homes.insert(id.0, *project_id).or(Some(*project_id)),
        Mutation::UpdateDocument { id, .. } => homes.get(&id.0).copied(),
        Mutation::UpdateTask { id, .. } => homes.get(&id.0).copied(),
        Mutation::Link { project_id, .. } => Some(*project_id),
        Mutation::CreateProject { .. } | Mutation::WriteScratchpad { .. } | Mutation::Unlink { .. } => None,
        Mutation::AddLesson { .. } | Mutation::PromoteLessons { .. } | Mutation::DismissLesson { .. } => None,
    }
}

async fn made_once(log: &RunLog<'_>) {
    let (mut documents, mut tasks) = (Vec::new(), Vec::new());
    let mut registered = BTreeSet::new();
    for event in &log.events {
        let made = match &event.fact {
            Fact::Homework(H::ToolCallResult(fact)) => &fact.artifacts,
            Fact::Tree(T::ToolCallResult(fact)) => &fact.artifacts,
            Fact::Task(K::StepResult(fact)) => &fact.artifacts,
            // Documents no tool made were written by the platform for the node; a parent may pass on its child's.
            Fact::Tree(T::ArtifactCreated(fact)) => {
                documents.extend(fact.document_id.map(|id| id.0).filter(|id| registered.insert(*id)));
                continue;
            }
            _ => continue,
        };
        registered.extend(made.created_documents.iter().chain(&made.updated_documents).map(|named| named.id));
        documents.extend(made.created_documents.iter().map(|named| named.id));
        tasks.extend(made.created_tasks.iter().map(|named| named.id));
    }
    let stored = stored_documents(log).await.into_iter().filter(|document| document.props.get("doc_role").is_none());
    compare("documents", log, documents, stored.map(|document| document.id.0).collect());
    let filter = TaskFilter { run_id: Some(log.id), limit: 10_000, ..TaskFilter::default() };
    let stored = log.world.store.tasks(&Scope::Platform, filter).await.unwrap_or_default();
    compare("tasks", log, tasks, stored.into_iter().map(|task| task.id.0).collect());
}

async fn stored_documents(log: &RunLog<'_>) -> Vec<Document> {
    let filter = DocumentFilter { run_id: Some(log.id), limit: 10_000, ..DocumentFilter::default() };
    log.world.store.documents(&Scope::Platform, filter).await.unwrap_or_default()
}

fn compare(what: &str, log: &RunLog<'_>, mut recorded: Vec<Uuid>, mut stored: Vec<Uuid>) {
    recorded.sort_unstable();
    stored.sort_unstable();
    if recorded != stored {
        let (told, kept) = (recorded.len(), stored.len());
        log.violation(format_args!("exactly once: the log tells of {told} {what}, the store has {kept}"));
    }
}

async fn one_workspace(log: &RunLog<'_>) {
    let stored = stored_documents(log).await;
    let started = usize::from(log.row.started_at.is_some());
    let expected: &[(&str, usize)] = match log.row.kind {
        Kind::Tree => &[("tree_agent_scratchpad", NodeParents::of(&log.events).len())],
        Kind::Homework => &[("workspace", started), ("scratchpad_root", started), ("plan", started)],
        Kind::Task => &[],
    };
    for (role, expected) in expected {
        let count = stored.iter().filter(|document| document.props["doc_role"] == *role).count();
        if count != *expected {
            log.violation(format_args!("11, S2: {count} documents are {role}, {expected} should be"));
        }
    }
}
