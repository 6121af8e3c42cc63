//! What a tree left undone: nodes and steps that failed and that neither a retry nor a new plan replaced.

use engine::event::Event;
use engine::facts::TreeFact as T;
use engine::facts::tree::NodeOutcome;
use engine::ids::NodeId;
use engine::tree::status::StepStatus;
use std::collections::{BTreeMap, HashMap};

#[derive(Default)]
pub struct Tree {
    nodes: BTreeMap<NodeId, Node>,
    root: Option<NodeId>,
}

#[derive(Default)]
struct Node {
    title: String,
    end: Option<End>,
    steps: HashMap<String, Step>,
}

enum End {
    Completed(NodeOutcome),
    Failed,
    Canceled,
}

struct Step {
    status: StepStatus,
    child: Option<NodeId>,
}

impl Tree {
    /// Whether the fact tells of something that was made.
    pub(super) fn learn(&mut self, event: &Event, fact: &T) -> bool {
        let Some(id) = event.node_id else { return false };
        if let T::NodeCreated(fact) = fact {
            self.nodes.insert(id, Node { title: fact.title.clone(), ..Node::default() });
            let parent = event.parent_node_id;
            self.root = if parent.is_none() { Some(id) } else { self.root };
            if let (Some(parent), Some(step)) = (parent.and_then(|id| self.nodes.get_mut(&id)), &fact.step_id) {
                parent.steps.entry(step.clone()).and_modify(|step| step.child = Some(id));
            }
        }
        let Some(node) = self.nodes.get_mut(&id) else { return false };
        match fact {
            T::PlanCreated(fact) => {
                // Finished results are kept, in the new plan or not; the rest is superseded.
                node.steps.retain(|_, step| step.status == StepStatus::Completed);
                for step in fact.bands.iter().flat_map(|band| &band.steps) {
                    let fresh = Step { status: StepStatus::Pending, child: None };
                    node.steps.entry(step.id.clone()).or_insert(fresh);
                }
            }
            T::StepStatusChanged(fact) => {
                node.steps.entry(fact.step_id.clone()).and_modify(|step| step.status = fact.status);
            }
            T::NodeCompleted(fact) => node.end = Some(End::Completed(fact.outcome)),
            T::NodeFailed(_) => node.end = Some(End::Failed),
            T::NodeCanceled(_) => node.end = Some(End::Canceled),
            T::NodeReopened(_) => node.end = None,
            T::ArtifactCreated(_) => return true,
            T::ToolCallResult(fact) => return !fact.artifacts.is_empty(),
            _ => {}
        }
        false
    }

    /// Down from the root, so that what was replaced is not met.
    pub(super) fn failures(&self) -> Vec<String> {
        let mut failures = Vec::new();
        let mut ahead: Vec<NodeId> = self.root.into_iter().collect();
        while let Some((id, node)) = ahead.pop().and_then(|id| Some((id, self.nodes.get(&id)?))) {
            let title = &node.title;
            match node.end {
                Some(End::Failed) => failures.push(format!("{title:?} failed")),
                Some(End::Canceled) => failures.push(format!("{title:?} was canceled")),
                Some(End::Completed(NodeOutcome::Partial)) if self.root == Some(id) => {
                    failures.push("the root is partial".into());
                }
                _ => {}
            }
            let undone = [StepStatus::Failed, StepStatus::Canceled, StepStatus::Skipped];
            let left = node.steps.iter().filter(|(_, step)| undone.contains(&step.status));
            failures.extend(left.map(|(step, _)| format!("step {step} of {title:?} was not done")));
            ahead.extend(node.steps.values().filter_map(|step| step.child));
        }
        failures
    }
}
