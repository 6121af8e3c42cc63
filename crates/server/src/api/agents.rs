//! Routes for subagents and their scratchpads. Only their owner sees them; for everybody else they do not exist.

use super::actors;
use super::auth::{RequestSource, limit_rate};
use super::prelude::*;
use super::version::{stale, write};
use axum::Extension;
use axum::http::HeaderMap;
use effects::tools::{Action, Authorization, Registry};
use engine::ids::{ActorId, ProjectId};
use engine::member_role::MemberRole;
use engine::task::MAX_SCRATCHPAD_CHARS;
use engine::time::Timestamp;
use engine::workspace::Mutation;
use runtime::agents::{AgentRecord, ScratchpadVersion};

const MAX_IDENTITY: usize = 20_000;
const MAX_NAME: usize = 200;
const ONE: &str = "/api/agents/{handle}";

pub(super) fn routes() -> Vec<Route> {
    let changes = || {
        [
            ("name", text()),
            ("identity", text()),
            ("actions", list_of(text())),
            ("projects", list_of(id())),
            ("model", nullable(text())),
        ]
    };
    let all = vec![
        Route::get("/api/agents", Read, "Your subagents, oldest first", list).returns_page(id(), schema()),
        Route::post("/api/agents", Run, "A new subagent, yours", create)
            .body(form([("handle", text())], changes()))
            .returns(201, schema()),
        Route::get(ONE, Read, "One of your subagents", show).returns(200, schema()),
        Route::patch(ONE, Run, "Change what it is, what it may do and where", edit)
            .header("If-Match", text())
            .body(form([], changes()))
            .returns(200, schema())
            .errors([412]),
        Route::get("/api/agents/{handle}/scratchpad", Read, "What it remembers", scratchpad).returns(200, pad_schema()),
        Route::get("/api/agents/{handle}/scratchpad/versions", Read, "What it remembered, newest first", versions)
            .returns_page(count(), pad_schema()),
        Route::post("/api/agents/{handle}/scratchpad/restore", Run, "Make an earlier version the newest", restore)
            .body(form([("version", count())], []))
            .returns(200, pad_schema()),
        Route::post("/api/agents/{handle}/scratchpad/clear", Run, "Empty it; what was there stays a version", clear)
            .returns(200, pad_schema()),
    ];
    // Subagents belong to a person, not to a project.
    all.into_iter().map(Route::personal).collect()
}

fn schema() -> Schema {
    let size =
        record([("version", count()), ("characters", count()), ("limit", count()), ("at", nullable(time()))], []);
    record! { "Agent":
        id: id(), handle: text(), name: text(), owner: id(), identity: text(), actions: list_of(text()),
        projects: list_of(records::project()), model: nullable(text()), version: count(), scratchpad: size,
        pending_lessons: count(), created_at: time(), updated_at: time(),
    }
}

fn pad_schema() -> Schema {
    record! { "Scratchpad":
        version: count(), content: text(), characters: count(), limit: count(), run_id: nullable(id()),
        step: nullable(count()), at: nullable(time());
        actor: records::author(), seq: nullable(count()),
    }
}

/// A subagent as its owner sees it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AgentView {
    #[serde(flatten)]
    pub record: AgentRecord,
    pub projects: Vec<engine::workspace::Project>,
    pub scratchpad: ScratchpadInfo,
    pub pending_lessons: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ScratchpadInfo {
    pub version: i64,
    pub characters: u32,
    pub limit: usize,
    pub at: Option<Timestamp>,
}

/// A subagent that the caller owns, by handle or id.
pub(super) async fn owned(app: &AppState, caller: &Caller, name: &str) -> ApiResult<AgentRecord> {
    let known = app.store.agent(name).await?.filter(|agent| agent.owner == caller.id());
    known.ok_or_else(|| Problem::missing("agent", "you own no subagent of that name; `pleach agent ls` lists yours"))
}

async fn view(app: &AppState, record: AgentRecord) -> ApiResult<AgentView> {
    let projects = app.store.projects(&record.scope(), None, MAX_PAGE).await?;
    let pad = app.store.scratchpad(record.id).await?;
    let (version, characters, at) = pad.map_or((0, 0, None), |pad| (pad.version, pad.characters, Some(pad.at)));
    let scratchpad = ScratchpadInfo { version, characters, limit: MAX_SCRATCHPAD_CHARS, at };
    let pending_lessons = app.store.pending_lessons(record.id).await?;
    Ok(AgentView { record, projects, scratchpad, pending_lessons })
}

