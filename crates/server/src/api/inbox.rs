//! The route that lists the open questions of all of the caller's runs.

use super::prelude::*;
use super::query::BoolParameter;
use engine::batch::RunRow;
use engine::ids::{NodeId, RunId};
use runtime::ports::RunFilter;

pub(super) fn routes() -> Vec<Route> {
    let from = record! {
        run_id: id(), kind: text(), objective: text(), status: text(), node_title: nullable(text()),
    };
    let asking = serde_json::json!({"allOf": [records::question(), from]});
    let route = Route::get("/api/questions", Read, "Questions of all runs, newest run first", questions)
        .query("open", BoolParameter::schema())
        .returns_page(id(), asking);
    vec![route]
}

/// A question with the run and node that asked it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct InboxQuestion {
    pub run_id: RunId,
    pub kind: String,
    pub objective: String,
    pub status: String,
    /// The title of the node that asks, in a tree.
    pub node_title: Option<String>,
    #[serde(flatten)]
    pub question: Value,
}

#[derive(Deserialize)]
struct InboxQuery {
    /// Only unanswered ones.
    #[serde(default)]
    open: BoolParameter,
    /// The last run of the previous page.
    cursor: Option<RunId>,
    limit: Option<usize>,
}

/// Pages are made of runs, newest first: `limit` counts runs, and a page holds all of their questions.
async fn questions(
    Context(app, caller): Context,
    QueryString(query): QueryString<InboxQuery>,
) -> PageResult<InboxQuestion> {
    let limit = page_limit(query.limit, 50);
    let open = query.open.is_on();
    let filter = RunFilter { asking: open, before: query.cursor, limit, ..RunFilter::default() };
    let runs = app.store.runs(&caller.scope(), filter).await?;
    let next_cursor = runs.last().filter(|_| runs.len() == limit).map(|run| run.id.to_string());
    let mut items = Vec::new();
    for run in &runs {
        for question in run.questions.as_array().into_iter().flatten() {
            if !open || question["answer"].is_null() {
                items.push(inbox_question(&app, &caller, run, question).await?);
            }
        }
    }
    Ok(Json(Page { items, next_cursor }))
}

async fn inbox_question(app: &AppState, caller: &Caller, run: &RunRow, question: &Value) -> ApiResult<InboxQuestion> {
    let node: Option<NodeId> = question["node_id"].as_str().and_then(|id| id.parse().ok());
    let node = match node {
        Some(node) => app.store.node(&caller.scope(), run.id, node).await?,
        None => None,
    };
    Ok(InboxQuestion {
        run_id: run.id,
        kind: run.kind.name().into(),
        objective: run.objective.clone(),
        status: run.status.name().into(),
        node_title: node.map(|node| node.title),
        question: question.clone(),
    })
}
