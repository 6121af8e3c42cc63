//! Turns the body of `POST /api/runs` into a run's brief: everything the run may do, checked before its first event. A refusal
//! names the value and the limit, and then nothing is recorded.

use super::prelude::*;
use super::{agents, auth};
use crate::catalogue::ToolGrant;
use crate::config::models::ModelNames;
use engine::answer::nullable;
use engine::budget::{BudgetPatch, Budgets};
use engine::facts::run::{Agent, Queued};
use engine::ids::{self, ProjectId, RunId};
use engine::lessons::MAX_AGENTS_PER_RUN;
use engine::run::{Criterion, Kind, ScopeKind, check_agents};
use engine::task::MAX_STEPS_PER_TASK;
use engine::workspace::Scope;
use runtime::agents::AgentRecord;

/// Published for clients; the engine enforces it.
const MAX_OBJECTIVE: usize = 32_768;
const MAX_CRITERIA: usize = 50;
const MAX_CRITERION: usize = 2_000;

/// The body of `POST /api/runs`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewRun {
    /// Chosen by the client, so that a repeated request makes one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<RunId>,
    pub kind: String,
    pub objective: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<ScopeKind>,
    #[serde(default, deserialize_with = "nullable")]
    pub project_ids: Vec<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub success_criteria: Vec<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub tools: Vec<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub budgets: BudgetPatch,
    /// `provider/model` for every role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// By profile; `model` overrides it.
    #[serde(default, deserialize_with = "nullable")]
    pub models: ModelNames,
    /// Task only: the subagent, by handle or id, and how many steps it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    /// Homework and tree only: subagents that its planners may delegate to, by handle or id.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// `false`: the criteria are not checked, and what is cited for them stays a claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<bool>,
}

pub(super) fn schema() -> Schema {
    let names = form([], [("fast", text()), ("balanced", text()), ("powerful", text())]);
    form! { "NewRun":
        kind: records::kind(), objective: words(MAX_OBJECTIVE);
        id: id(), scope: records::scope(), project_ids: list_of(id()),
        success_criteria: up_to(MAX_CRITERIA, words(MAX_CRITERION)), tools: list_of(text()),
        budgets: records::budgets(), model: text(), models: names, agent: text(),
        max_steps: whole(1, MAX_STEPS_PER_TASK.into()), agents: up_to(MAX_AGENTS_PER_RUN, text()), verify: flag(),
    }
}

pub(super) async fn build(app: &AppState, caller: &Caller, id: RunId, new: NewRun) -> Result<Queued, Problem> {
    let kind = Kind::parse(&new.kind).ok_or_else(|| Problem::invalid("unknown_kind", unknown_kind(&new.kind)))?;
    let success_criteria = criteria(new.success_criteria)?;
    let mut project_ids = projects(app, &caller.scope(), &new.project_ids).await?;
    if project_ids.is_empty() && new.scope.is_none() {
        // A bound token starts runs in its own projects.
        project_ids = caller.bounds().to_vec();
    }
    if project_ids.is_empty() && !caller.bounds().is_empty() {
        return Err(auth::bound());
    }
    if !caller.bounds().is_empty() && (new.agent.is_some() || !new.agents.is_empty()) {
        // The log of the run would show the identity and scratchpad of the subagent.
        return Err(auth::bound());
    }
    let scope = scope(new.scope, project_ids.len())?;
    let own_workspace = only_reads(app, caller, &project_ids).await?;
    let agent = task_agent(app, caller, kind, &new.agent, new.max_steps, &project_ids).await?;
    let agents = delegates(app, caller, kind, &new.agents).await?;
    let granted = match kind {
        // The grants of a subagent are looked up at every call.
        Kind::Task => ToolGrant::default(),
        Kind::Homework | Kind::Tree => {
            let granted = app.catalogue.tools(&new.tools, &project_ids).await;
            granted.map_err(|why| Problem::invalid("unknown_tool", why))?
        }
    };
    let agent_model = agent.as_ref().and_then(|agent| agent.model.clone());
    let names = new.model.or(agent_model).map_or(new.models, |all| ModelNames {
        fast: Some(all.clone()),
        balanced: Some(all.clone()),
        powerful: Some(all),
    });
    let (models, mut warnings) = app
        .catalogue
        .models(&names)
        .await
        .map_err(|why| Problem::invalid("bad_model", format!("{why}\nNo run was made.")))?;
    warnings.extend(granted.warnings);
    let brief = Queued {
        kind,
        objective: new.objective.trim().to_owned(),
        scope,
        workspace_project_id: ids::derive(app.clock.now(), &[id.0.as_bytes(), b"workspace"]).into(),
        project_ids,
        success_criteria,
        tools: granted.tools,
        budgets: Budgets::default().patched(&new.budgets, &models),
        models,
        owner: caller.id(),
        warnings,
        tool_lists: granted.lists,
        agent: agent.map(|agent| Agent {
            id: agent.id,
            handle: agent.handle,
            identity: agent.identity,
            max_steps: new.max_steps,
        }),
        agents,
        own_workspace,
        no_verify: new.verify == Some(false),
    };
    match engine::run::check_brief(&brief) {
        Ok(()) => Ok(brief),
        Err(refusal) => Err(Problem::invalid(refusal.slug, refusal.message)),
    }
}

