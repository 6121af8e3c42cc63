//! Narrows a run's scope to a subagent that works on a part of it: what both the run and its grants allow, in projects that
//! both it and the run's owner may use. Decided at the moment of the call; denied by default.

use super::{ActionError, Authorization, Registry, list, refuse};
use engine::effect::{RepeatSafety, RunContext, ToolCall};
use engine::ids::{ActorId, ProjectId};
use engine::workspace::Scope;
use runtime::agents::AgentRecord;
use runtime::ports::{Library, StoreError};

/// The most projects of one subagent that a run without a list of projects can reach.
const MAX_PROJECTS: usize = 1_000;

/// The run's context, narrowed to what its subagent may use.
pub async fn agent_scope(
    store: &dyn Library,
    registry: &Registry,
    run: &RunContext,
    call: &ToolCall,
    agent: ActorId,
) -> Result<RunContext, ActionError> {
    let owner = match &run.scope {
        Scope::Actor(owner) | Scope::Within(owner, _) => *owner,
        Scope::Platform | Scope::OnBehalf { .. } => {
            return refuse("tool_not_granted: this run has no owner whose tools a subagent could use");
        }
    };
    let Some(agent) = store.agent(&agent.to_string()).await?.filter(|agent| agent.owner == owner) else {
        return refuse("tool_not_granted: this subagent no longer exists, or belongs to somebody else");
    };
    if !is_allowed(registry, &agent, call) {
        let granted = if agent.actions.is_empty() { "none".into() } else { list(agent.actions.iter()) };
        return refuse(format!(
            "tool_not_granted: {} was not granted to {}, which may read and was granted: {granted}. Its owner may grant it",
            call.tool, agent.handle
        ));
    }
    let mut projects = shared(store, run, &agent).await?;
    // The run's own workspace is open to everybody who works in the run.
    if !run.projects.contains(&run.home_project) {
        projects.push(run.home_project);
    }
    Ok(RunContext { scope: Scope::Within(owner, projects), ..run.clone() })
}

fn is_allowed(registry: &Registry, agent: &AgentRecord, call: &ToolCall) -> bool {
    match (&call.external, registry.find(&call.tool)) {
        (Some(external), _) => external.class == RepeatSafety::ReadOnly || agent.is_granted(&call.tool),
        (None, Some(action)) => match action.authorization() {
            Authorization::SubagentsOnly | Authorization::Everybody => true,
            Authorization::PeopleAndGrantedSubagents => agent.is_granted(action.name),
        },
        // The registry answers with the list of tools that exist.
        (None, None) => true,
    }
}

/// The projects of the run that the subagent and its owner may both see.
async fn shared(store: &dyn Library, run: &RunContext, agent: &AgentRecord) -> Result<Vec<ProjectId>, StoreError> {
    let both = agent.scope();
    if run.projects.is_empty() {
        let found = store.projects(&both, None, MAX_PROJECTS).await?;
        return Ok(found.into_iter().map(|project| project.id).collect());
    }
    let mut shared = Vec::new();
    for project in &run.projects {
        shared.extend(store.project(&both, *project).await?.map(|project| project.id));
    }
    Ok(shared)
}
