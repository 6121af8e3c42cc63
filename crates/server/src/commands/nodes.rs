//! Nodes of a tree run: found by id or number, fetched for the tree view, and shown.

use super::{Session, all_pages, encoded, print};
use crate::api::{NodeView, Page};
use crate::api_client::{ApiClient, ApiError};
use crate::failure::Failure;
use crate::render::node;
use crate::render::style::json_line;
use crate::render::tree_view::TreeView;
use engine::batch::{NodeRow, RunRow};
use engine::ids::{NodeId, RunId};
use engine::run::Kind;

const PAGE: usize = 1_000;

/// A node by its id or its number (`n3` or `3`).
pub(crate) async fn find(session: &Session, run: RunId, text: &str) -> Result<NodeId, Failure> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    let number = text.strip_prefix(['n', 'N']).unwrap_or(text).parse::<u32>();
    let Ok(number) = number else {
        return Err(Failure::usage(format!(
            "{text} is neither a node's id nor its number (such as n3)\n`pleach show {run}` lists the nodes of run {run}."
        )));
    };
    let Some(reader) = session.reader().await? else { return Err(super::no_such_run(&run.to_string())) };
    let after = number.checked_sub(1).map(|before| format!("&cursor={before}")).unwrap_or_default();
    let kind = reader.client.get::<RunRow>(&format!("/api/runs/{run}")).await?.kind;
    let page: Page<NodeRow> = reader.client.get(&format!("/api/runs/{run}/nodes?limit=1{after}")).await?;
    reader.close().await;
    match (kind, page.items.first().filter(|node| node.ordinal.0 == number)) {
        (_, Some(node)) => Ok(node.id),
        (Kind::Tree, None) => {
            Err(Failure::usage(format!("run {run} has no node n{number}\n`pleach show {run}` lists its nodes.")))
        }
        (kind, None) => Err(Failure::usage(format!(
            "run {run} is a {} run and has no node {text}: only tree runs have nodes. Leave --node out.",
            kind.name()
        ))),
    }
}

/// Fetches the nodes that changed since the last call, and the plans.
pub(crate) async fn refresh(client: &ApiClient, tree_view: &mut TreeView, run: RunId) -> Result<(), ApiError> {
    let since = tree_view.seen_until().map(|at| format!("&since={}", encoded(&at.to_string()))).unwrap_or_default();
    tree_view.update(all_pages(client, &format!("/api/runs/{run}/nodes?limit={PAGE}{since}"), "cursor").await?);
    tree_view.plan(client.get(&format!("/api/runs/{run}/plans")).await?);
    Ok(())
}

pub(crate) async fn show(session: &Session, client: &ApiClient, run: RunId, node: NodeId) -> Result<(), Failure> {
    let text = client.get_text(&format!("/api/runs/{run}/nodes/{node}")).await?;
    if session.json {
        print(&json_line(&text));
        return Ok(());
    }
    let view: NodeView = serde_json::from_str(&text).map_err(|error| Failure::failed(error.to_string()))?;
    node::lines(&view, session.style).iter().for_each(|text| print(text));
    Ok(())
}