async fn list(
    Context(app, caller): Context,
    QueryString(query): QueryString<PageQuery<ActorId>>,
) -> PageResult<AgentView> {
    let (limit, slice) = query.slice(MAX_PAGE);
    let found = app.store.agents(caller.id(), slice).await?;
    let Page { items, next_cursor } = Page::cut(found, limit, |agent| agent.id.to_string());
    let mut views = Vec::with_capacity(items.len());
    for agent in items {
        views.push(view(&app, agent).await?);
    }
    Ok(Json(Page { items: views, next_cursor }))
}

/// The body of `POST /api/agents`; without a handle, of `PATCH`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NewAgent {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actions: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projects: Option<Vec<ProjectId>>,
    /// An empty name removes the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl NewAgent {
    /// Applies the fields that are present. Only actions of the registry can be granted.
    fn applied(self, mut agent: AgentRecord) -> ApiResult<AgentRecord> {
        if let Some(name) = self.name {
            agent.name = bounded(name, MAX_NAME).map_err(|why| Problem::invalid("bad_name", why))?;
        }
        if let Some(identity) = self.identity {
            agent.identity = bounded(identity, MAX_IDENTITY).map_err(|why| Problem::invalid("bad_identity", why))?;
        }
        if let Some(mut actions) = self.actions {
            actions.sort();
            actions.dedup();
            agent.actions = grantable(actions)?;
        }
        if let Some(model) = self.model {
            agent.model = Some(model).filter(|model| !model.trim().is_empty());
        }
        Ok(agent)
    }
}

fn bounded(text: String, most: usize) -> Result<String, String> {
    match text.chars().count() {
        characters if characters > most => {
            Err(format!("the text has {characters} characters; at most {most} are allowed; nothing was changed"))
        }
        _ => Ok(text),
    }
}

fn grantable(actions: Vec<String>) -> ApiResult<Vec<String>> {
    let registry = Registry::builtin();
    let granted = |name: &&str| {
        let authorization = registry.find(name).map(Action::authorization);
        authorization == Some(Authorization::PeopleAndGrantedSubagents)
    };
    match actions.iter().find(|name| !granted(&name.as_str())) {
        Some(unknown) => {
            let valid: Vec<&str> = registry.list().iter().map(|action| action.name).filter(granted).collect();
            Err(Problem::invalid(
                "unknown_action",
                format!("action {unknown:?} cannot be granted; actions that can: {}", valid.join(", ")),
            ))
        }
        None => Ok(actions),
    }
}

async fn create(
    Context(app, caller): Context,
    Extension(source): Extension<RequestSource>,
    JsonBody(new): JsonBody<NewAgent>,
) -> ApiResult<(StatusCode, Json<AgentView>)> {
    app.commands()?;
    let handle = free_handle(&app, &caller, source, new.handle.clone().unwrap_or_default()).await?;
    let projects = visible_projects(&app, &caller, new.projects.as_deref().unwrap_or_default()).await?;
    let now = app.clock.now();
    let fresh = AgentRecord {
        id: app.mint(),
        name: handle.clone(),
        handle,
        owner: caller.id(),
        identity: String::new(),
        actions: Vec::new(),
        model: None,
        version: 1,
        created_at: now,
        updated_at: now,
    };
    let agent = new.applied(fresh)?;
    app.store.create_agent(agent.clone()).await?;
    for project in projects {
        add_to_project(&app, &caller, project, agent.id).await?;
    }
    Ok((StatusCode::CREATED, Json(view(&app, agent).await?)))
}

/// A taken handle reveals that somebody has it, so failed tries are rate-limited.
async fn free_handle(app: &AppState, caller: &Caller, source: RequestSource, handle: String) -> ApiResult<String> {
    match actors::free_handle(app, handle).await {
        Err(problem) if problem.status == StatusCode::CONFLICT && source == RequestSource::Open => {
            limit_rate(&app.origin.handles, &caller.id().to_string()).and(Err(problem))
        }
        free => free,
    }
}

/// The caller must see every project that the subagent is added to.
async fn visible_projects(app: &AppState, caller: &Caller, ids: &[ProjectId]) -> ApiResult<Vec<ProjectId>> {
    for project in ids {
        access::read_project(app, caller, *project).await?;
    }
    Ok(ids.to_vec())
}

/// Makes the subagent an editor, or less where its owner is less. What it does there is also limited by its granted actions.
async fn add_to_project(app: &AppState, caller: &Caller, project: ProjectId, agent: ActorId) -> ApiResult<()> {
    let own = access::role_in(app, caller, project).await?.ok_or_else(|| Problem::not_found("project"))?;
    Ok(app.store.grant(project, agent, MemberRole::Editor.min(own)).await?)
}

