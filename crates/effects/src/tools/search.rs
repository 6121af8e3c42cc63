//! Tools that search. The library decides what a query means, the same on every database; this module only checks that the
//! query has a word in it.

use super::arguments::{ArgumentType, Arguments, Field, LIMIT, MAX_QUERY_CHARS, optional, required};
use super::documents::is_platform_type;
use super::tool_context::{ToolContext, page};
use super::{Action, ActionError, ActionOutput, Changes, refuse};
use runtime::ports::{Hit, HitKind, SearchFilter};
use serde_json::{Value, json};

const QUERY: Field = required(
    "query",
    ArgumentType::Line { max: MAX_QUERY_CHARS },
    "Words that must all occur; the last may be a beginning.",
);

pub(super) const ACTIONS: &[Action] = &[
    Action {
        name: "search_documents",
        description: "Find documents that contain all the words of the query; the last may be a beginning.",
        changes: Changes::Nothing,
        fields: &[
            QUERY,
            optional("project_id", ArgumentType::Id, "Only in this project."),
            optional("type_key", ArgumentType::TypeKey, "Only this type; so the platform's own are found."),
            LIMIT,
        ],
        handler: |context, arguments| Box::pin(find(context, arguments, &[HitKind::Document])),
    },
    Action {
        name: "search",
        description: "Find documents, tasks and projects that contain all the words of the query; the last may be \
                      a beginning.",
        changes: Changes::Nothing,
        fields: &[QUERY, LIMIT],
        handler: |context, arguments| {
            Box::pin(find(context, arguments, &[HitKind::Document, HitKind::Task, HitKind::Project]))
        },
    },
];

async fn find(
    context: &ToolContext<'_>,
    arguments: &Arguments,
    kinds: &[HitKind],
) -> Result<ActionOutput, ActionError> {
    let query = arguments.required_text("query").trim();
    if !query.chars().any(char::is_alphanumeric) {
        return refuse("argument `query` has no letters or digits: expected words to look for");
    }
    if let Some(why) = runtime::search_terms::too_many(query) {
        return refuse(format!("argument `query`: {why}"));
    }
    let limit = arguments.limit();
    let project = context.requested_project(arguments).await?;
    let type_key = arguments.text("type_key").map(str::to_owned);
    let of_platform = type_key.as_deref().is_some_and(is_platform_type);
    let filter = SearchFilter {
        kinds: kinds.to_vec(),
        type_key,
        project_id: project,
        limit: limit + 1,
        ..SearchFilter::default()
    };
    let (hits, more) = page(context.library.search(context.scope, query, filter).await?, limit);
    let summary = format!("{} found for \"{query}\"", hits.len());
    // The query is left out of the result: otherwise every search that finds nothing would count as new.
    let content = json!({"results": hits.iter().map(shown).collect::<Vec<_>>(), "more": more});
    Ok(ActionOutput { read: !of_platform, ..ActionOutput::read(content, summary) })
}

fn shown(hit: &Hit) -> Value {
    let kind = match hit.kind {
        HitKind::Document => "document",
        HitKind::Task => "task",
        HitKind::Project => "project",
    };
    json!({"kind": kind, "id": hit.id, "project_id": hit.project_id, "title": hit.title, "excerpt": hit.excerpt})
}
