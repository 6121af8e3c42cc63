//! What rests on a result that is replaced. A retry replaces the result of its node and, with it, the results of the nodes
//! above that had summed it up; whoever was shown one of those worked from something that no longer holds. This module
//! finds them, marks them, and says which of them can be done again in order.

use super::node::{Artifact, Node};
use super::plan::{Plan, Step};
use super::results::latest;
use super::state::State;
use super::status::StepStatus;
use crate::facts::tree as fact;
use crate::ids::{ArtifactId, NodeId, NodeNumber};
use crate::run::Facts;
use std::collections::{BTreeSet, HashMap};

impl State {
    /// Marks every node whose work rests on these, which are about to be replaced.
    pub(super) fn mark_stale(&self, replaced: &[NodeNumber], caused_by: NodeId, facts: &mut Facts) {
        for number in self.resting_on(replaced) {
            if !self.at(number).stale {
                facts.push_at(self.node_ref_of(number), fact::NodeStale { caused_by });
            }
        }
    }

    /// Whether the artifact is of its node's present generation, was not given again, and its node is current.
    pub(crate) fn is_current_artifact(&self, number: NodeNumber, artifact: &Artifact) -> bool {
        self.is_current(number) && latest(self.at(number), &[]).iter().any(|known| known.id == artifact.id)
    }

    /// Sets the steps that can be done again after this node is: those of later bands beside it and beside the nodes above it.
    pub(super) fn plan_dependents(&self, number: NodeNumber, facts: &mut Facts) {
        for (parent, step_id) in self.dependents(number) {
            let status = StepStatus::Pending;
            facts.push_at(self.node_ref_of(parent), fact::StepStatusChanged { step_id, status });
        }
    }

    /// The steps that `plan_dependents` sets, by the node whose plan they are in. A node at work is not done again.
    pub(super) fn dependents(&self, number: NodeNumber) -> Vec<(NodeNumber, String)> {
        let resting: BTreeSet<NodeNumber> = self.resting_on(&[number]).into_iter().collect();
        let above = self.path(number).skip(1);
        let steps = above.flat_map(|parent| {
            self.at(parent).plan.iter().flat_map(move |plan| plan.named_children().map(move |of| (parent, of)))
        });
        let again =
            steps.filter(|(_, (step, child))| resting.contains(child) && !self.at(*child).is_live() && !step.again);
        again.map(|(parent, (step, _))| (parent, step.of.id.clone())).collect()
    }

    /// Every node, in order of creation, that was shown a result which goes when these are replaced, or the result of such a node.
    fn resting_on(&self, replaced: &[NodeNumber]) -> Vec<NodeNumber> {
        let above: BTreeSet<NodeNumber> = replaced.iter().flat_map(|number| self.path(*number)).collect();
        let readers = self.readers();
        let (mut found, mut gone): (BTreeSet<NodeNumber>, Vec<NodeNumber>) = (BTreeSet::new(), Vec::new());
        // The nodes above are done again by themselves; until then their results are as good as gone.
        gone.extend(above.iter().filter(|number| !self.at(**number).is_live()));
        while let Some(number) = gone.pop() {
            let shown = self.shown_result_of(number, &readers);
            for reader in shown.into_iter().filter(|reader| !above.contains(reader)) {
                if self.is_current(reader) && found.insert(reader) {
                    gone.push(reader);
                }
            }
        }
        found.into_iter().collect()
    }

    /// Who was shown a node's result: later steps beside it, its parent once it summed up, and readers of its artifacts.
    fn shown_result_of(&self, number: NodeNumber, readers: &HashMap<ArtifactId, Vec<NodeNumber>>) -> Vec<NodeNumber> {
        let node = self.at(number);
        let mut shown: Vec<NodeNumber> =
            node.artifacts.iter().filter_map(|made| readers.get(&made.id)).flatten().copied().collect();
        if let Some(parent) = node.parent {
            let plan = self.at(parent).plan.as_deref();
            let own = plan.and_then(|plan| plan.step(node.step_id.as_deref()?));
            let later = own.zip(plan).into_iter().flat_map(|(own, plan)| later_children(own, plan));
            shown.extend(later.filter(|child| self.at(*child).called));
            shown.extend(Some(parent).filter(|parent| !self.at(*parent).is_live()));
        }
        shown
    }

    /// The readers of each artifact, of their present generation.
    fn readers(&self) -> HashMap<ArtifactId, Vec<NodeNumber>> {
        let mut readers: HashMap<ArtifactId, Vec<NodeNumber>> = HashMap::new();
        for number in self.numbers() {
            let Node { reads, .. } = self.at(number);
            reads.iter().for_each(|artifact| readers.entry(*artifact).or_default().push(number));
        }
        readers
    }
}

/// The children of steps that are shown this step's result.
fn later_children<'a>(own: &'a Step, plan: &'a Plan) -> impl Iterator<Item = NodeNumber> + 'a {
    let later = move |step: &&Step| step.band > own.band || own.carried_over && !step.carried_over;
    plan.steps.iter().filter(later).filter_map(|step| step.child)
}
