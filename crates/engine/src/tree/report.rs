//! The account a tree gives of its end: what all its nodes made, and what became of those that did not come off.

use super::node::{Artifact, Node};
use super::results::latest;
use super::state::State;
use super::status::{NodeStatus, StepStatus};
use crate::facts::evidence::CriterionState;
use crate::facts::tree::ArtifactType;
use crate::ids::NodeNumber;
use crate::report::{Account, Dropped, Failure, MAX_MADE, Made, words};
use crate::run::{Shared, StopReason, headline};
use serde_json::{Value, json};
use std::collections::HashSet;

impl State {
    pub(crate) fn report(&self, shared: &Shared, reason: StopReason, detail: &str) -> Value {
        let root = self.root();
        let result = root.and_then(|root| root.result.as_ref());
        let synthesis = root.and_then(|root| root.synthesis.as_ref());
        let (made, left_out) = self.everything_made();
        let account = Account {
            title: headline(&shared.brief.objective),
            summary: result.map_or_else(|| self.how_far(), |result| result.summary.clone()),
            findings: synthesis.map(|synthesis| synthesis.key_findings.clone()).unwrap_or_default(),
            not_done: self.root_and_gaps(),
            by_model: result.is_some(),
            made,
            left_out,
            failed: self.failures(shared),
            dropped: self.dropped(),
            replans: self.replans(),
            owned: root.map(|root| root.subtree.calls()),
        };
        let mut report = account.report(shared, reason, detail);
        report["nodes"] = self.counts_by_status();
        report["result"] = json!(result);
        report["synthesis"] = json!({
            "summary": synthesis.map(|synthesis| &synthesis.summary),
            "key_findings": synthesis.map(|synthesis| synthesis.key_findings.as_slice()).unwrap_or_default(),
            "gaps": synthesis.map(|synthesis| synthesis.gaps.as_slice()).unwrap_or_default(),
            "document": root.and_then(main_document).map(|artifact| json!({
                "ref": reference(artifact), "title": artifact.headline(), "content": artifact.content,
            })),
        });
        report
    }

    /// The summary of a run whose root has none.
    fn how_far(&self) -> String {
        match (self.count(NodeStatus::Completed), self.nodes.len()) {
            (_, 0) => String::new(),
            (0, _) => "No node was completed.".into(),
            (completed, all) => format!("{completed} of {all} nodes completed; nothing was summed up."),
        }
    }

    /// What is open beside its nodes: why the root failed, unless that was because of its steps, and the gaps it names.
    fn root_and_gaps(&self) -> Vec<String> {
        let root = self.root().filter(|root| root.status == NodeStatus::Failed && !has_undone_steps(root));
        let why = root.and_then(|root| Some(format!("{}: {}", root.title, words::reason(root.error.as_deref()?))));
        let gaps = self.root().and_then(|root| root.synthesis.as_ref()).map(|synthesis| synthesis.gaps.clone());
        why.into_iter().chain(gaps.unwrap_or_default()).collect()
    }

    /// Nodes that failed, were canceled or fell short. Of a node that fell short because of its steps only those are told, and
    /// how the root failed is how the run ended.
    fn failures(&self, shared: &Shared) -> Vec<Failure> {
        let refuted = shared.criteria.iter().any(|criterion| criterion.state == CriterionState::Refuted);
        let current = self.numbers().filter(|number| self.is_current(*number));
        let failures = current.filter_map(|number| {
            let (node, is_root) = (self.at(number), number == NodeNumber::ROOT);
            let (state, why) = match node.status {
                NodeStatus::Failed | NodeStatus::Canceled if is_root => return None,
                NodeStatus::Failed if has_undone_steps(node) => return None,
                NodeStatus::Failed => ("failed", node.error.as_deref().unwrap_or("it failed")),
                NodeStatus::Canceled => ("canceled", node.error.as_deref().unwrap_or("canceled")),
                // What was refuted is told with the criteria.
                NodeStatus::Completed if has_undone_steps(node) || (is_root && refuted) => return None,
                NodeStatus::Completed => ("partial", node.shortfall.as_deref()?),
                _ => return None,
            };
            let why = words::reason(why);
            Some(Failure {
                kind: "node",
                title: node.title.clone(),
                state,
                why,
                iteration: None,
                node_id: Some(node.id),
            })
        });
        failures.collect()
    }

