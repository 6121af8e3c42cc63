//! Invariants 10 to 18 of trees, per generation. The audit of the log alone comes first; the rest also looks at the
//! provider's bill and the store.

mod audit;
mod control;
mod money;
mod parallel;
mod reads;

use super::RunLog;
use engine::event::Event;
use engine::facts::{Fact, TreeFact as T};
use engine::ids::NodeId;
use std::collections::BTreeMap;

pub async fn check(log: &RunLog<'_>) {
    if let Err(why) = audit::audit(&log.events) {
        log.violation(why);
    }
    control::check(log);
    parallel::check(log);
    money::check(log);
    reads::check(log).await;
}

/// The parent of each node, from the events that created them.
pub struct NodeParents(BTreeMap<NodeId, Option<NodeId>>);

impl NodeParents {
    pub fn of(events: &[Event]) -> NodeParents {
        let created = events.iter().filter(|event| matches!(event.fact, Fact::Tree(T::NodeCreated(_))));
        NodeParents(created.filter_map(|event| Some((event.node_id?, event.parent_node_id))).collect())
    }

    /// The node and its ancestors.
    pub fn path(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(Some(node), |at| self.0.get(at).copied().flatten())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}
