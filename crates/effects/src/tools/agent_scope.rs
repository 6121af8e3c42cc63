//! The scope of a subagent that works on a part of a run: it may do what both the run and its grants allow, in projects that both
//! it and the run's owner may use. Judged at the moment of the call; denied by default.

use super::{Authorization, Registry, list};
use engine::effect::{Class, RunContext, ToolCall};
use engine::ids::{ActorId, ProjectId};
use engine::workspace::Scope;
use runtime::agents::AgentRecord;
use runtime::ports::{Library, StoreError};

/// Projects of one subagent that a run over everything can reach; with more of them, the run is better given its projects.
const PROJECTS: usize = 1_000;

/// Why a subagent may not make this call.
pub enum Denied {
    /// In words for whoever made it.
    Refused(String),
    Store(StoreError),
}

impl From<StoreError> for Denied {
    fn from(error: StoreError) -> Self {
        Denied::Store(error)
    }
}

/// The run as far as its subagent may use it.
pub async fn agent_scope(
    store: &dyn Library,
    registry: &Registry,
    run: &RunContext,
    call: &ToolCall,
    agent: ActorId,
) -> Result<RunContext, Denied> {
    let refused = |why: String| Err(Denied::Refused(why));
    let owner = match &run.scope {
        Scope::Actor(owner) | Scope::Within(owner, _) => *owner,
        Scope::Platform | Scope::OnBehalf { .. } => {
            return refused("tool_not_granted: nobody lends these tools".into());
        }
    };
    let Some(agent) = store.agent(&agent.to_string()).await?.filter(|agent| agent.owner == owner) else {
        return refused("tool_not_granted: the owner of this run keeps no such subagent any more".into());
    };
    if !may(registry, &agent, call) {
        let granted = if agent.actions.is_empty() { "none".into() } else { list(agent.actions.iter()) };
        return refused(format!(
            "tool_not_granted: {} was not granted to {}, who may read, and was granted: {granted}. Its owner may grant it",
            call.tool, agent.handle
        ));
    }
    let mut projects = shared(store, run, &agent).await?;
    // What the run makes for itself belongs to all who work in it.
    if !run.projects.contains(&run.home_project) {
        projects.push(run.home_project);
    }
    Ok(RunContext { scope: Scope::Within(owner, projects), ..run.clone() })
}

fn may(registry: &Registry, agent: &AgentRecord, call: &ToolCall) -> bool {
    match (&call.outside, registry.find(&call.tool)) {
        (Some(outside), _) => outside.class == Class::ReadOnly || agent.is_granted(&call.tool),
        (None, Some(action)) => match action.authorization() {
            Authorization::Own | Authorization::Reading => true,
            Authorization::Granted => agent.is_granted(action.name),
        },
        // There is no such tool, and the registry says so.
        (None, None) => true,
    }
}

/// The projects of the run that the subagent and its owner may both see.
async fn shared(store: &dyn Library, run: &RunContext, agent: &AgentRecord) -> Result<Vec<ProjectId>, StoreError> {
    let both = agent.scope();
    if run.projects.is_empty() {
        let found = store.projects(&both, None, PROJECTS).await?;
        return Ok(found.into_iter().map(|project| project.id).collect());
    }
    let mut shared = Vec::new();
    for project in &run.projects {
        shared.extend(store.project(&both, *project).await?.map(|project| project.id));
    }
    Ok(shared)
}
