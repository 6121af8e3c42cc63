//! From an input to facts: dispatches answers to their nodes and makes the next move of each ready node.

use super::effect_id::NodeCall;
use super::state::{Move, State};
use super::status::{NodeRole, NodeStatus};
use crate::answer::{CheckedAnswer, read};
use crate::blob::BlobRef;
use crate::effect::{EffectId, ModelReply};
use crate::facts::run::{Paused, QuestionAsked, WaitingOnUser};
use crate::facts::tree::{self as fact, NodeStatusChanged};
use crate::ids::{NodeId, NodeNumber};
use crate::run::{Facts, Rules, Shared};
use crate::tree::answer::{MAX_ROUNDS, QuestionAnswer};
use serde::de::DeserializeOwned;

/// How long a question with a default waits before the default is taken.
const DEFAULT_ANSWER_AFTER_MS: i64 = 24 * 3_600_000;
const MAX_TITLE_CHARS: usize = 120;

impl State {
    pub(super) fn proceed(&self, shared: &Shared, facts: &mut Facts) {
        if self.nodes.is_empty() {
            return self.start(shared, facts);
        }
        if let Some(number) = self.movable.first() {
            return self.make_move(shared, *number, facts);
        }
        if self.nodes[0].status.is_terminal() {
            return self.end(shared, facts);
        }
        if self.awaits_answers(shared) {
            facts.push(WaitingOnUser { question_ids: shared.open_questions().map(|question| question.id).collect() });
        } else if self.is_idle() {
            facts.push(Paused { reason: Some("every branch that could move is paused".into()), branches: true });
        }
    }

    fn make_move(&self, shared: &Shared, number: NodeNumber, facts: &mut Facts) {
        match self.move_of(number) {
            Some(Move::Recall) => self.recall(number, facts),
            Some(Move::StartBand) => self.start_band(shared, number, facts),
            Some(Move::BandOver) => self.band_over(shared, number, facts),
            Some(Move::Conclude) => self.conclude(shared, number, facts),
            Some(Move::OutOfRounds) => self.out_of_rounds(number, facts),
            Some(Move::Unusable) => self.unusable(number, facts),
            Some(Move::Unblock) => self.unblock(number, facts),
            None => {}
        }
    }

    fn start(&self, shared: &Shared, facts: &mut Facts) {
        let root: NodeId = facts.new_id();
        facts.open_home(shared);
        facts.push(fact::RunStarted { workspace_project_id: shared.home_project(), root_node_id: root });
        facts.push(fact::ToolsManifest { tools: shared.brief.tools.clone() });
        let line = shared.brief.objective.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let created = fact::NodeCreated {
            title: line.trim().chars().take(MAX_TITLE_CHARS).collect(),
            reason: "the objective of the run".into(),
            success_criteria: shared.brief.success_criteria.iter().map(|criterion| criterion.text.clone()).collect(),
            depth: 0,
            band_index: 0,
            step_index: 0,
            step_id: None,
            retry_of: None,
            deliverable: Default::default(),
            share: Default::default(),
            agent: None,
        };
        self.create(shared, root, None, created, false, facts);
    }

    pub(super) fn answered(
        &self,
        shared: &Shared,
        effect: &EffectId,
        reply: &ModelReply,
        response: BlobRef,
        facts: &mut Facts,
    ) {
        // A late answer, to a node that was canceled, reopened or replanned meanwhile, is paid for and no more.
        let Some(position) = self.position_of(effect).filter(|_| self.want(shared, effect).is_some()) else { return };
        let outcome = match position.part {
            NodeCall::Plan { .. } => self.take(reply, |answer| self.plan_answered(shared, position, answer, facts)),
            NodeCall::Round { .. } => self.take(reply, |answer| self.round_answered(shared, position, answer, facts)),
            NodeCall::Aggregate { .. } => {
                self.take(reply, |answer| self.aggregate_answered(shared, position, answer, facts))
            }
            NodeCall::Tool { .. } | NodeCall::Recall => Ok(()),
        };
        if let Err(errors) = outcome {
            facts.push_at(
                self.node_ref_of(position.node),
                fact::AnswerRejected { effect: effect.clone(), errors, response },
            );
        }
    }

    fn take<T: DeserializeOwned + CheckedAnswer>(
        &self,
        reply: &ModelReply,
        accept: impl FnOnce(T) -> Result<(), Vec<String>>,
    ) -> Result<(), Vec<String>> {
        read(reply).and_then(accept)
    }

    /// Blocks the node until the question is answered; other branches go on.
    pub(super) fn ask(&self, number: NodeNumber, question: QuestionAnswer, role: NodeRole, facts: &mut Facts) {
        let node_ref = self.node_ref_of(number);
        let question_id = facts.new_id();
        let default = question.default.filter(|default| !default.trim().is_empty());
        let deadline_at = default.as_ref().map(|_| facts.now.plus_ms(DEFAULT_ANSWER_AFTER_MS));
        facts.push_at(
            node_ref,
            QuestionAsked {
                question_id,
                node_id: node_ref.node,
                text: question.text,
                options: question.options,
                deadline_at,
                default,
                effect: None,
            },
        );
        facts.push_at(node_ref, NodeStatusChanged::to(NodeStatus::Blocked, role).saying("question"));
    }

    fn unblock(&self, number: NodeNumber, facts: &mut Facts) {
        let status = match self.at(number).role {
            NodeRole::Planner => NodeStatus::Planning,
            NodeRole::Executor => NodeStatus::Executing,
        };
        facts.push_at(self.node_ref_of(number), NodeStatusChanged::to(status, self.at(number).role).saying("answered"));
    }

    fn out_of_rounds(&self, number: NodeNumber, facts: &mut Facts) {
        let refused = &self.at(number).work.refused;
        let why =
            if refused.is_empty() { String::new() } else { format!("; the last was refused: {}", said_once(refused)) };
        self.fail(number, format!("no result after {MAX_ROUNDS} rounds{why}"), true, facts);
    }

    fn unusable(&self, number: NodeNumber, facts: &mut Facts) {
        let rejected = self.at(number).work.rejected.values().last();
        let errors = rejected.map(|rejected| said_once(&rejected.errors)).unwrap_or_default();
        self.fail(number, format!("its answers did not fit the schema: {errors}"), true, facts);
    }

    pub(super) fn call_failed(
        &self,
        shared: &Shared,
        effect: &EffectId,
        error: &str,
        retryable: bool,
        facts: &mut Facts,
    ) {
        let Some(position) = self.position_of(effect).filter(|_| self.want(shared, effect).is_some()) else { return };
        match shared.exhausted {
            Some(limit) => self.cut_short(shared, position.node, limit, error, facts),
            None => self.fail(position.node, error.to_owned(), retryable, facts),
        }
    }
}

/// These errors in one sentence, each once.
fn said_once(errors: &[String]) -> String {
    let mut said: Vec<&str> = Vec::new();
    for error in errors {
        if !said.contains(&error.as_str()) {
            said.push(error);
        }
    }
    said.join("; ")
}
