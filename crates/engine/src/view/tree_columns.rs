//! The nodes of a tree as they are drawn: one column per property, indexed by `NodeNumber`.

use crate::budget::Settled;
use crate::event::Event;
use crate::facts::effect::{Finished, FinishedAs};
use crate::facts::tree::{ArtifactType, NodeCreated, NodeOutcome, PlanCreated, TreeFact};
use crate::facts::{EffectFact, Fact};
use crate::ids::{DocumentId, NodeId, NodeNumber};
use crate::money::Usd;
use crate::projection::KindFields;
use crate::run::{EffectState, Shared};
use crate::tree::status::{NodeRole, NodeStatus, StepStatus};
use crate::tree::{self, CANCELED};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TreeColumns {
    pub nodes: Columns,
    /// By node: the steps of its newest plan, and finished ones of earlier plans.
    pub plans: BTreeMap<NodeNumber, Vec<PlannedStep>>,
    counts: [u32; NodeStatus::ALL.len()],
    root_pad: Option<DocumentId>,
    #[serde(skip)]
    numbers: HashMap<NodeId, NodeNumber>,
}

/// Parallel arrays. Times are milliseconds after the run was created; the six sums are of the whole subtree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Columns {
    pub id: Vec<NodeId>,
    pub parent: Vec<Option<NodeNumber>>,
    pub title: Vec<String>,
    pub status: Vec<NodeStatus>,
    pub role: Vec<NodeRole>,
    pub paused: Vec<bool>,
    pub depth: Vec<u32>,
    pub band: Vec<u32>,
    pub step: Vec<u32>,
    pub step_id: Vec<Option<String>>,
    pub generation: Vec<u32>,
    pub retry_of: Vec<Option<NodeNumber>>,
    pub message: Vec<Option<String>>,
    pub outcome: Vec<Option<NodeOutcome>>,
    pub error: Vec<Option<String>>,
    pub stale: Vec<bool>,
    pub artifacts: Vec<u32>,
    /// Those of them that are texts for readers: data is none, whatever holds it.
    pub documents: Vec<u32>,
    pub cost_usd: Vec<Usd>,
    pub tokens_in: Vec<u64>,
    pub tokens_out: Vec<u64>,
    pub tokens_presumed: Vec<u64>,
    pub llm_calls: Vec<u64>,
    pub tool_calls: Vec<u64>,
    pub created_ms: Vec<i64>,
    pub started_ms: Vec<Option<i64>>,
    pub ended_ms: Vec<Option<i64>>,
}

/// A step of a plan. After delegation only the child stores the title, which saves space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedStep {
    pub id: String,
    pub title: String,
    pub band: u32,
    pub step: u32,
    pub status: StepStatus,
    pub child: Option<NodeNumber>,
}

impl TreeColumns {
    /// `shared` is the state before the event.
    pub(super) fn apply(&mut self, shared: &Shared, event: &Event) {
        match &event.fact {
            Fact::Tree(TreeFact::NodeCreated(fact)) => self.created(shared, fact, event),
            Fact::Tree(fact) => {
                if let Some(number) = self.number(event.node_id) {
                    self.apply_to_node(number.index(), shared, fact, event);
                }
            }
            Fact::Effect(fact) => self.apply_effect(shared, fact, event),
            Fact::Run(_) | Fact::Homework(_) | Fact::Task(_) | Fact::Unrecognized(_) => {}
        }
    }

    fn number(&mut self, id: Option<NodeId>) -> Option<NodeNumber> {
        // The index is not stored in checkpoints; it is rebuilt at first use.
        if self.numbers.len() != self.nodes.id.len() {
            self.numbers = self.nodes.id.iter().enumerate().map(|(at, id)| (*id, NodeNumber::from_index(at))).collect();
        }
        self.numbers.get(&id?).copied()
    }

