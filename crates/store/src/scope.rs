//! Scopes as predicates, judged against the memberships of the moment: no query on the workspace or on
//! runs begins without one.

use crate::sql::{Query, Value, id};
use crate::tables::ALL_RUNS;
use engine::ids::{ActorId, ProjectId, RunId};
use engine::workspace::Scope;

/// Rows of `select` whose project (in `column`) is in scope. More conditions may follow, each with ` AND `.
pub fn seen(select: &str, column: &str, scope: &Scope) -> Query {
    let mut query = Query::new(format!("{select} WHERE 1 = 1"));
    narrow(&mut query, column, scope);
    query
}

pub fn narrow(query: &mut Query, column: &str, scope: &Scope) {
    match scope {
        Scope::Platform => {}
        Scope::Actor(actor) => member(query, column, *actor),
        Scope::Within(actor, projects) => {
            member(query, column, *actor);
            query.push(" AND ").push(column).push(" IN ").bind_list(ids(projects));
        }
        Scope::OnBehalf { agent, owner } => {
            member(query, column, *agent);
            member(query, column, *owner);
        }
    }
}

fn member(query: &mut Query, column: &str, actor: ActorId) {
    // Outside the subquery, so that a bare column can only mean the row's own project.
    query.push(" AND ").push(column).push(" IN (SELECT m.project_id FROM project_members m WHERE m.actor_id = ");
    query.bind(id(actor)).push(")");
}

/// Runs in scope: the owner's, and those of any project the actor is a member of.
pub fn seen_runs(scope: &Scope) -> Query {
    let mut query = Query::new("");
    runs_in(&mut query, "SELECT *", scope);
    query
}

fn runs_in(query: &mut Query, select: &str, scope: &Scope) {
    query.push(select).push(" FROM (").push(&ALL_RUNS).push(") r WHERE 1 = 1");
    match scope {
        Scope::Platform => {}
        Scope::Actor(actor) => theirs(query, *actor),
        Scope::Within(actor, projects) => {
            theirs(query, *actor);
            query.push(" AND (r.workspace_project_id IN ").bind_list(ids(projects));
            query.push(" OR EXISTS (SELECT 1 FROM run_projects p WHERE p.run_id = r.id AND p.project_id IN ");
            query.bind_list(ids(projects)).push("))");
        }
        Scope::OnBehalf { agent, owner } => {
            theirs(query, *owner);
            query.push(" AND (r.agent_id = ").bind(id(agent)).push(" OR ");
            among(query, *agent);
            query.push(")");
        }
    }
}

/// Rows of `select` that belong to a run, if that run is in scope. More conditions may follow, each with ` AND `.
pub fn seen_of_run(select: &str, scope: &Scope, run: RunId) -> Query {
    let mut query = Query::new(format!("{select} WHERE run_id = "));
    query.bind(id(run)).push(" AND EXISTS (");
    runs_in(&mut query, "SELECT r.id", scope);
    query.push(" AND r.id = ").bind(id(run)).push(")");
    query
}

fn theirs(query: &mut Query, actor: ActorId) {
    query.push(" AND (r.owner = ").bind(id(actor)).push(" OR ");
    among(query, actor);
    query.push(")");
}

/// The actor is a member of one of the run's projects.
fn among(query: &mut Query, actor: ActorId) {
    query.push("EXISTS (SELECT 1 FROM run_projects p JOIN project_members m ON m.project_id = p.project_id WHERE p.run_id = r.id AND m.actor_id = ");
    query.bind(id(actor)).push(")");
}

fn ids(projects: &[ProjectId]) -> impl Iterator<Item = Value> {
    projects.iter().map(id)
}
