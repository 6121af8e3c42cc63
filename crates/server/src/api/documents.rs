//! Routes for documents: those of people, who edit them, and those of the platform, which people only read.

use super::prelude::*;
use super::projects::{self, MAX_TITLE, checked_title};
use super::version::{self, IfMatch, versioned, write};
use engine::ids::{DocumentId, EdgeId, ProjectId, RunId};
use engine::workspace::{DOC_ROLE, DOCUMENT_HAS_DOCUMENT, Document, Entry, Mutation};
use runtime::ports::DocumentFilter;
use serde_json::Map;
use store::{DocumentVersion, Removed};

const DEFAULT_TYPE: &str = "document.note";
const MAX_TYPE: usize = 100;
/// Props that only the platform sets.
const PLATFORM_PROPS: [&str; 4] = [DOC_ROLE, "homework_run_id", "branch_id", "iteration"];

pub(super) fn routes() -> Vec<Route> {
    const ONE: &str = "/api/documents/{id}";
    let limit = || whole(1, MAX_PAGE as i64);
    let new = form! {
        title: words(MAX_TITLE), project_id: id();
        content: text(), parent_document_id: id(), type_key: type_key(), props: open(),
    };
    vec![
        Route::get("/api/documents", Read, "Documents, newest first, without their text", list)
            .query("project_id", id())
            .query("type_key", type_key())
            .query("doc_role", text())
            .query("run_id", id())
            .query("branch_id", text())
            .query("iteration", count())
            .returns_page(id(), records::document()),
        Route::post("/api/documents", Run, "A new document", create)
            .body(new)
            .returns(201, records::document())
            .errors([404]),
        Route::get(ONE, Read, "A document", show).returns(200, records::document()),
        Route::patch(ONE, Run, "Change a document; props are merged key by key", edit)
            .header("If-Match", version::schema())
            .body(form([], [("title", words(MAX_TITLE)), ("content", text()), ("props", open())]))
            .returns(200, records::document())
            .errors([412, 428]),
        Route::delete(ONE, Run, "Remove a document with its versions", remove).returns_empty(204),
        Route::get("/api/documents/{id}/entries", Read, "A scratchpad's entries, newest first", entries)
            .query("before", count())
            .query("limit", limit())
            .returns(200, page(entry())),
        Route::get("/api/documents/{id}/versions", Read, "A document's versions, newest first", versions)
            .query("before", count())
            .query("limit", limit())
            .returns(200, page(version_schema())),
    ]
}

fn type_key() -> Schema {
    json!({"type": "string", "pattern": "^[a-z0-9_.]{1,100}$"})
}

fn entry() -> Schema {
    record! { "Entry":
        document_id: id(), position: count(), key: text(), markdown: text(), run_id: nullable(id()),
        seq: nullable(count()), created_at: time(),
    }
}

fn version_schema() -> Schema {
    record! { "Version":
        version: count(), title: text(), content: text(), run_id: nullable(id()), seq: nullable(count()),
        at: time(),
    }
}

async fn visible(app: &AppState, caller: &Caller, id: DocumentId) -> ApiResult<Document> {
    app.store.document(&caller.scope(), id).await?.ok_or_else(|| Problem::not_found("document"))
}

async fn shown(app: &AppState, caller: &Caller, id: DocumentId, status: StatusCode) -> ApiResult<Response> {
    let document = visible(app, caller, id).await?;
    Ok(versioned(status, document.version, document))
}

/// The same check without reading the text.
async fn check_visible(app: &AppState, caller: &Caller, id: DocumentId) -> ApiResult<()> {
    let visible = app.store.sees_document(&caller.scope(), id).await?;
    visible.then_some(()).ok_or_else(|| Problem::not_found("document"))
}

/// A document that this caller may change.
async fn writable(app: &AppState, caller: &Caller, id: DocumentId) -> ApiResult<Document> {
    let document = visible(app, caller, id).await?;
    access::may_write(app, caller, document.project_id).await?;
    not_platform(document)
}

/// Refuses documents that belong to a run: only the run writes them, while everybody may read, link and copy them.
fn not_platform(document: Document) -> ApiResult<Document> {
    match document.is_platform() {
        true => Err(Problem::conflict(
            "platform_document",
            "only its run writes this document; nothing was changed. Copy it to change it",
        )),
        false => Ok(document),
    }
}

#[derive(Deserialize)]
struct ListQuery {
    project_id: Option<ProjectId>,
    type_key: Option<String>,
    doc_role: Option<String>,
    run_id: Option<RunId>,
    branch_id: Option<String>,
    iteration: Option<u32>,
    cursor: Option<DocumentId>,
    limit: Option<usize>,
}

