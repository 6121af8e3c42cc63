//! A run ends as its root did, whatever a model claims; what was canceled leaves nothing alive.

use super::super::RunLog;
use engine::event::Event;
use engine::facts::tree::NodeOutcome;
use engine::facts::{Fact, RunFact as R, TreeFact as T};
use engine::ids::NodeId;
use engine::run::StopReason;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Success,
    Partial,
    Failed,
    Canceled,
}

#[derive(Default)]
struct Wood {
    root: Option<NodeId>,
    live: BTreeSet<NodeId>,
    ended: BTreeMap<NodeId, End>,
    /// Children by parent, those that were replaced left out.
    children: BTreeMap<NodeId, BTreeSet<NodeId>>,
}

pub fn check(log: &RunLog, violations: &mut Vec<String>) {
    let mut wood = Wood::default();
    for event in &log.events {
        match &event.fact {
            Fact::Run(fact) => {
                if let Some(why) = wood.check_world(fact) {
                    violations.push(format!("ends: run {} at {}: {why}", log.id, event.seq));
                }
            }
            Fact::Tree(fact) => wood.learn(fact, event),
            _ => {}
        }
    }
}

impl Wood {
    fn learn(&mut self, fact: &T, event: &Event) {
        let Some(id) = event.node_id else { return };
        let end = match fact {
            T::NodeCreated(fact) => {
                self.root.get_or_insert(id);
                self.live.insert(id);
                if let Some(parent) = event.parent_node_id {
                    let children = self.children.entry(parent).or_default();
                    children.insert(id);
                    children.retain(|child| Some(*child) != fact.retry_of);
                }
                return;
            }
            T::NodeReopened(_) => {
                self.live.insert(id);
                self.ended.remove(&id);
                return;
            }
            T::NodeCompleted(fact) if fact.outcome == NodeOutcome::Success => End::Success,
            T::NodeCompleted(_) => End::Partial,
            T::NodeFailed(_) => End::Failed,
            T::NodeCanceled(_) => End::Canceled,
            _ => return,
        };
        self.live.remove(&id);
        self.ended.insert(id, end);
    }

    fn check_world(&self, fact: &R) -> Option<String> {
        let root = self.root.and_then(|root| self.ended.get(&root)).copied();
        match fact {
            R::Completed(_) => {
                let sound = matches!(root, Some(End::Success | End::Partial)) && self.live.is_empty();
                let children = self.root.and_then(|root| self.children.get(&root)).into_iter().flatten();
                let ends: Vec<End> = children.filter_map(|child| self.ended.get(child).copied()).collect();
                let none = !ends.is_empty() && ends.iter().all(|end| matches!(end, End::Failed | End::Canceled));
                let spoiled = root == Some(End::Success) && ends.last().is_some() && none;
                (!sound || spoiled).then(|| format!("completed with its root {root:?} over {ends:?}"))
            }
            R::Stopped(fact) => {
                let budget = !matches!(fact.stop_reason, StopReason::Completed | StopReason::Error);
                (!budget || root.is_none_or(|end| end == End::Success || end == End::Canceled))
                    .then(|| format!("stopped for {:?} with its root {root:?}", fact.stop_reason))
            }
            R::Failed(fact) if fact.stop_reason == StopReason::Error => {
                (root != Some(End::Failed)).then(|| format!("failed with its root {root:?}"))
            }
            R::Canceled(_) => (!self.live.is_empty()).then(|| format!("canceled with {} nodes alive", self.live.len())),
            _ => None,
        }
    }
}