    fn created(&mut self, shared: &Shared, fact: &NodeCreated, event: &Event) {
        let Some(id) = event.node_id else { return };
        let parent = self.number(event.parent_node_id);
        let retry_of = self.number(fact.retry_of);
        if self.nodes.id.is_empty() {
            self.root_pad = Some(DocumentId(uuid::Uuid::nil()));
        }
        self.numbers.insert(id, NodeNumber::from_index(self.nodes.id.len()));
        self.counts[NodeStatus::Planning as usize] += 1;
        let nodes = &mut self.nodes;
        nodes.id.push(id);
        nodes.parent.push(parent);
        nodes.title.push(fact.title.clone());
        nodes.status.push(NodeStatus::Planning);
        nodes.role.push(NodeRole::Planner);
        nodes.paused.push(false);
        nodes.depth.push(fact.depth);
        nodes.band.push(fact.band_index);
        nodes.step.push(fact.step_index);
        nodes.step_id.push(fact.step_id.clone());
        nodes.generation.push(1);
        nodes.retry_of.push(retry_of);
        nodes.message.push(None);
        nodes.outcome.push(None);
        nodes.error.push(None);
        nodes.stale.push(false);
        nodes.artifacts.push(0);
        nodes.documents.push(0);
        nodes.cost_usd.push(Usd(0));
        nodes.tokens_in.push(0);
        nodes.tokens_out.push(0);
        nodes.tokens_presumed.push(0);
        nodes.llm_calls.push(0);
        nodes.tool_calls.push(0);
        nodes.created_ms.push(event.at.0 - shared.created_at.0);
        nodes.started_ms.push(None);
        nodes.ended_ms.push(None);
    }

    fn apply_to_node(&mut self, at: usize, shared: &Shared, fact: &TreeFact, event: &Event) {
        match fact {
            TreeFact::ScratchpadLinked(fact) if at == 0 => self.root_pad = Some(fact.scratchpad_doc_id),
            TreeFact::NodeStatusChanged(fact) => {
                self.set_status(at, fact.status);
                self.nodes.role[at] = fact.role;
                self.nodes.message[at].clone_from(&fact.message);
            }
            TreeFact::PlanCreated(fact) => self.planned(at, fact),
            TreeFact::StepStatusChanged(fact) => {
                self.step(at, &fact.step_id).into_iter().for_each(|step| step.status = fact.status)
            }
            TreeFact::NodeDelegated(fact) => {
                let child = self.number(Some(fact.child_node_id));
                if let Some(step) = self.step(at, &fact.step_id) {
                    (step.child, step.title) = (child, String::new());
                }
            }
            TreeFact::ToolCallResult(_) => self.up_from(at, |nodes, number| nodes.tool_calls[number] += 1),
            TreeFact::ArtifactCreated(fact) => {
                self.nodes.artifacts[at] += 1;
                let is_text = fact.document_id.is_some() && fact.artifact_type != ArtifactType::Json;
                self.nodes.documents[at] += u32::from(is_text);
            }
            TreeFact::ReplanRequested(_) => self.begin_again(at, self.nodes.generation[at] + 1),
            TreeFact::NodeCompleted(fact) => {
                self.end(at, NodeStatus::Completed, shared, event);
                self.nodes.outcome[at] = Some(fact.outcome);
            }
            TreeFact::NodeFailed(fact) => {
                self.end(at, NodeStatus::Failed, shared, event);
                self.nodes.error[at] = Some(fact.error.clone());
            }
            TreeFact::NodeCanceled(_) => {
                self.end(at, NodeStatus::Canceled, shared, event);
                self.nodes.error[at] = Some(CANCELED.into());
            }
            TreeFact::NodeReopened(fact) => {
                self.begin_again(at, fact.generation);
                if fact.caused_by != self.nodes.id[at] {
                    self.set_status(at, NodeStatus::Waiting);
                }
            }
            TreeFact::NodeStale(_) => self.nodes.stale[at] = true,
            TreeFact::NodePaused(_) => self.nodes.paused[at] = true,
            TreeFact::NodeResumed(_) => self.nodes.paused[at] = false,
            _ => {}
        }
    }

