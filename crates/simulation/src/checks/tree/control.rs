//! 27 and pauses: a cancel ends everything below the node and records what was in flight; nothing starts while a node or
//! one above it is paused.

use super::super::RunLog;
use super::NodeParents;
use engine::facts::tree::Disposition;
use engine::facts::{EffectFact as E, Fact, TreeFact as T};
use engine::ids::NodeId;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
struct Watch {
    live: BTreeSet<NodeId>,
    paused: BTreeSet<NodeId>,
    called: BTreeSet<NodeId>,
    planned: BTreeSet<NodeId>,
    /// Nodes with a child.
    delegated: BTreeSet<NodeId>,
    under_way: BTreeMap<NodeId, BTreeSet<String>>,
}

pub fn check(log: &RunLog<'_>) {
    let parents_of_nodes = NodeParents::of(&log.events);
    let mut watch = Watch::default();
    for event in &log.events {
        let Some(id) = event.node_id else { continue };
        let violation = |why: String| log.violation_at(event, why);
        match &event.fact {
            Fact::Tree(T::NodeCreated(_) | T::NodeReopened(_)) => {
                watch.live.insert(id);
                watch
                    .delegated
                    .extend(event.parent_node_id.filter(|_| matches!(&event.fact, Fact::Tree(T::NodeCreated(_)))));
            }
            Fact::Tree(T::PlanCreated(_)) => drop(watch.planned.insert(id)),
            Fact::Tree(T::NodeCompleted(_) | T::NodeFailed(_)) => drop(watch.live.remove(&id)),
            Fact::Tree(T::NodePaused(_)) => drop(watch.paused.insert(id)),
            Fact::Tree(T::NodeResumed(_)) => drop(watch.paused.remove(&id)),
            Fact::Tree(T::NodeCanceled(fact)) => {
                watch.live.remove(&id);
                if watch.paused.contains(&id) {
                    violation("27: canceled, and still paused".into());
                }
                let below = |node: &&NodeId| parents_of_nodes.path(**node).any(|above| above == id);
                if let Some(left) = watch.live.iter().find(below) {
                    violation(format!("27: canceled, and {left} below it goes on"));
                }
                if fact.disposition != watch.disposition(id) {
                    violation(format!("27: canceled as {:?}, and was {:?}", fact.disposition, watch.disposition(id)));
                }
            }
            Fact::Effect(E::Started(fact)) => {
                if let Some(above) = parents_of_nodes.path(id).find(|above| watch.paused.contains(above)) {
                    violation(format!("36: {} began although {above} is paused", fact.effect));
                }
                watch.called.insert(id);
                watch.under_way.entry(id).or_default().insert(fact.effect.0.clone());
            }
            Fact::Effect(E::Finished(fact)) => {
                watch.under_way.entry(id).or_default().remove(&fact.effect.0);
            }
            _ => {}
        }
    }
}

impl Watch {
    fn disposition(&self, id: NodeId) -> Disposition {
        let under_way = self.under_way.get(&id).is_some_and(|calls| !calls.is_empty());
        let only_planned = self.planned.contains(&id) && !self.delegated.contains(&id);
        match (under_way, self.called.contains(&id) && !only_planned) {
            (true, _) => Disposition::InFlightUnknown,
            (false, true) => Disposition::Done,
            (false, false) => Disposition::NotStarted,
        }
    }
}
