//! The nodes of a tree as a nested list: each below its parent, in the order of the plan.

use crate::page::line;
use engine::batch::NodeRow;
use engine::ids::NodeId;
use std::collections::HashMap;

/// How many nodes a page lists.
pub(crate) const MAX_NODES_LISTED: usize = 200;
/// Deeper nodes are told from their parents by the order alone.
const MAX_INDENT: u32 = 20;

/// Of the first `MAX_NODES_LISTED` nodes: when as many came, there may be more.
pub(crate) fn outline(nodes: &[NodeRow]) -> String {
    let mut below: HashMap<Option<NodeId>, Vec<&NodeRow>> = HashMap::new();
    for node in nodes {
        below.entry(node.parent_node_id).or_default().push(node);
    }
    // Taken from the end, so that the first of the plan comes first.
    below.values_mut().for_each(|list| {
        list.sort_by_key(|node| std::cmp::Reverse((node.band_index, node.step_index, node.ordinal)));
    });
    let mut out = String::new();
    let mut open: Vec<&NodeRow> = below.get(&None).cloned().unwrap_or_default();
    while let Some(node) = open.pop() {
        out.push_str(&item(node));
        open.extend(below.get(&Some(node.id)).into_iter().flatten());
    }
    if nodes.len() == MAX_NODES_LISTED {
        out.push_str(&format!("\nOnly the first {MAX_NODES_LISTED} nodes are listed.\n"));
    }
    out
}

fn item(node: &NodeRow) -> String {
    let indent = "  ".repeat(node.depth.min(MAX_INDENT) as usize);
    let mut words = vec![node.status.name().to_owned()];
    words.extend(node.paused.then(|| "paused".to_owned()));
    words.extend(node.outcome.map(|outcome| outcome.name().to_owned()));
    words.extend(node.retry_of.map(|earlier| format!("retry of {earlier}")));
    words.extend(node.error.as_deref().map(line));
    format!("{indent}- n{} {} {}: {}\n", node.ordinal, node.id, line(node.title.as_str()), words.join(", "))
}
