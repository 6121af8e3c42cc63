//! Scopes as predicates, judged against the memberships of the moment: no query on the workspace or on
//! runs begins without one. Seeing and steering are the same question asked with another least role.

use crate::sql::{Query, Value, id};
use crate::tables::ALL_RUNS;
use engine::ids::{ActorId, ProjectId, RunId};
use engine::member_role::MemberRole;
use engine::workspace::Scope;

/// Rows of `select` whose project (in `column`) is in scope. More conditions may follow, each with ` AND `.
pub(crate) fn seen(select: &str, column: &str, scope: &Scope) -> Query {
    let mut query = Query::new(format!("{select} WHERE 1 = 1"));
    narrow(&mut query, column, scope);
    query
}

pub(crate) fn narrow(query: &mut Query, column: &str, scope: &Scope) {
    reached(query, column, scope, MemberRole::Viewer);
}

/// Those whose project the scope reaches with at least this role.
pub(crate) fn reached(query: &mut Query, column: &str, scope: &Scope, least: MemberRole) {
    match scope {
        Scope::Platform => {}
        Scope::Actor(actor) => member(query, column, *actor, least),
        Scope::Within(actor, projects) => {
            member(query, column, *actor, least);
            query.push(" AND ").push(column).push(" IN ").bind_list(ids(projects));
        }
        Scope::OnBehalf { agent, owner } => {
            member(query, column, *agent, least);
            member(query, column, *owner, least);
        }
    }
}

fn member(query: &mut Query, column: &str, actor: ActorId, least: MemberRole) {
    // Outside the subquery, so that a bare column can only mean the row's own project.
    query.push(" AND ").push(column).push(" IN (SELECT m.project_id FROM project_members m WHERE m.actor_id = ");
    query.bind(id(actor));
    at_least(query, least);
    query.push(")");
}

/// Every member is at least a viewer.
fn at_least(query: &mut Query, least: MemberRole) {
    if least > MemberRole::Viewer {
        query.push(" AND m.role IN ").bind_list(least.and_above().map(|role| role.name().into()));
    }
}

/// Runs in scope: the owner's, and those all of whose projects the actor is a member of.
pub(crate) fn seen_runs(scope: &Scope) -> Query {
    runs_with(scope, MemberRole::Viewer)
}

/// Runs that the scope may steer.
pub(crate) fn steered_runs(scope: &Scope) -> Query {
    runs_with(scope, MemberRole::Editor)
}

fn runs_with(scope: &Scope, least: MemberRole) -> Query {
    let mut query = Query::new("");
    runs_in(&mut query, "SELECT *", scope, least);
    query
}

fn runs_in(query: &mut Query, select: &str, scope: &Scope, least: MemberRole) {
    query.push(select).push(" FROM (").push(&ALL_RUNS).push(") r WHERE 1 = 1");
    match scope {
        Scope::Platform => {}
        Scope::Actor(actor) => theirs(query, *actor, least),
        Scope::Within(actor, projects) => {
            theirs(query, *actor, least);
            query.push(" AND ");
            all_projects(query, |query| match projects.is_empty() {
                // Of an empty list SQL says neither yes nor no.
                true => drop(query.push("1 = 0")),
                false => drop(query.push("p.project_id IN ").bind_list(ids(projects))),
            });
        }
        Scope::OnBehalf { agent, owner } => {
            theirs(query, *owner, least);
            query.push(" AND (r.agent_id = ").bind(id(agent)).push(" OR ");
            among(query, *agent, least);
            query.push(")");
        }
    }
}

/// Rows of `select` that belong to a run, if that run is in scope. More conditions may follow, each with ` AND `.
pub(crate) fn seen_of_run(select: &str, scope: &Scope, run: RunId) -> Query {
    let mut query = Query::new(format!("{select} WHERE run_id = "));
    query.bind(id(run)).push(" AND EXISTS (");
    runs_in(&mut query, "SELECT r.id", scope, MemberRole::Viewer);
    query.push(" AND r.id = ").bind(id(run)).push(")");
    query
}

fn theirs(query: &mut Query, actor: ActorId, least: MemberRole) {
    query.push(" AND (r.owner = ").bind(id(actor)).push(" OR ");
    among(query, actor, least);
    query.push(")");
}

/// The actor is a member of all of the run's projects, in at least this role.
fn among(query: &mut Query, actor: ActorId, least: MemberRole) {
    all_projects(query, |query| {
        query.push("EXISTS (SELECT 1 FROM project_members m WHERE m.project_id = p.project_id AND m.actor_id = ");
        query.bind(id(actor));
        at_least(query, least);
        query.push(")");
    });
}

/// The run has projects, and there is none of which `fits` does not hold.
fn all_projects(query: &mut Query, fits: impl FnOnce(&mut Query)) {
    query.push("(EXISTS (SELECT 1 FROM run_projects p WHERE p.run_id = r.id)");
    query.push(" AND NOT EXISTS (SELECT 1 FROM run_projects p WHERE p.run_id = r.id AND NOT ");
    fits(query);
    query.push("))");
}

fn ids(projects: &[ProjectId]) -> impl Iterator<Item = Value> {
    projects.iter().map(id)
}
