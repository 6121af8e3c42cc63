//! Before the root's result counts, the verifier judges the run's criteria by what the root and its children made. What it refutes
//! is a reason to plan again while the root may, and makes the result partial otherwise.

use super::aggregate::synthesis_document;
use super::answer::Synthesis;
use super::node::Artifact;
use super::results::latest;
use super::state::State;
use super::status::{NodeRole, NodeStatus, StepStatus};
use crate::blob::BlobRef;
use crate::criteria::MAX_REFS;
use crate::facts::evidence::{Citation, CriterionState, EndState, EvidenceText};
use crate::facts::tree::{self as fact, NodeOutcome, NodeStatusChanged, ProposedResult};
use crate::ids::{ArtifactId, NodeId, NodeNumber};
use crate::run::{Facts, Shared};

impl State {
    /// Whether the root waits for a check, which this begins, or goes back to planning because of one.
    pub(super) fn is_held_by_check(&self, shared: &Shared, result: &ProposedResult, facts: &mut Facts) -> bool {
        let root = self.at(NodeNumber::ROOT);
        if shared.is_checking() {
            return true;
        }
        if root.work.checked || shared.criteria.is_empty() {
            return self.replans_for(shared, facts);
        }
        let fresh = self.root_document(shared, result, facts);
        let (citations, known) = self.root_evidence(shared, &fresh);
        if !shared.verifies() {
            shared.note_claims(&citations, facts);
            return false;
        }
        facts.push(shared.start_check(citations, known, false));
        true
    }

    /// People come to the root for the answer: it is always a document, and there before it is judged.
    pub(super) fn root_document(&self, shared: &Shared, result: &ProposedResult, facts: &mut Facts) -> Vec<Artifact> {
        let root = self.at(NodeNumber::ROOT);
        if root.current_artifacts().any(Artifact::is_text) {
            return Vec::new();
        }
        let synthesis = Synthesis { summary: result.summary.clone(), ..Synthesis::default() };
        self.register(shared, NodeNumber::ROOT, &[synthesis_document(&root.title, &synthesis, "")], facts)
    }

    /// What the root's result refers to, its main document first, then what its children handed up.
    fn root_evidence(&self, shared: &Shared, fresh: &[Artifact]) -> (Vec<Citation>, Vec<EvidenceText>) {
        let root = self.at(NodeNumber::ROOT);
        let mut own = latest(root, fresh);
        let named = root.work.result.as_ref().and_then(|result| result.primary_artifact_label.as_deref());
        own.sort_by_key(|artifact| (!named.is_some_and(|name| artifact.is_called(name)), !artifact.is_text()));
        let children = root.plan.iter().flat_map(|plan| plan.children());
        let below = children.flat_map(|(_, child)| self.readable(child));
        let (mut refs, mut known) = (Vec::new(), Vec::new());
        for artifact in own.into_iter().chain(below) {
            let (reference, text) = match (artifact.document, artifact.content) {
                (Some(document), _) => (format!("doc:{document}"), None),
                (None, Some(content)) => (format!("artifact:{}", artifact.id), Some(content)),
                (None, None) => continue,
            };
            if refs.contains(&reference) || refs.len() == MAX_REFS {
                continue;
            }
            known.extend(text.map(|text| data_text(artifact, text)));
            refs.push(reference);
        }
        let undecided = shared.criteria.iter().filter(|criterion| !criterion.is_decided_by_person());
        let cite = |id: &String| Citation { criterion: id.clone(), refs: refs.clone() };
        (undecided.map(|criterion| cite(&criterion.id)).collect(), known)
    }

    fn replans_for(&self, shared: &Shared, facts: &mut Facts) -> bool {
        let (root, node_ref) = (self.at(NodeNumber::ROOT), self.node_ref_of(NodeNumber::ROOT));
        let unmet = refuted(shared);
        if unmet.is_empty() || !self.may_replan(shared, NodeNumber::ROOT) || shared.budgets.max_depth == 0 {
            return false;
        }
        let children = root.plan.iter().flat_map(|plan| plan.children());
        let based_on_child_ids: Vec<NodeId> = children.map(|(_, child)| self.at(child).id).collect();
        facts.push_at(node_ref, fact::ReplanRequested { reason: unmet.join("; "), based_on_child_ids });
        facts.push_at(node_ref, NodeStatusChanged::to(NodeStatus::Planning, NodeRole::Planner).saying("replan"));
        true
    }

    /// Data of a node that no document holds.
    pub(super) fn data_behind(&self, reference: &str) -> Option<EvidenceText> {
        let id = ArtifactId(reference.strip_prefix("artifact:")?.trim().parse().ok()?);
        let artifact = self.nodes.iter().flat_map(|node| &node.artifacts).find(|artifact| artifact.id == id)?;
        Some(data_text(artifact, artifact.content?))
    }

    /// Whether something is left undone that nothing took the place of.
    pub(super) fn left_undone(&self) -> EndState {
        let current = || self.numbers().filter(|number| self.is_current(*number)).map(|number| self.at(number));
        let failed = current().any(|node| {
            let undone =
                |status: StepStatus| matches!(status, StepStatus::Failed | StepStatus::Canceled | StepStatus::Skipped);
            matches!(node.status, NodeStatus::Failed | NodeStatus::Canceled)
                || node.plan.iter().flat_map(|plan| &plan.steps).any(|step| undone(step.status))
        });
        let partial = self.root().is_some_and(|root| root.outcome == Some(NodeOutcome::Partial));
        let made = self.tools_made || self.nodes.iter().any(|node| !node.artifacts.is_empty());
        EndState { made, failed: failed || partial, dropped: false }
    }
}

fn data_text(artifact: &Artifact, text: BlobRef) -> EvidenceText {
    let (reference, title) = (format!("artifact:{}", artifact.id), artifact.headline().to_owned());
    EvidenceText { reference, title, version: None, text: Some(text) }
}

/// What the verifier found not met, in words for a planner and for people.
pub(super) fn refuted(shared: &Shared) -> Vec<String> {
    let refuted = shared.criteria.iter().filter(|criterion| criterion.state == CriterionState::Refuted);
    refuted
        .map(|criterion| {
            let why = criterion.reason.as_deref().unwrap_or("no reason was given");
            format!("criterion {} ({}) is not met: {why}", criterion.id, criterion.text)
        })
        .collect()
}
