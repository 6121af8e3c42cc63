//! The fold of tree facts: each arm records what its fact says, then refreshes the ready sets of the node.

use super::node::{Artifact, GenerationWork, Node};
use super::plan::Plan;
use super::state::{OpenCall, State};
use super::status::{NodeRole, NodeStatus};
use crate::budget::Settled;
use crate::calls::{CallResult, RecordedCall, RejectedAnswer};
use crate::event::Event;
use crate::facts::effect::{Finished, FinishedAs, Started};
use crate::facts::run::QuestionAsked;
use crate::facts::tree::{self as fact, TreeFact};
use crate::facts::{EffectFact, RunFact};
use crate::ids::{DocumentId, NodeNumber, QuestionId};
use crate::metrics::Metrics;
use crate::run::Shared;
use crate::tree::envelope::Hint;
use std::collections::VecDeque;

const MAX_TAIL_ENTRIES: usize = 3;
/// What stays of the scratchpad of an ended node, in case it is reopened.
const ENDED_TAIL_CHARS: usize = 2_000;

impl State {
    pub(super) fn record_shared(&mut self, shared: &Shared, fact: &RunFact, event: &Event) {
        match fact {
            RunFact::Completed(_) | RunFact::Stopped(_) | RunFact::Failed(_) | RunFact::Canceled(_) => {
                self.ended = true
            }
            RunFact::Resumed(_) => self.ended = false,
            RunFact::CheckStarted(_) => self.nodes.iter_mut().take(1).for_each(|root| root.work.checked = true),
            RunFact::BudgetChanged(_) => self.accounts.set_limits(&shared.budgets),
            RunFact::QuestionAsked(asked) => self.asked(asked, event),
            RunFact::Answered(fact) => self.question_closed(fact.question_id),
            RunFact::QuestionExpired(fact) => self.question_closed(fact.question_id),
            _ => {}
        }
    }

    fn asked(&mut self, asked: &QuestionAsked, event: &Event) {
        let Some(number) = event.node_id.and_then(|id| self.number(id)) else { return };
        self.questions.insert(asked.question_id, number);
        let work = &mut self.at_mut(number).work;
        match asked.effect {
            Some(_) => {
                work.asking.insert(asked.question_id);
            }
            None => {
                work.question = Some(asked.question_id);
                work.question_closed = false;
            }
        }
    }

    fn question_closed(&mut self, question: QuestionId) {
        let Some(number) = self.questions.remove(&question) else { return };
        let node = self.at_mut(number);
        node.work.asking.remove(&question);
        if node.work.question == Some(question) {
            node.work.question_closed = true;
        }
        self.refresh(number);
    }

    pub(super) fn record_effect(&mut self, fact: &EffectFact, event: &Event) {
        match fact {
            EffectFact::Started(started) => self.call_started(started, event),
            EffectFact::Finished(finished) => self.call_finished(finished, event),
            EffectFact::Unknown(unknown) => {
                if let Some(flight) = self.open_calls.remove(&unknown.effect) {
                    self.accounts.settle(flight.node, flight.reserve, &Settled::presumed(flight.reserve));
                }
            }
            EffectFact::Resolved(_) => {}
        }
    }

    fn call_started(&mut self, started: &Started, event: &Event) {
        let Some(number) = self.node_of(&started.effect) else { return };
        self.accounts.reserve(number, started.reserve);
        let flight = OpenCall {
            node: number,
            attempt: started.attempt,
            reserve: started.reserve,
            model: started.model.clone(),
            since: event.at,
        };
        self.open_calls.insert(started.effect.clone(), flight);
        let node = self.at_mut(number);
        node.called = true;
        node.in_flight += 1;
        node.started_at.get_or_insert(event.at);
        node.updated_at = event.at;
    }

    fn call_finished(&mut self, finished: &Finished, event: &Event) {
        if self.open_calls.get(&finished.effect).is_none_or(|flight| flight.attempt != finished.attempt) {
            return;
        }
        let Some(flight) = self.open_calls.remove(&finished.effect) else { return };
        self.accounts.settle(flight.node, flight.reserve, &finished.settled);
        let answered = finished.outcome == FinishedAs::Ok;
        let took = event.at.since(flight.since);
        let charge = |metrics: &mut Metrics| {
            if let Some(model) = &flight.model {
                metrics.charge(model, &finished.settled, answered);
            }
            metrics.running_ms += took;
        };
        let node = self.at_mut(flight.node);
        node.in_flight -= 1;
        node.updated_at = event.at;
        charge(&mut node.own);
        self.charge_path(flight.node, charge);
    }