async fn list(Context(app, caller): Context, QueryString(query): QueryString<ListQuery>) -> PageResult<Document> {
    let limit = page_limit(query.limit, 50);
    let filter = DocumentFilter {
        project_id: query.project_id,
        type_key: query.type_key,
        doc_role: query.doc_role,
        run_id: query.run_id,
        branch_id: query.branch_id,
        iteration: query.iteration,
        before: query.cursor,
        limit: limit + 1,
    };
    if filter.asks_props() && filter.run_id.is_none() {
        return Err(Problem::invalid(
            "run_id_missing",
            "`branch_id` and `iteration` select documents of one run; give `run_id` too",
        ));
    }
    let found = app.store.documents(&caller.scope(), filter).await?;
    Ok(Json(Page::cut(found, limit, |document| document.id.to_string())))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewDocument {
    title: String,
    project_id: ProjectId,
    #[serde(default)]
    content: String,
    parent_document_id: Option<DocumentId>,
    type_key: Option<String>,
    #[serde(default)]
    props: Map<String, Value>,
}

async fn create(Context(app, caller): Context, JsonBody(new): JsonBody<NewDocument>) -> ApiResult<Response> {
    let project_id = projects::with_space(&app, &caller, new.project_id).await?.id;
    let id: DocumentId = app.mint();
    let mut mutations = vec![Mutation::CreateDocument {
        id,
        project_id,
        title: checked_title(&new.title)?,
        type_key: checked_type(new.type_key)?,
        content: new.content,
        props: Value::Object(user_props(new.props)?),
    }];
    if let Some(parent) = new.parent_document_id {
        let src = visible(&app, &caller, parent).await?.id.0;
        let (edge, rel): (EdgeId, _) = (app.mint(), DOCUMENT_HAS_DOCUMENT.to_owned());
        mutations.push(Mutation::Link { id: edge, project_id, src, dst: id.0, rel, props: json!({}) });
    }
    write(&app, &caller, mutations).await?;
    shown(&app, &caller, id, StatusCode::CREATED).await
}

fn checked_type(key: Option<String>) -> ApiResult<String> {
    let key = key.unwrap_or_else(|| DEFAULT_TYPE.into());
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.".contains(c);
    match (1..=MAX_TYPE).contains(&key.len()) && key.chars().all(fits) {
        true => Ok(key),
        false => Err(Problem::invalid(
            "bad_type_key",
            "a type_key has 1 to 100 characters of a-z, 0-9, _ and .; nothing was changed",
        )),
    }
}

/// Refuses props that only the platform sets.
pub(super) fn user_props(props: Map<String, Value>) -> ApiResult<Map<String, Value>> {
    match PLATFORM_PROPS.iter().find(|key| props.contains_key(**key)) {
        Some(key) => Err(Problem::invalid(
            "bad_props",
            format!("props may not contain {key}, which the platform sets; nothing was changed"),
        )),
        None => Ok(props),
    }
}

async fn show(Context(app, caller): Context, Id(id): Id<DocumentId>) -> ApiResult<Response> {
    shown(&app, &caller, id, StatusCode::OK).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DocumentPatch {
    title: Option<String>,
    content: Option<String>,
    props: Option<Map<String, Value>>,
}

async fn edit(
    Context(app, caller): Context,
    Id(id): Id<DocumentId>,
    expected: IfMatch,
    JsonBody(patch): JsonBody<DocumentPatch>,
) -> ApiResult<Response> {
    let document = writable(&app, &caller, id).await?;
    expected.check(document.version)?;
    let mutation = Mutation::UpdateDocument {
        id,
        expected_version: Some(document.version),
        title: patch.title.as_deref().map(checked_title).transpose()?,
        content: patch.content,
        props: patch.props.map(user_props).transpose()?.map(Value::Object),
    };
    write(&app, &caller, vec![mutation]).await?;
    shown(&app, &caller, id, StatusCode::OK).await
}

async fn remove(Context(app, caller): Context, Id(id): Id<DocumentId>) -> ApiResult<StatusCode> {
    app.commands()?;
    writable(&app, &caller, id).await?;
    match app.store.remove_document(id).await? {
        Removed::Done => Ok(StatusCode::NO_CONTENT),
        _ => Err(Problem::not_found("document")),
    }
}

#[derive(Deserialize)]
struct PartQuery {
    before: Option<i64>,
    limit: Option<usize>,
}

async fn entries(
    Context(app, caller): Context,
    Id(id): Id<DocumentId>,
    QueryString(query): QueryString<PartQuery>,
) -> PageResult<Entry> {
    check_visible(&app, &caller, id).await?;
    let limit = page_limit(query.limit, 50);
    let found = app.store.entries(&caller.scope(), id, query.before, limit + 1).await?;
    Ok(Json(Page::cut(found, limit, |entry| entry.position.to_string())))
}

async fn versions(
    Context(app, caller): Context,
    Id(id): Id<DocumentId>,
    QueryString(query): QueryString<PartQuery>,
) -> PageResult<DocumentVersion> {
    check_visible(&app, &caller, id).await?;
    let limit = page_limit(query.limit, 50);
    let slice = Slice { after: query.before, limit: limit + 1 };
    let found = app.store.versions(&caller.scope(), id, slice).await?;
    Ok(Json(Page::cut(found, limit, |version| version.version.to_string())))
}