async fn show(Context(app, caller): Context, Id(name): Id<String>) -> JsonResult<AgentView> {
    let agent = owned(&app, &caller, &name).await?;
    view(&app, agent).await.map(Json)
}

async fn edit(
    Context(app, caller): Context,
    Id(name): Id<String>,
    headers: HeaderMap,
    JsonBody(patch): JsonBody<NewAgent>,
) -> JsonResult<AgentView> {
    app.commands()?;
    let agent = owned(&app, &caller, &name).await?;
    let expected =
        headers.get(header::IF_MATCH).and_then(|given| given.to_str().ok()).map(|given| given.trim_matches('"'));
    if expected.is_some_and(|given| given != "*" && given != agent.version.to_string()) {
        return Err(stale());
    }
    if patch.handle.is_some() {
        return Err(Problem::invalid(
            "bad_handle",
            "the handle of a subagent cannot be changed; nothing was changed. Leave it out",
        ));
    }
    let projects = match &patch.projects {
        Some(asked) => Some(visible_projects(&app, &caller, asked).await?),
        None => None,
    };
    let version = agent.version;
    let changed = AgentRecord { updated_at: app.clock.now(), ..patch.applied(agent)? };
    if !app.store.change_agent(changed.clone(), version).await? {
        return Err(stale());
    }
    if let Some(projects) = projects {
        let before = app.store.projects(&changed.scope(), None, MAX_PAGE).await?;
        for gone in before.iter().filter(|project| !projects.contains(&project.id)) {
            app.store.revoke(gone.id, changed.id).await?;
        }
        for project in projects {
            add_to_project(&app, &caller, project, changed.id).await?;
        }
    }
    view(&app, AgentRecord { version: version + 1, ..changed }).await.map(Json)
}

/// A version as JSON, with the size limit.
fn pad_json(pad: Option<ScratchpadVersion>) -> Value {
    let mut json = match pad {
        Some(pad) => serde_json::to_value(pad).unwrap_or_default(),
        None => {
            serde_json::json!({"version": 0, "content": "", "characters": 0, "run_id": null, "step": null, "at": null})
        }
    };
    json["limit"] = MAX_SCRATCHPAD_CHARS.into();
    json
}

async fn scratchpad(Context(app, caller): Context, Id(name): Id<String>) -> JsonResult<Value> {
    let agent = owned(&app, &caller, &name).await?;
    Ok(Json(pad_json(app.store.scratchpad(agent.id).await?)))
}

async fn versions(
    Context(app, caller): Context,
    Id(name): Id<String>,
    QueryString(query): QueryString<PageQuery<i64>>,
) -> PageResult<Value> {
    let agent = owned(&app, &caller, &name).await?;
    let (limit, slice) = query.slice(50);
    let found = app.store.scratchpad_versions(agent.id, slice.after, slice.limit).await?;
    let items = found.into_iter().map(|pad| pad_json(Some(pad))).collect();
    Ok(Json(Page::cut(items, limit, |pad: &Value| pad["version"].to_string())))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Restore {
    version: i64,
}

async fn restore(
    Context(app, caller): Context,
    Id(name): Id<String>,
    JsonBody(Restore { version }): JsonBody<Restore>,
) -> JsonResult<Value> {
    let agent = owned(&app, &caller, &name).await?;
    let before = app.store.scratchpad_versions(agent.id, Some(version.saturating_add(1)), 1).await?;
    let old = before.into_iter().find(|pad| pad.version == version).ok_or_else(|| {
        Problem::missing(
            "version",
            format!(
                "the scratchpad has no version {version}; nothing was changed. The list of versions shows which exist"
            ),
        )
    })?;
    rewrite(&app, &caller, agent.id, old.content).await
}

async fn clear(Context(app, caller): Context, Id(name): Id<String>) -> JsonResult<Value> {
    let agent = owned(&app, &caller, &name).await?;
    rewrite(&app, &caller, agent.id, String::new()).await
}

/// Writes a new version after the newest one, unless the content is the same.
async fn rewrite(app: &AppState, caller: &Caller, agent: ActorId, content: String) -> JsonResult<Value> {
    let newest = app.store.scratchpad(agent).await?;
    let based_on = newest.as_ref().map_or(0, |pad| pad.version);
    if newest.as_ref().map_or("", |pad| pad.content.as_str()) != content {
        let mutation = Mutation::WriteScratchpad { agent, content, based_on, step: None };
        write(app, caller, vec![mutation]).await?;
    }
    Ok(Json(pad_json(app.store.scratchpad(agent).await?)))
}
