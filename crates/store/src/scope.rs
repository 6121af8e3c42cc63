//! A scope as a SQL condition. Every query on the workspace or on runs starts here, so none can forget its scope.
//! Memberships are read by the same statement, so a member who was removed sees nothing from the next query on.
//!
//! Seeing and steering are one condition with a different least role.

use crate::sql::{Query, Value, id};
use crate::tables::ALL_RUNS;
use engine::ids::{ActorId, ProjectId, RunId};
use engine::role::Role;
use engine::workspace::Scope;
use uuid::Uuid;

/// The rows of `select` whose project, named by `column`, is in scope. The caller may add conditions with `AND`.
pub(crate) fn visible(select: &str, column: &str, scope: &Scope) -> Query {
    let mut query = Query::new(format!("{select} WHERE 1 = 1"));
    in_scope(&mut query, column, scope, |query, actor| {
        // `column` stays outside the subquery. Inside, a bare `project_id` would mean `m.project_id` and match every row.
        query.push(" AND ").push(column).push(" IN (SELECT m.project_id FROM project_members m WHERE m.actor_id = ");
        query.bind(id(actor)).push(")");
    });
    query
}

/// The row of `select` with this id, if its project, named by `column`, is in scope.
pub(crate) fn visible_row(select: &str, column: &str, scope: &Scope, row: impl Into<Uuid>) -> Query {
    let mut query = Query::new(format!("{select} WHERE id = "));
    query.bind(id(row));
    row_in_scope(&mut query, column, scope, Role::Viewer);
    query
}

/// Adds the condition that the scope has at least this role in the project of the one row that the query reads. It looks
/// one membership up: the list of an actor's projects, with which `visible` selects rows, is as long as the actor's runs
/// are many, because each run has a project of its own.
pub(crate) fn row_in_scope(query: &mut Query, column: &str, scope: &Scope, least: Role) {
    in_scope(query, column, scope, |query, actor| {
        // Renamed, so that a bare `project_id` means the column of the row.
        query.push(
            " AND EXISTS (SELECT 1 FROM (SELECT project_id AS joined, actor_id AS member, role FROM project_members) m",
        );
        query.push(" WHERE m.joined = ").push(column).push(" AND m.member = ").bind(id(actor));
        at_least(query, least);
        query.push(")");
    });
}

fn in_scope(query: &mut Query, column: &str, scope: &Scope, member: impl Fn(&mut Query, &ActorId)) {
    match scope {
        Scope::Platform => {}
        Scope::Actor(actor) => member(query, actor),
        Scope::Within(actor, projects) => {
            member(query, actor);
            query.push(" AND ").push(column).push(" IN ").bind_list(ids(projects));
        }
        Scope::OnBehalf { agent, owner } => {
            member(query, agent);
            member(query, owner);
        }
    }
}

/// Adds nothing for a viewer, because every member is at least that.
fn at_least(query: &mut Query, least: Role) {
    if least > Role::Viewer {
        query.push(" AND m.role IN ").bind_list(least.and_above().map(|role| role.name().into()));
    }
}

/// The runs in scope: the actor's own, and the runs whose projects all have the actor as a member.
pub(crate) fn visible_runs(scope: &Scope) -> Query {
    runs_with_role(scope, Role::Viewer)
}

/// The runs that the scope may steer.
pub(crate) fn steerable_runs(scope: &Scope) -> Query {
    runs_with_role(scope, Role::Editor)
}

fn runs_with_role(scope: &Scope, least: Role) -> Query {
    let mut query = Query::new("");
    select_runs(&mut query, "SELECT *", scope, least);
    query
}

fn select_runs(query: &mut Query, select: &str, scope: &Scope, least: Role) {
    query.push(select).push(" FROM (").push(&ALL_RUNS).push(") r WHERE 1 = 1");
    match scope {
        Scope::Platform => {}
        Scope::Actor(actor) => owned_or_member(query, *actor, least),
        Scope::Within(actor, projects) => {
            owned_or_member(query, *actor, least);
            query.push(" AND ");
            all_projects(query, |query| match projects.is_empty() {
                // With `IN (NULL)` the condition would be NULL: no project would fail it, and every run would pass.
                true => drop(query.push("1 = 0")),
                false => drop(query.push("p.project_id IN ").bind_list(ids(projects))),
            });
        }
        Scope::OnBehalf { agent, owner } => {
            owned_or_member(query, *owner, least);
            query.push(" AND (r.agent_id = ").bind(id(agent)).push(" OR ");
            member_of_all(query, *agent, least);
            query.push(")");
        }
    }
}

/// The rows of `select` that belong to the run, if the run is in scope. The caller may add conditions with `AND`.
pub(crate) fn visible_of_run(select: &str, scope: &Scope, run: RunId) -> Query {
    let mut query = Query::new(format!("{select} WHERE run_id = "));
    query.bind(id(run)).push(" AND EXISTS (");
    select_runs(&mut query, "SELECT r.id", scope, Role::Viewer);
    query.push(" AND r.id = ").bind(id(run)).push(")");
    query
}

fn owned_or_member(query: &mut Query, actor: ActorId, least: Role) {
    query.push(" AND (r.owner = ").bind(id(actor)).push(" OR ");
    member_of_all(query, actor, least);
    query.push(")");
}

/// The condition that the actor has at least this role in all of the run's projects.
fn member_of_all(query: &mut Query, actor: ActorId, least: Role) {
    all_projects(query, |query| {
        query.push("EXISTS (SELECT 1 FROM project_members m WHERE m.project_id = p.project_id AND m.actor_id = ");
        query.bind(id(actor));
        at_least(query, least);
        query.push(")");
    });
}

/// The condition that the run has projects and `fits` holds for each. A run without projects is its owner's alone.
fn all_projects(query: &mut Query, fits: impl FnOnce(&mut Query)) {
    query.push("(EXISTS (SELECT 1 FROM run_projects p WHERE p.run_id = r.id)");
    query.push(" AND NOT EXISTS (SELECT 1 FROM run_projects p WHERE p.run_id = r.id AND NOT ");
    fits(query);
    query.push("))");
}

fn ids(projects: &[ProjectId]) -> impl Iterator<Item = Value> {
    projects.iter().map(id)
}