    /// Adds a node's usage to every subtree it is in.
    fn charge_path(&mut self, number: NodeNumber, charge: impl Fn(&mut Metrics)) {
        let mut at = Some(number);
        while let Some(number) = at {
            let node = self.at_mut(number);
            charge(&mut node.subtree);
            at = node.parent;
        }
    }

    pub(super) fn record_own(&mut self, shared: &Shared, fact: &TreeFact, event: &Event) {
        if let TreeFact::NodeCreated(created) = fact {
            return self.created(shared, created, event);
        }
        let Some(number) = event.node_id.and_then(|id| self.number(id)) else { return };
        self.at_mut(number).updated_at = event.at;
        match fact {
            TreeFact::RunStarted(_)
            | TreeFact::ToolsManifest(_)
            | TreeFact::NodeCreated(_)
            | TreeFact::PlanBandCreated(_)
            | TreeFact::StepCreated(_)
            | TreeFact::Guard(_) => {}
            TreeFact::ScratchpadLinked(fact) => self.at_mut(number).scratchpad = fact.scratchpad_doc_id,
            TreeFact::ScratchpadUpdated(fact) => {
                let node = self.at_mut(number);
                node.tail_preview.clone_from(&fact.tail_preview);
                node.tail.push_back(fact.markdown.clone());
                while node.tail.len() > MAX_TAIL_ENTRIES {
                    node.tail.pop_front();
                }
            }
            TreeFact::NodeStatusChanged(fact) => self.status_changed(number, fact),
            TreeFact::AnswerRejected(fact) => {
                let rejected = RejectedAnswer { errors: fact.errors.clone(), response: fact.response };
                self.at_mut(number).work.rejected.insert(fact.effect.clone(), rejected);
            }
            TreeFact::PlanCreated(fact) => self.planned(number, fact),
            TreeFact::StepStatusChanged(fact) => {
                if let Some(plan) = &mut self.at_mut(number).plan {
                    let again = plan.set_status(&fact.step_id, fact.status);
                    self.reserved_nodes += u32::from(again);
                }
            }
            TreeFact::NodeDelegated(fact) => {
                if let (Some(child), Some(plan)) =
                    (self.number(fact.child_node_id), &mut self.nodes[number.index()].plan)
                {
                    plan.delegated(&fact.step_id, child);
                }
            }
            TreeFact::ExecutorAnswered(fact) => {
                let work = &mut self.at_mut(number).work;
                work.answered = fact.round;
                work.result.clone_from(&fact.result);
            }
            TreeFact::ResultRefused(fact) => {
                let work = &mut self.at_mut(number).work;
                work.result = None;
                work.round += 1;
                work.refused.clone_from(&fact.errors);
            }
            TreeFact::ToolCallRequested(fact) => self.at_mut(number).work.calls.push(RecordedCall {
                id: fact.call_id.clone(),
                tool: fact.tool.clone(),
                arguments: fact.arguments.clone(),
                purpose: fact.purpose.clone(),
                repair_of: None,
                result: None,
            }),
            TreeFact::ToolCallResult(fact) => {
                self.lessons.extend(fact.lesson.map(|learned| (number, learned)));
                self.tool_answered(number, fact, event.seq);
            }
            TreeFact::ArtifactCreated(fact) => self.registered(number, fact, event),
            TreeFact::ArtifactRead(fact) => self.at_mut(number).reads.push(fact.artifact_id),
            TreeFact::NodeAggregated(fact) => {
                let synthesis = super::answer::Synthesis {
                    summary: fact.summary.clone(),
                    key_findings: fact.key_findings.clone(),
                    gaps: fact.gaps.clone(),
                };
                let node = self.at_mut(number);
                node.synthesis = Some(Box::new(synthesis));
                node.work.result.clone_from(&fact.result);
            }
            TreeFact::ReplanRequested(fact) => {
                self.next_generation(number, self.at(number).generation + 1);
                let node = self.at_mut(number);
                node.replans += 1;
                node.work.replan = Some(fact.reason.clone());
            }
            TreeFact::NodeResult(fact) => {
                let primary = fact.result.primary_artifact_id;
                let node = self.at_mut(number);
                if let Some(artifact) = node.artifacts.iter_mut().find(|artifact| Some(artifact.id) == primary) {
                    artifact.is_primary = true;
                }
                node.result = Some(Box::new(fact.result.clone()));
            }
            TreeFact::ParentHint(fact) => {
                let hint = Hint {
                    hint_type: fact.hint_type,
                    artifacts: fact.artifact_ids.clone(),
                    documents: fact.document_ids.clone(),
                };
                self.at_mut(number).hint = Some(Box::new(hint));
            }
            TreeFact::NodeCompleted(fact) => {
                self.ended_as(number, NodeStatus::Completed, event);
                let node = self.at_mut(number);
                (node.outcome, node.cut_short) = (Some(fact.outcome), fact.cut_short);
                // Earlier versions wrote why a result was partial where its evidence belongs.
                let as_evidence = fact.evidence.as_ref().filter(|_| fact.outcome == fact::NodeOutcome::Partial);
                node.shortfall = fact.shortfall.as_ref().or(as_evidence).cloned();
            }
            TreeFact::NodeFailed(fact) => {
                self.ended_as(number, NodeStatus::Failed, event);
                let node = self.at_mut(number);
                (node.error, node.retryable, node.cut_short) =
                    (Some(fact.error.clone()), fact.retryable, fact.cut_short);
            }
            TreeFact::NodeCanceled(_) => {
                self.ended_as(number, NodeStatus::Canceled, event);
                self.at_mut(number).error = Some(super::CANCELED.into());
            }
            TreeFact::NodeReopened(fact) => {
                self.next_generation(number, fact.generation);
                // A node that reopens itself sets its status with the next event.
                if fact.caused_by != self.at(number).id {
                    self.set_status(number, NodeStatus::Waiting);
                }
            }
            TreeFact::NodeStale(_) => self.at_mut(number).stale = true,
            TreeFact::NodePaused(_) => self.set_paused(number, true),
            TreeFact::NodeResumed(_) => self.set_paused(number, false),
        }
        self.refresh(number);
    }

