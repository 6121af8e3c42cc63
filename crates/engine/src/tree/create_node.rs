//! Creates nodes with their scratchpads, and writes documents.

use super::state::State;
use super::status::{NodeRole, NodeStatus};
use super::{ARTIFACT, SCRATCHPAD};
use crate::facts::tree::{self as fact, NodeStatusChanged};
use crate::ids::{DocumentId, NodeId, NodeNumber};
use crate::run::{Facts, NodeRef, Shared};
use crate::tree::answer::LeafDecision;
use crate::workspace::Mutation;
use serde_json::{Value, json};

impl State {
    /// Creates a node and its scratchpad, linked below its parent's, and lets it begin.
    pub(super) fn create(
        &self,
        shared: &Shared,
        id: NodeId,
        parent: Option<NodeNumber>,
        created: fact::NodeCreated,
        leaf: bool,
        facts: &mut Facts,
    ) {
        let node_ref = NodeRef { node: Some(id), parent: parent.map(|parent| self.at(parent).id) };
        let (title, depth) = (created.title.clone(), created.depth);
        let opening = self.pad_opening(shared, parent, &created);
        facts.push_at(node_ref, created);
        let scratchpad: DocumentId = facts.new_id();
        facts.mutate(Mutation::CreateDocument {
            id: scratchpad,
            project_id: shared.home_project(),
            title: format!("Scratchpad: {title}"),
            type_key: SCRATCHPAD.into(),
            content: opening,
            props: json!({
                "doc_role": "tree_agent_scratchpad", "tree_agent_run_id": shared.id, "tree_agent_node_id": id,
                "parent_node_id": node_ref.parent, "depth": depth,
            }),
        });
        if let Some(parent) = parent {
            facts.link(shared, self.at(parent).scratchpad, scratchpad);
        }
        facts.push_at(node_ref, fact::ScratchpadLinked { scratchpad_doc_id: scratchpad });
        self.begin(shared, node_ref, depth, leaf, facts);
    }

    /// Plan, unless the step is a leaf already or the tree may grow no deeper.
    pub(super) fn begin(&self, shared: &Shared, node_ref: NodeRef, depth: u32, leaf: bool, facts: &mut Facts) {
        if leaf {
            facts.push_at(node_ref, executes_itself(LeafDecision::Direct));
        } else if depth >= shared.budgets.max_depth {
            self.force_leaf(node_ref, "max_depth", shared.budgets.max_depth.into(), facts);
        } else {
            facts.push_at(node_ref, NodeStatusChanged::to(NodeStatus::Planning, NodeRole::Planner));
        }
    }

    /// A limit makes the node work as an executor; the guard event names the limit.
    pub(super) fn force_leaf(&self, node_ref: NodeRef, guard: &str, limit: Value, facts: &mut Facts) {
        facts.push_at(node_ref, fact::Guard { guard: guard.into(), limit });
        facts.push_at(
            node_ref,
            NodeStatusChanged::to(NodeStatus::Executing, NodeRole::Executor).saying(format!("guard:{guard}")),
        );
    }

    /// Creates a document linked under the node's scratchpad.
    pub(super) fn write_document(
        &self,
        shared: &Shared,
        number: NodeNumber,
        title: &str,
        content: &str,
        facts: &mut Facts,
    ) -> DocumentId {
        let (id, node): (DocumentId, _) = (facts.new_id(), self.at(number));
        facts.mutate(Mutation::CreateDocument {
            id,
            project_id: shared.home_project(),
            title: title.to_owned(),
            type_key: ARTIFACT.into(),
            content: content.to_owned(),
            props: json!({ "tree_agent_run_id": shared.id, "tree_agent_node_id": node.id, "depth": node.depth }),
        });
        facts.link(shared, node.scratchpad, id);
        id
    }
}

/// The planner decided that the node works as an executor.
pub(super) fn executes_itself(decision: LeafDecision) -> NodeStatusChanged {
    NodeStatusChanged::to(NodeStatus::Executing, NodeRole::Executor)
        .saying(format!("leaf_decision:{}", decision.name()))
}
