//! Projects. Who belongs to one, and in which role, is said in `members`.

use super::caller::{Caller, Id, JsonBody};
use super::documents::own_props;
use super::problems::Problem;
use super::query::QueryString;
use super::route::Access::{Read, Run};
use super::route::Route;
use super::schema::{form, id, open, page, text, whole, words};
use super::version::{HasVersion, IfMatch, Versioned, write};
use super::{ApiResult, AppState, Page, access, records, runs, version};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use engine::ids::ProjectId;
use engine::role::Role;
use engine::workspace::{Change, Mutation, Project};
use runtime::ports::Library;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;
use store::Removed;

const MAX_DESCRIPTION: usize = 100_000;

pub fn routes() -> Vec<Route> {
    const ONE: &str = "/api/projects/{id}";
    let changed = || [("description", text()), ("props", open())];
    let [description, props] = changed();
    vec![
        Route::get("/api/projects", Read, "The projects you may see, newest first", list)
            .asks("cursor", id())
            .asks("limit", whole(1, MAX_PAGE as i64))
            .gives(200, page(records::project())),
        Route::post("/api/projects", Run, "A new project, yours", create)
            .takes(form([("title", words(MAX_TITLE))], changed()))
            .gives(201, records::project())
            .personal(),
        Route::get(ONE, Read, "A project", show).gives(200, records::project()),
        Route::patch(ONE, Run, "Change a project; props are merged key by key", edit)
            .header("If-Match", version::schema())
            .takes(form([], [("title", words(MAX_TITLE)), description, props]))
            .gives(200, records::project())
            .refuses([412, 428]),
        Route::delete(ONE, Run, "Remove a project that no run works in, with everything in it", remove)
            .gives_nothing(204),
    ]
}

pub const MAX_TITLE: usize = 500;
pub const MAX_PAGE: usize = 200;

pub fn titled(text: &str) -> ApiResult<String> {
    let title = text.trim();
    match title.chars().count() {
        1..=MAX_TITLE => Ok(title.to_owned()),
        n => Err(Problem::invalid("bad_title", format!("the title has {n} characters; it must have 1 to {MAX_TITLE}"))),
    }
}

fn described(text: String) -> ApiResult<String> {
    match text.chars().count() {
        0..=MAX_DESCRIPTION => Ok(text),
        n => Err(Problem::invalid(
            "bad_description",
            format!("the description has {n} characters; {MAX_DESCRIPTION} is the most"),
        )),
    }
}

/// A project, and what the caller is in it.
#[derive(Serialize)]
struct ProjectView {
    #[serde(flatten)]
    project: Project,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<Role>,
}

impl HasVersion for ProjectView {
    fn version(&self) -> i64 {
        self.project.version
    }
}

async fn viewed(app: &AppState, caller: &Caller, projects: Vec<Project>) -> ApiResult<Vec<ProjectView>> {
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

/// A project for something new to go into.
pub async fn with_room(app: &AppState, caller: &Caller, id: ProjectId) -> ApiResult<Project> {
    let project = access::write_project(app, caller, id).await?;
    match app.store.has_room(id).await? {
        true => Ok(project),
        false => Err(Problem::new(
            StatusCode::INSUFFICIENT_STORAGE,
            "project_full",
            format!(
                "project {:?} has as many documents and tasks as a project may have (project_items in the configuration); nothing was \
                 written; remove some, or use another project",
                project.title
            ),
        )),
    }
}

#[derive(Deserialize)]
struct ListQuery {
    cursor: Option<ProjectId>,
    limit: Option<usize>,
}

async fn list(
    State(app): State<Arc<AppState>>,
    caller: Caller,
    QueryString(query): QueryString<ListQuery>,
) -> ApiResult<Json<Page<ProjectView>>> {
    let limit = query.limit.unwrap_or(50).clamp(1, MAX_PAGE);
    let found = app.store.projects(&caller.scope(), query.cursor, limit + 1).await?;
    let page = Page::cut(found, limit, |project| project.id.to_string());
    Ok(Json(Page { items: viewed(&app, &caller, page.items).await?, next_cursor: page.next_cursor }))
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

async fn create(
    State(app): State<Arc<AppState>>,
    caller: Caller,
    JsonBody(new): JsonBody<NewProject>,
) -> ApiResult<Versioned<ProjectView>> {
    let id: ProjectId = runs::mint(&app);
    let (title, description) = (titled(&new.title)?, described(new.description)?);
    let props = Value::Object(own_props(new.props)?);
    let mutation = Mutation::CreateProject { id, title, description, props, owner: caller.id() };
    write(&app, vec![Change { mutation, actor: caller.actor(), seq: 0 }]).await?;
    Ok(Versioned(StatusCode::CREATED, visible(&app, &caller, id).await?))
}

async fn show(
    State(app): State<Arc<AppState>>,
    caller: Caller,
    Id(id): Id<ProjectId>,
) -> ApiResult<Versioned<ProjectView>> {
    Ok(Versioned(StatusCode::OK, visible(&app, &caller, id).await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProjectPatch {
    title: Option<String>,
    description: Option<String>,
    props: Option<Map<String, Value>>,
}

async fn edit(
    State(app): State<Arc<AppState>>,
    caller: Caller,
    Id(id): Id<ProjectId>,
    expected: IfMatch,
    JsonBody(patch): JsonBody<ProjectPatch>,
) -> ApiResult<Versioned<ProjectView>> {
    let project = access::write_project(&app, &caller, id).await?;
    expected.check(&project)?;
    let mutation = Mutation::UpdateProject {
        id,
        expected_version: project.version,
        title: patch.title.as_deref().map(titled).transpose()?,
        description: patch.description.map(described).transpose()?,
        props: patch.props.map(own_props).transpose()?.map(Value::Object),
    };
    write(&app, vec![Change { mutation, actor: caller.actor(), seq: 0 }]).await?;
    Ok(Versioned(StatusCode::OK, visible(&app, &caller, id).await?))
}

async fn remove(State(app): State<Arc<AppState>>, caller: Caller, Id(id): Id<ProjectId>) -> ApiResult<StatusCode> {
    app.commands()?;
    access::own_project(&app, &caller, id).await?;
    match app.store.remove_project(id).await? {
        Removed::Done => Ok(StatusCode::NO_CONTENT),
        Removed::Gone => Err(Problem::not_found("project")),
        Removed::Needed => Err(Problem::new(
            StatusCode::CONFLICT,
            "project_in_use",
            "runs work or worked in this project; nothing was removed. Delete those runs first",
        )),
    }
}