    fn created(&mut self, shared: &Shared, fact: &fact::NodeCreated, event: &Event) {
        let Some(id) = event.node_id else { return };
        let parent = event.parent_node_id.and_then(|id| self.number(id));
        match parent {
            Some(parent) => self.accounts.open(parent, fact.share),
            None => {
                self.tag = event.run_id.tag();
                self.accounts.open_root(&shared.budgets);
            }
        }
        // A step's node was reserved when its plan was accepted, or when the step was set to be done again.
        let step = parent.zip(fact.step_id.as_deref());
        let set_again = step.and_then(|(parent, id)| self.at_mut(parent).plan.as_mut()?.step_mut(id));
        let reserved = set_again.is_some_and(|step| std::mem::take(&mut step.again));
        if parent.is_none() || fact.retry_of.is_some() && !reserved {
            self.reserved_nodes += 1;
        }
        let known = Metrics { cost_known: shared.metrics.cost_known, ..Metrics::default() };
        self.add(Node {
            id,
            parent,
            depth: fact.depth,
            band: fact.band_index,
            step: fact.step_index,
            step_id: fact.step_id.clone(),
            title: fact.title.clone(),
            reason: fact.reason.clone(),
            criteria: fact.success_criteria.clone(),
            deliverable: fact.deliverable,
            retry_of: fact.retry_of,
            agent: fact.agent.clone(),
            status: NodeStatus::Planning,
            status_before_end: NodeStatus::Planning,
            role: NodeRole::Planner,
            message: None,
            paused: false,
            generation: 1,
            scratchpad: DocumentId(uuid::Uuid::nil()),
            tail: Default::default(),
            tail_preview: String::new(),
            plan: None,
            replans: 0,
            work: Box::default(),
            artifacts: Vec::new(),
            first_artifact: 0,
            reads: Vec::new(),
            stale: false,
            result: None,
            hint: None,
            synthesis: None,
            outcome: None,
            shortfall: None,
            error: None,
            retryable: false,
            cut_short: false,
            called: false,
            in_flight: 0,
            own: known.clone(),
            subtree: known,
            created_at: event.at,
            started_at: None,
            ended_at: None,
            updated_at: event.at,
        });
    }

