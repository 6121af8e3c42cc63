//! Routes for projects. Who belongs to one, and in which role, is in `members`.

use super::documents::user_props;
use super::prelude::*;
use super::version::{self, IfMatch, versioned, write};
use engine::ids::ProjectId;
use engine::member_role::MemberRole;
use engine::workspace::{Mutation, Project};
use serde_json::Map;
use store::Removed;

const MAX_DESCRIPTION: usize = 100_000;

pub(super) fn routes() -> Vec<Route> {
    const ONE: &str = "/api/projects/{id}";
    let changed = || [("description", text()), ("props", open())];
    let [description, props] = changed();
    vec![
        Route::get(
            "/api/projects",
            Read,
            "The projects you may see, newest first, without the workspaces of runs",
            list,
        )
        .query("workspaces", one_of(["0", "1"]))
        .returns_page(id(), records::project()),
        Route::post("/api/projects", Run, "A new project, yours", create)
            .body(form([("title", words(MAX_TITLE))], changed()))
            .returns(201, records::project())
            .personal(),
        Route::get(ONE, Read, "A project", show).returns(200, records::project()),
        Route::patch(ONE, Run, "Change a project; props are merged key by key", edit)
            .header("If-Match", version::schema())
            .body(form([], [("title", words(MAX_TITLE)), description, props]))
            .returns(200, records::project())
            .errors([412, 428]),
        Route::delete(ONE, Run, "Remove a project that no run works in, with everything in it", remove)
            .returns_empty(204),
    ]
}

pub(super) const MAX_TITLE: usize = 500;

pub(super) fn checked_title(text: &str) -> ApiResult<String> {
    let title = text.trim();
    match title.chars().count() {
        1..=MAX_TITLE => Ok(title.to_owned()),
        n => Err(Problem::invalid(
            "bad_title",
            format!("the title has {n} characters; it must have 1 to {MAX_TITLE}; nothing was changed"),
        )),
    }
}

fn checked_description(text: String) -> ApiResult<String> {
    match text.chars().count() {
        0..=MAX_DESCRIPTION => Ok(text),
        n => Err(Problem::invalid(
            "bad_description",
            format!("the description has {n} characters; at most {MAX_DESCRIPTION} are allowed; nothing was changed"),
        )),
    }
}

/// A project with the caller's role in it.
#[derive(Serialize)]
struct ProjectView {
    #[serde(flatten)]
    project: Project,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<MemberRole>,
}

async fn with_roles(app: &AppState, caller: &Caller, projects: Vec<Project>) -> ApiResult<Vec<ProjectView>> {
    let ids: Vec<ProjectId> = projects.iter().map(|project| project.id).collect();
    let roles = access::roles_in(app, caller, &ids).await?;
    let role = |project: &Project| roles.iter().find(|(of, _)| *of == project.id).map(|(_, role)| *role);
    Ok(projects.into_iter().map(|project| ProjectView { role: role(&project), project }).collect())
}

async fn visible(app: &AppState, caller: &Caller, id: ProjectId) -> ApiResult<ProjectView> {
    let project = access::read_project(app, caller, id).await?;
    let role = access::role_in(app, caller, id).await?;
    Ok(ProjectView { project, role })
}

async fn shown(app: &AppState, caller: &Caller, id: ProjectId, status: StatusCode) -> ApiResult<Response> {
    let view = visible(app, caller, id).await?;
    Ok(versioned(status, view.project.version, view))
}

/// A project to which the caller may add a document or task.
pub(super) async fn with_space(app: &AppState, caller: &Caller, id: ProjectId) -> ApiResult<Project> {
    let project = access::write_project(app, caller, id).await?;
    match app.store.has_room(id).await? {
        true => Ok(project),
        false => Err(Problem::new(
            StatusCode::INSUFFICIENT_STORAGE,
            "project_full",
            format!(
                "project {:?} holds as many documents and tasks as the configuration allows (project_items); nothing was written. \
                 Remove some, or use another project",
                project.title
            ),
        )),
    }
}

#[derive(Deserialize)]
struct ListQuery {
    /// `1` lists the workspaces of runs too.
    workspaces: Option<String>,
    cursor: Option<ProjectId>,
    limit: Option<usize>,
}

async fn list(Context(app, caller): Context, QueryString(query): QueryString<ListQuery>) -> PageResult<ProjectView> {
    let limit = page_limit(query.limit, 50);
    let found = match query.workspaces.as_deref() {
        Some("1") => app.store.projects(&caller.scope(), query.cursor, limit + 1).await?,
        _ => app.store.projects_without_workspaces(&caller.scope(), query.cursor, limit + 1).await?,
    };
    let page = Page::cut(found, limit, |project| project.id.to_string());
    Ok(Json(Page { items: with_roles(&app, &caller, page.items).await?, next_cursor: page.next_cursor }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewProject {
    title: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    props: Map<String, Value>,
}

async fn create(Context(app, caller): Context, JsonBody(new): JsonBody<NewProject>) -> ApiResult<Response> {
    let id: ProjectId = app.mint();
    let (title, description) = (checked_title(&new.title)?, checked_description(new.description)?);
    let props = Value::Object(user_props(new.props)?);
    let mutation = Mutation::CreateProject { id, title, description, props, owner: caller.id() };
    write(&app, &caller, vec![mutation]).await?;
    shown(&app, &caller, id, StatusCode::CREATED).await
}

async fn show(Context(app, caller): Context, Id(id): Id<ProjectId>) -> ApiResult<Response> {
    shown(&app, &caller, id, StatusCode::OK).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProjectPatch {
    title: Option<String>,
    description: Option<String>,
    props: Option<Map<String, Value>>,
}

async fn edit(
    Context(app, caller): Context,
    Id(id): Id<ProjectId>,
    expected: IfMatch,
    JsonBody(patch): JsonBody<ProjectPatch>,
) -> ApiResult<Response> {
    let project = access::write_project(&app, &caller, id).await?;
    expected.check(project.version)?;
    let mutation = Mutation::UpdateProject {
        id,
        expected_version: project.version,
        title: patch.title.as_deref().map(checked_title).transpose()?,
        description: patch.description.map(checked_description).transpose()?,
        props: patch.props.map(user_props).transpose()?.map(Value::Object),
    };
    write(&app, &caller, vec![mutation]).await?;
    shown(&app, &caller, id, StatusCode::OK).await
}

async fn remove(Context(app, caller): Context, Id(id): Id<ProjectId>) -> ApiResult<StatusCode> {
    app.commands()?;
    access::own_project(&app, &caller, id).await?;
    match app.store.remove_project(id).await? {
        Removed::Done => Ok(StatusCode::NO_CONTENT),
        Removed::Gone => Err(Problem::not_found("project")),
        Removed::Needed => Err(Problem::conflict(
            "project_in_use",
            "runs belong to this project; nothing was removed. Remove those runs first",
        )),
    }
}