    fn apply_effect(&mut self, shared: &Shared, fact: &EffectFact, event: &Event) {
        let Some(at) = self.number(event.node_id).map(NodeNumber::index) else { return };
        match fact {
            EffectFact::Started(_) => {
                self.nodes.started_ms[at].get_or_insert(event.at.0 - shared.created_at.0);
            }
            EffectFact::Finished(finished) => self.settled(at, shared, finished),
            EffectFact::Unknown(_) | EffectFact::Resolved(_) => {}
        }
    }

    fn settled(&mut self, at: usize, shared: &Shared, finished: &Finished) {
        let Some(EffectState::InFlight(flight)) = shared.effects.get(&finished.effect) else { return };
        if flight.attempt != finished.attempt || flight.model.is_none() {
            return;
        }
        let Settled { tokens_in, tokens_out, cost_usd, presumed, .. } = finished.settled;
        let counted = if presumed { (0, 0, tokens_in + tokens_out) } else { (tokens_in, tokens_out, 0) };
        let answered = u64::from(finished.outcome == FinishedAs::Ok);
        self.up_from(at, |nodes, number| {
            nodes.cost_usd[number] += cost_usd;
            nodes.tokens_in[number] += counted.0;
            nodes.tokens_out[number] += counted.1;
            nodes.tokens_presumed[number] += counted.2;
            nodes.llm_calls[number] += answered;
        });
    }

    fn up_from(&mut self, at: usize, charge: impl Fn(&mut Columns, usize)) {
        let mut next = Some(at);
        while let Some(number) = next {
            charge(&mut self.nodes, number);
            next = self.nodes.parent[number].map(|parent| parent.index());
        }
    }

    fn set_status(&mut self, at: usize, status: NodeStatus) {
        let was = std::mem::replace(&mut self.nodes.status[at], status);
        self.counts[was as usize] -= 1;
        self.counts[status as usize] += 1;
    }

    fn end(&mut self, at: usize, status: NodeStatus, shared: &Shared, event: &Event) {
        self.set_status(at, status);
        self.nodes.ended_ms[at] = Some(event.at.0 - shared.created_at.0);
        (self.nodes.error[at], self.nodes.outcome[at]) = (None, None);
    }

    fn begin_again(&mut self, at: usize, generation: u32) {
        let nodes = &mut self.nodes;
        nodes.generation[at] = generation;
        nodes.stale[at] = false;
        (nodes.outcome[at], nodes.error[at], nodes.message[at], nodes.ended_ms[at]) = (None, None, None, None);
    }

    /// Finished steps of earlier versions are carried over, as in `tree::plan`.
    fn planned(&mut self, at: usize, fact: &PlanCreated) {
        let earlier = self.plans.remove(&NodeNumber::from_index(at)).unwrap_or_default();
        let (mut steps, mut finished) = (Vec::new(), HashMap::new());
        let named = |id: &str| fact.bands.iter().flat_map(|band| &band.steps).any(|step| step.id == id);
        for step in earlier.into_iter().filter(|step| step.status == StepStatus::Completed) {
            if named(&step.id) {
                finished.insert(step.id.clone(), step);
            } else {
                steps.push(step);
            }
        }
        for band in &fact.bands {
            for (of, index) in band.steps.iter().zip(0..) {
                let fresh = PlannedStep {
                    id: of.id.clone(),
                    title: of.title.clone(),
                    band: band.index,
                    step: index,
                    status: StepStatus::Pending,
                    child: None,
                };
                let done = finished.remove(&of.id).map(|step| PlannedStep { band: band.index, step: index, ..step });
                steps.push(done.unwrap_or(fresh));
            }
        }
        self.plans.insert(NodeNumber::from_index(at), steps);
    }

    fn step(&mut self, at: usize, id: &str) -> Option<&mut PlannedStep> {
        self.plans.get_mut(&NodeNumber::from_index(at))?.iter_mut().find(|step| step.id == id)
    }

    pub(super) fn describe(&self, shared: &Shared) -> String {
        tree::state::describe(&self.counts, shared)
    }

    pub(super) fn kind_fields(&self) -> KindFields {
        KindFields::tree(self.nodes.id.first().copied(), self.root_pad)
    }
}