    fn status_changed(&mut self, number: NodeNumber, fact: &fact::NodeStatusChanged) {
        let was = self.at(number).status;
        self.set_status(number, fact.status);
        if fact.status == NodeStatus::Blocked {
            self.accounts.release(number);
        }
        let node = self.at_mut(number);
        node.role = fact.role;
        node.message.clone_from(&fact.message);
        if was == NodeStatus::Blocked {
            node.work.question = None;
            node.work.question_closed = false;
            match fact.status {
                NodeStatus::Executing => {
                    node.work.round += 1;
                    node.work.asked += 1;
                }
                _ => node.work.ask += 1,
            }
        }
    }

    fn planned(&mut self, number: NodeNumber, fact: &fact::PlanCreated) {
        let node = self.at_mut(number);
        let earlier = node.plan.take().map(|plan| *plan);
        let plan =
            Plan::new(fact.plan_id, fact.version, fact.summary.clone().unwrap_or_default(), &fact.bands, earlier);
        let fresh = plan.pending().count() as u32;
        node.plan = Some(Box::new(plan));
        self.reserved_nodes += fresh;
    }

    fn tool_answered(&mut self, number: NodeNumber, fact: &fact::ToolCallResult, seq: u64) {
        let work = &mut self.at_mut(number).work;
        if let Some(call) = work.calls.iter_mut().find(|call| call.id == fact.call_id) {
            call.result = Some(CallResult {
                ok: fact.ok,
                summary: fact.summary.clone(),
                content: fact.result,
                chars: fact.chars,
                seq,
            });
        }
        let round_is_over = work.answered == work.round && work.calls.iter().all(|call| call.result.is_some());
        if round_is_over && work.result.is_none() {
            work.round += 1;
        }
        self.at_mut(number).own.tool_calls += 1;
        self.tools_made |= !fact.artifacts.is_empty();
        self.charge_path(number, |metrics| metrics.tool_calls += 1);
    }

    fn registered(&mut self, number: NodeNumber, fact: &fact::ArtifactCreated, event: &Event) {
        self.documents.extend(fact.document_id.map(|document| (document, (number, fact.artifact_id))));
        self.at_mut(number).artifacts.push(Artifact {
            id: fact.artifact_id,
            kind: fact.artifact_type,
            document: fact.document_id,
            label: fact.label.clone().unwrap_or_default(),
            title: fact.title.clone(),
            content: fact.content,
            json: fact.json.clone(),
            own: fact.own,
            is_primary: false,
            created_at: event.at,
        });
    }

    fn ended_as(&mut self, number: NodeNumber, status: NodeStatus, event: &Event) {
        self.at_mut(number).status_before_end = self.at(number).status;
        self.set_status(number, status);
        self.accounts.release(number);
        let node = self.at_mut(number);
        node.ended_at = Some(event.at);
        *node.work = GenerationWork::default();
        shorten(&mut node.tail);
        node.error = None;
        node.outcome = None;
        node.shortfall = None;
    }

    fn next_generation(&mut self, number: NodeNumber, generation: u32) {
        let node = self.at_mut(number);
        node.generation = generation;
        *node.work = GenerationWork::default();
        node.first_artifact = node.artifacts.len();
        node.reads.clear();
        node.stale = false;
        node.result = None;
        node.hint = None;
        node.outcome = None;
        node.shortfall = None;
        node.error = None;
        node.cut_short = false;
        node.ended_at = None;
        node.message = None;
    }

    fn set_paused(&mut self, number: NodeNumber, paused: bool) {
        self.at_mut(number).paused = paused;
        for below in self.subtree(number) {
            if paused {
                self.accounts.release(below);
            }
            self.refresh(below);
        }
    }
}

/// The newest entries that fit, whole; of the newest at least its end.
fn shorten(tail: &mut VecDeque<String>) {
    let mut admit = ENDED_TAIL_CHARS;
    let mut rest = VecDeque::new();
    for entry in tail.iter().rev() {
        let length = entry.chars().count();
        if length > admit && !rest.is_empty() {
            break;
        }
        rest.push_front(entry.chars().skip(length.saturating_sub(admit)).collect());
        admit = admit.saturating_sub(length);
    }
    *tail = rest;
}