/// A run in one project keeps its documents there, unless its owner may not write there.
async fn only_reads(app: &AppState, caller: &Caller, projects: &[ProjectId]) -> Result<bool, Problem> {
    match projects {
        [only] => Ok(!app.store.may_write(&caller.scope(), *only).await?),
        _ => Ok(false),
    }
}

/// The subagent of a task: one that the caller owns.
async fn task_agent(
    app: &AppState,
    caller: &Caller,
    kind: Kind,
    agent: &Option<String>,
    max_steps: Option<u32>,
    projects: &[ProjectId],
) -> Result<Option<AgentRecord>, Problem> {
    if kind != Kind::Task {
        return match agent.is_some() || max_steps.is_some() {
            true => Err(Problem::invalid(
                "bad_agent",
                format!("agent and max_steps belong to a task, not to a {} run; nothing was started", kind.name()),
            )),
            false => Ok(None),
        };
    }
    let Some(name) = agent else {
        return Err(Problem::invalid(
            "agent_required",
            "a task needs a subagent; name one with agent (--agent HANDLE)",
        ));
    };
    if let Some(steps) = max_steps.filter(|steps| !(1..=MAX_STEPS_PER_TASK).contains(steps)) {
        return Err(Problem::invalid(
            "bad_max_steps",
            format!("max_steps is {steps}; it must be 1 to {MAX_STEPS_PER_TASK}"),
        ));
    }
    if !projects.is_empty() {
        return Err(Problem::invalid(
            "bad_scope",
            "a task works in the projects of its subagent; leave project_ids out",
        ));
    }
    agents::owned(app, caller, name).await.map(Some)
}

/// The subagents that planners may delegate to: owned by the caller, each once.
async fn delegates(app: &AppState, caller: &Caller, kind: Kind, names: &[String]) -> Result<Vec<Agent>, Problem> {
    check_agents(kind, names.len()).map_err(|refusal| Problem::invalid(refusal.slug, refusal.message))?;
    let mut agents: Vec<Agent> = Vec::new();
    for name in names {
        let AgentRecord { id, handle, identity, .. } = agents::owned(app, caller, name).await?;
        if agents.iter().all(|known| known.id != id) {
            agents.push(Agent { id, handle, identity, max_steps: None });
        }
    }
    Ok(agents)
}

fn unknown_kind(kind: &str) -> String {
    let kinds: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    format!("kind {kind} is not available in this version; kinds: {}", kinds.join(", "))
}

fn criteria(texts: Vec<String>) -> Result<Vec<Criterion>, Problem> {
    let texts: Vec<String> = texts.into_iter().map(|text| text.trim().to_owned()).collect();
    if texts.len() > MAX_CRITERIA {
        return Err(Problem::invalid(
            "bad_criterion",
            format!(
                "{} success criteria were given; at most {MAX_CRITERIA} are allowed; nothing was started",
                texts.len()
            ),
        ));
    }
    if let Some(index) = texts.iter().position(|text| text.is_empty() || text.chars().count() > MAX_CRITERION) {
        let detail = format!("success criterion {} must have 1 to {MAX_CRITERION} characters", index + 1);
        return Err(Problem::invalid("bad_criterion", detail));
    }
    Ok(Criterion::number(texts))
}

pub(super) async fn projects(app: &AppState, scope: &Scope, names: &[String]) -> Result<Vec<ProjectId>, Problem> {
    let mut found = Vec::new();
    for name in names {
        let unknown = || Problem::unknown("project", name);
        let id: ProjectId = name.parse().map_err(|_| unknown())?;
        let project = app.store.project(scope, id).await?.ok_or_else(unknown)?;
        if !found.contains(&project.id) {
            found.push(project.id);
        }
    }
    Ok(found)
}

fn scope(asked: Option<ScopeKind>, projects: usize) -> Result<ScopeKind, Problem> {
    let implied = match projects {
        0 => ScopeKind::Global,
        1 => ScopeKind::Project,
        _ => ScopeKind::MultiProject,
    };
    match asked {
        Some(ScopeKind::MultiProject) if projects == 1 => Ok(ScopeKind::Project),
        Some(asked) if asked != implied => Err(Problem::invalid(
            "bad_scope",
            format!("scope {} does not go with {projects} project ids; leave the scope out", asked.name()),
        )),
        _ => Ok(implied),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scope_follows_from_the_projects() {
        assert_eq!(scope(None, 0), Ok(ScopeKind::Global));
        assert_eq!(scope(None, 2), Ok(ScopeKind::MultiProject));
        assert_eq!(scope(Some(ScopeKind::Project), 0).unwrap_err().slug, "bad_scope");
    }

    #[test]
    fn another_kind_is_refused_with_those_that_exist() {
        assert_eq!(unknown_kind("forest"), "kind forest is not available in this version; kinds: homework, tree, task");
    }
}
