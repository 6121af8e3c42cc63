//! 14, 15: bands run one after the other, and every aggregation covers exactly its children. Checked by the children's own
//! events, not by what their parent records about its steps.

use super::super::RunLog;
use engine::event::Event;
use engine::facts::{Fact, TreeFact as T};
use engine::ids::NodeId;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, PartialEq, Eq)]
enum ChildStatus {
    Live,
    Completed,
    Over,
}

#[derive(Default)]
struct Parent {
    /// The steps of the plan in force and of finished ones before it, each with its band.
    steps: BTreeMap<String, u32>,
    /// The node that works on a step, or did last.
    child: BTreeMap<String, NodeId>,
}

#[derive(Default)]
struct Families {
    parents: BTreeMap<NodeId, Parent>,
    stand: BTreeMap<NodeId, ChildStatus>,
}

pub fn check(log: &RunLog, violations: &mut Vec<String>) {
    let mut families = Families::default();
    for event in &log.events {
        let (Fact::Tree(fact), Some(id)) = (&event.fact, event.node_id) else { continue };
        if let Err(why) = families.observe(fact, id, event) {
            violations.push(format!("{why}: node {id} of run {} at {}", log.id, event.seq));
        }
    }
}

impl Families {
    fn observe(&mut self, fact: &T, id: NodeId, event: &Event) -> Result<(), String> {
        match fact {
            T::NodeCreated(fact) => {
                self.stand.insert(id, ChildStatus::Live);
                if let (Some(parent), Some(step)) = (event.parent_node_id, &fact.step_id) {
                    return self.born(parent, id, step, fact.retry_of);
                }
            }
            T::PlanCreated(fact) => {
                let stand = &self.stand;
                let parent = self.parents.entry(id).or_default();
                parent.child.retain(|_, child| stand.get(child) == Some(&ChildStatus::Completed));
                let child = &parent.child;
                parent.steps.retain(|step, _| child.contains_key(step));
                for band in &fact.bands {
                    parent.steps.extend(band.steps.iter().map(|step| (step.id.clone(), band.index)));
                }
            }
            T::NodeCompleted(_) => drop(self.stand.insert(id, ChildStatus::Completed)),
            T::NodeFailed(_) | T::NodeCanceled(_) => drop(self.stand.insert(id, ChildStatus::Over)),
            T::NodeReopened(_) => drop(self.stand.insert(id, ChildStatus::Live)),
            T::NodeAggregated(fact) => {
                let reported: BTreeSet<NodeId> = fact.child_ids.iter().copied().collect();
                let known: BTreeSet<NodeId> =
                    self.parents.get(&id).into_iter().flat_map(|parent| parent.child.values().copied()).collect();
                if reported != known || reported.len() != fact.child_ids.len() {
                    return Err(format!("15: summed up {} children and has {}", reported.len(), known.len()));
                }
                if known.iter().any(|child| self.stand.get(child) == Some(&ChildStatus::Live)) {
                    return Err("15: summed up while a child was at work".into());
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn born(&mut self, parent: NodeId, id: NodeId, step: &str, retry_of: Option<NodeId>) -> Result<(), String> {
        let parents_of_nodes = self.parents.entry(parent).or_default();
        let Some(band) = parents_of_nodes.steps.get(step).copied() else {
            return Err(format!("14: works on {step:?}, which nobody planned"));
        };
        let before = parents_of_nodes.child.insert(step.to_owned(), id);
        if before != retry_of {
            return Err(format!("14: the step {step:?} had {before:?}, which {retry_of:?} does not replace"));
        }
        let ahead = parents_of_nodes
            .steps
            .iter()
            .filter(|(_, other)| **other < band)
            .map(|(step, _)| parents_of_nodes.child.get(step));
        let mut ahead = ahead.map(|child| child.and_then(|child| self.stand.get(child).copied()));
        // A retried step may run beside later bands; a new one waits for the bands before it.
        if retry_of.is_none() && ahead.any(|stand| stand.is_none_or(|stand| stand == ChildStatus::Live)) {
            return Err(format!("14: begins {step:?} of band {band} before the band ahead is over"));
        }
        Ok(())
    }
}
