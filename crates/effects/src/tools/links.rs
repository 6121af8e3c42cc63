//! Tools for edges between documents, tasks and projects.

use super::arguments::{ArgumentType, Arguments, required};
use super::tool_context::ToolContext;
use super::{Action, ActionError, ActionOutput, Changes, refuse};
use engine::ids::{DocumentId, EdgeId};
use engine::workspace::{Edge, Mutation};
use runtime::ports::{EdgeFilter, Slice};
use serde_json::json;
use uuid::Uuid;

/// How many edges between the same two ends are searched for an equal relation.
const MAX_EDGES_SEARCHED: usize = 1_000;

pub(super) const ACTIONS: &[Action] = &[
    Action {
        name: "link_entities",
        description: "Join two documents, tasks or projects by a relation (rel, of a-z and _), e.g. supports or \
                      depends_on.",
        changes: Changes::NewEdge,
        fields: &[
            required("src_id", ArgumentType::Id, "Where the edge starts."),
            required("dst_id", ArgumentType::Id, "Where it ends."),
            required("rel", ArgumentType::Relation, "How they relate, e.g. document_has_task."),
        ],
        handler: |context, arguments| Box::pin(link(context, arguments)),
    },
    Action {
        name: "unlink_entities",
        description: "Remove an edge.",
        changes: Changes::Existing,
        fields: &[required("edge_id", ArgumentType::Id, "The edge, as link_entities returned it.")],
        handler: |context, arguments| Box::pin(unlink(context, arguments)),
    },
];

async fn link(context: &ToolContext<'_>, arguments: &Arguments) -> Result<ActionOutput, ActionError> {
    let (src, dst): (Uuid, Uuid) = (arguments.required_id("src_id"), arguments.required_id("dst_id"));
    let rel = arguments.required_text("rel").to_owned();
    if src == dst {
        return refuse("src_id and dst_id are the same; an edge joins two different things");
    }
    let (from, to) = (context.entity(src).await?, context.entity(dst).await?);
    let between = EdgeFilter { src: Some(src), dst: Some(dst), run_id: None };
    let known = context.library.edges(context.scope, between, Slice::first(MAX_EDGES_SEARCHED)).await?;
    if let Some(edge) = known.iter().find(|edge| edge.rel == rel) {
        let content = json!({"edge_id": edge.id, "src_id": src, "dst_id": dst, "rel": rel, "unchanged": true});
        return Ok(ActionOutput::unchanged(content, format!("\"{}\" {rel} \"{}\" already", from.title, to.title)));
    }
    let id: EdgeId = context.mint(0);
    Ok(ActionOutput::changed(
        json!({"edge_id": id, "src_id": src, "dst_id": dst, "rel": rel}),
        format!("linked \"{}\" {rel} \"{}\"", from.title, to.title),
        vec![Mutation::Link { id, project_id: from.project_id, src, dst, rel, props: context.stamp().clone() }],
    ))
}

async fn unlink(context: &ToolContext<'_>, arguments: &Arguments) -> Result<ActionOutput, ActionError> {
    let edge = context.edge(arguments.required_id("edge_id")).await?;
    if is_platform(context, &edge).await? {
        return refuse(format!("edge {} belongs to the platform's own workspace and cannot be removed", edge.id));
    }
    Ok(ActionOutput::changed(
        json!({"edge_id": edge.id, "src_id": edge.src, "dst_id": edge.dst, "rel": edge.rel, "removed": true}),
        format!("unlinked {} {} {}", edge.src, edge.rel, edge.dst),
        vec![Mutation::Unlink { id: edge.id }],
    ))
}

/// Whether both ends are the platform's own documents.
async fn is_platform(context: &ToolContext<'_>, edge: &Edge) -> Result<bool, ActionError> {
    for end in [edge.src, edge.dst] {
        let document = context.library.document(context.scope, DocumentId(end)).await?;
        if !document.is_some_and(|document| document.is_platform()) {
            return Ok(false);
        }
    }
    Ok(true)
}
