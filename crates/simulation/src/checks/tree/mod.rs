//! Invariants 10 to 18 of trees, per generation. The audit of the log alone comes first; the rest also looks at the
//! provider's bill and the store.

mod audit;
mod children;
mod control;
mod ends;
mod limits;
mod lives;
mod money;
mod reads;

use super::RunLog;
use crate::world::FinishedWorld;
use engine::event::Event;
use engine::facts::{Fact, TreeFact as T};
use engine::ids::NodeId;
use std::collections::BTreeMap;

pub async fn check(finished: &FinishedWorld, log: &RunLog, violations: &mut Vec<String>) {
    if let Err(why) = audit::audit(&log.events) {
        violations.push(format!("audit: run {} {why}", log.id));
    }
    let parents_of_nodes = NodeParents::of(&log.events);
    lives::check(log, violations);
    children::check(log, violations);
    control::check(log, &parents_of_nodes, violations);
    limits::check(finished, log, violations);
    money::check(log, violations);
    reads::check(finished, log, violations).await;
    ends::check(log, violations);
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
