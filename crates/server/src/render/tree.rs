//! A run's documents and tasks, drawn as the tree that their edges form.

use super::style::line;
use crate::api::Workspace;
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// Items without a parent come last, so that none is hidden.
pub(crate) fn lines(workspace: &Workspace) -> Vec<String> {
    let mut nodes: BTreeMap<Uuid, String> = BTreeMap::new();
    for document in &workspace.documents {
        nodes.insert(document.id.0, format!("{}  {}  {}", line(&document.title), document.type_key, document.id));
    }
    for task in &workspace.tasks {
        nodes.insert(task.id.0, format!("[{}] {}  task  {}", task.state.name(), line(&task.title), task.id));
    }
    let mut children: BTreeMap<Uuid, Vec<Uuid>> = BTreeMap::new();
    for edge in workspace.edges.iter().filter(|edge| edge.rel.starts_with("document_has_")) {
        children.entry(edge.src).or_default().push(edge.dst);
    }
    let below: BTreeSet<Uuid> = children.values().flatten().copied().collect();
    let root = workspace.workspace_document_id.map(|id| id.0);
    let loose = nodes.keys().copied().filter(|id| Some(*id) != root && !below.contains(id));
    let mut tree = Tree { nodes: &nodes, children: &children, seen: BTreeSet::new(), lines: Vec::new() };
    root.into_iter().chain(loose.collect::<Vec<_>>()).for_each(|id| tree.add(id, 0));
    tree.lines
}

struct Tree<'a> {
    nodes: &'a BTreeMap<Uuid, String>,
    children: &'a BTreeMap<Uuid, Vec<Uuid>>,
    /// Edges may form cycles; each item is shown once.
    seen: BTreeSet<Uuid>,
    lines: Vec<String>,
}

impl Tree<'_> {
    fn add(&mut self, id: Uuid, depth: usize) {
        let Some(text) = self.nodes.get(&id).filter(|_| self.seen.insert(id)) else { return };
        self.lines.push(format!("{}{text}", "  ".repeat(depth)));
        for child in self.children.get(&id).into_iter().flatten() {
            self.add(*child, depth + 1);
        }
    }
}