    /// Steps that were never begun, and those whose work came to nothing and that the next plan does without.
    fn dropped(&self) -> Vec<Dropped> {
        let is_current = |number: &NodeNumber| self.is_current(*number);
        let never_begun = self.numbers().filter(is_current).map(|number| self.at(number)).flat_map(|node| {
            let plan = node.plan.as_deref();
            let after_failure = plan.is_some_and(|plan| plan.last_band_failed());
            plan.into_iter().flat_map(|plan| &plan.steps).filter_map(move |step| {
                let why = match step.status {
                    StepStatus::Skipped if after_failure => "skipped: every step before it came to nothing",
                    StepStatus::Skipped => "skipped: the work ended before it began",
                    StepStatus::Canceled if step.child.is_none() => "canceled before it began",
                    _ => return None,
                };
                Some(Dropped { title: step.of.title.clone(), why: why.into(), iteration: None, node_id: Some(node.id) })
            })
        });
        let left_out = self.numbers().filter(|number| self.is_left_out(*number)).map(|number| {
            let node = self.at(number);
            let why = node.error.as_deref().map(words::reason).unwrap_or_else(|| "it was not finished".into());
            let why = format!("left out of the next plan; {why}");
            Dropped { title: node.title.clone(), why, iteration: None, node_id: Some(node.id) }
        });
        never_begun.chain(left_out).collect()
    }

    /// Whether its step is not done and missing, by id and by title, from the plan that its parent has now.
    fn is_left_out(&self, number: NodeNumber) -> bool {
        let node = self.at(number);
        let Some(parent) = node.parent.filter(|parent| self.is_current(*parent)) else { return false };
        let named = |id: &str, title: &str| node.step_id.as_deref() == Some(id) || node.title == title;
        let steps = self.at(parent).plan.iter().flat_map(|plan| &plan.steps);
        node.status != NodeStatus::Completed && !steps.into_iter().any(|step| named(&step.of.id, &step.of.title))
    }

    fn replans(&self) -> Vec<Value> {
        let replanned = self.nodes.iter().filter(|node| node.replans > 0);
        replanned.map(|node| json!({ "node_id": node.id, "title": node.title, "times": node.replans })).collect()
    }

    /// What all nodes made, and how much more there is: the root's first, its main document before the rest, then depth by
    /// depth; what a later try replaced comes last.
    fn everything_made(&self) -> (Vec<Made>, usize) {
        let mut numbers: Vec<NodeNumber> = self.numbers().collect();
        numbers.sort_by_key(|number| self.at(*number).depth);
        let (mut made, mut replaced, mut known) = (Vec::new(), Vec::new(), HashSet::new());
        for number in numbers {
            let (node, is_current) = (self.at(number), self.is_current(number));
            let mut artifacts: Vec<&Artifact> = latest(node, &[]);
            let primary = main_document(node).map(|artifact| artifact.id);
            artifacts.sort_by_key(|artifact| Some(artifact.id) != primary);
            let now: HashSet<_> = artifacts.iter().map(|artifact| artifact.id).collect();
            let earlier = node.artifacts.iter().filter(|artifact| !now.contains(&artifact.id));
            for artifact in artifacts {
                let list = if is_current { &mut made } else { &mut replaced };
                list.push((node, artifact));
            }
            replaced.extend(earlier.map(|artifact| (node, artifact)));
        }
        let current = made.len();
        let all =
            made.into_iter().chain(replaced).enumerate().filter(|(_, (_, artifact))| known.insert(reference(artifact)));
        let all: Vec<Made> = all.map(|(at, (node, artifact))| made_by(node, artifact, at >= current)).collect();
        let left_out = all.len().saturating_sub(MAX_MADE);
        (all.into_iter().take(MAX_MADE).collect(), left_out)
    }
}

fn has_undone_steps(node: &Node) -> bool {
    node.plan.iter().flat_map(|plan| &plan.steps).any(|step| step.status != StepStatus::Completed)
}

/// The document its result calls primary.
fn main_document(node: &Node) -> Option<&Artifact> {
    let primary = node.result.as_ref()?.primary_artifact_id?;
    node.artifacts.iter().find(|artifact| artifact.id == primary && artifact.is_text())
}

fn reference(artifact: &Artifact) -> String {
    artifact.document.map_or_else(|| format!("artifact:{}", artifact.id), |document| format!("doc:{document}"))
}

fn made_by(node: &Node, artifact: &Artifact, replaced: bool) -> Made {
    let kind = if artifact.kind == ArtifactType::Json || artifact.document.is_none() { "json" } else { "document" };
    let node = Some(node.title.clone()).filter(|title| node.parent.is_some() && title != artifact.headline());
    Made { kind, reference: reference(artifact), title: artifact.headline().to_owned(), node, changed: false, replaced }
}
