//! Commands to a run, and when they are refused.

use super::admission::check_message;
use super::shared::Shared;
use super::terms::{Kind, Lane, Status, StopReason};
use super::{Input, Run};
use crate::actor::Actor;
use crate::budget::{BudgetPatch, Budgets};
use crate::effect::EffectId;
use crate::facts::effect::Decision;
use crate::facts::evidence::CriterionDecision;
use crate::facts::run::{
    Answered, BudgetChanged, Canceled, Ended, MessageQueued, Paused, ReportCreated, ResumeReason, Resumed,
};
use crate::ids::{NodeId, QuestionId, RunId};
use crate::money::Usd;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Command {
    /// Without a question: the only open one.
    Answer {
        question: Option<QuestionId>,
        text: String,
    },
    /// Several answers and limits, all of them or none.
    Respond {
        answers: Vec<UserAnswer>,
        budgets: BudgetPatch,
    },
    Say {
        text: String,
        node: Option<NodeId>,
        lane: Lane,
    },
    Pause,
    Resume,
    Cancel,
    SetBudgets(BudgetPatch),
    /// Lets a stopped or failed run go on; on a moving one it only sets limits.
    Continue {
        budgets: BudgetPatch,
        message: Option<String>,
    },
    Resolve {
        effect: EffectId,
        decision: Decision,
        note: Option<String>,
    },
    /// A person's word on a success criterion.
    Criterion {
        criterion: Option<String>,
        decision: CriterionDecision,
        note: Option<String>,
    },
    /// To one node of a tree and what is below it.
    Node {
        node: NodeId,
        order: NodeCommand,
    },
}

/// Without a question: the only open one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserAnswer {
    pub question: Option<QuestionId>,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeCommand {
    Cancel,
    Retry,
    /// And, after it, what rested on its result in later bands.
    RetryWithDependents,
    Pause,
    Resume,
}

/// Why a command was not accepted. `slug` is stable; `message` explains it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub slug: &'static str,
    pub message: String,
    pub remedy: Option<Remedy>,
}

/// What would make a refused command work. The CLI and the page phrase it in their own terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    RaiseIterations {
        run: RunId,
        to: u32,
    },
    RaiseMinutes {
        run: RunId,
        to: i64,
    },
    /// Only the limits that are too low, each with the least that works.
    RaiseSpending {
        run: RunId,
        cost: Option<Usd>,
        tokens: Option<u64>,
    },
    RaiseNodes {
        above: u32,
    },
    RetryNode {
        run: RunId,
        node: NodeId,
    },
    ResumeNodes {
        run: RunId,
        nodes: Vec<NodeId>,
    },
}

impl Refusal {
    pub fn new(slug: &'static str, message: impl Into<String>) -> Refusal {
        Refusal { slug, message: message.into(), remedy: None }
    }

    pub(crate) fn with(self, remedy: Remedy) -> Refusal {
        Refusal { remedy: Some(remedy), ..self }
    }
}

pub(crate) fn refuse<T>(slug: &'static str, message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::new(slug, message))
}

impl Run {
    /// Decide a command: facts in the draft, or a refusal and no change.
    pub fn command(&mut self, command: Command, actor: Actor, now: Timestamp) -> Result<(), Refusal> {
        match command {
            Command::Answer { question, text } => {
                self.respond(vec![UserAnswer { question, text }], &BudgetPatch::default(), actor, now)
            }
            Command::Respond { answers, budgets } => self.respond(answers, &budgets, actor, now),
            Command::Say { text, node, lane } => self.say(text, node, lane, actor, now),
            Command::Pause => self.pause(actor, now),
            Command::Resume => self.resume(actor, now),
            Command::Cancel => self.cancel(actor, now),
            Command::SetBudgets(patch) => self.set_budgets(&patch, actor, now),
            Command::Continue { budgets, message } => self.continue_with(&budgets, message, actor, now),
            Command::Resolve { effect, decision, note } => self.resolve(effect, decision, note, actor, now),
            Command::Criterion { criterion, decision, note } => {
                self.decide_criterion(criterion, decision, note, actor, now)
            }
            Command::Node { node, order } => self.command_node(node, order, actor, now),
        }
    }

    /// Everything is checked before anything is recorded. Limits are set first, because the answers may need the new room.
    fn respond(
        &mut self,
        answers: Vec<UserAnswer>,
        budgets: &BudgetPatch,
        actor: Actor,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let mut meant: Vec<(QuestionId, String)> = Vec::new();
        for reply in answers {
            let question = self.question_of(&reply)?;
            if self.unknown_behind(question).is_some() && Decision::from_answer(&reply.text).is_none() {
                return refuse("unknown_decision", "answer happened, did_not or retry; the question stays open");
            }
            if meant.iter().any(|(known, _)| *known == question) {
                return refuse(
                    "answered_twice",
                    format!("question {question} is answered twice; nothing was recorded"),
                );
            }
            meant.push((question, reply.text));
        }
        if *budgets != BudgetPatch::default() {
            self.set_budgets(budgets, actor, now)?;
        }
        let by = self.by(actor);
        for (question_id, text) in meant {
            match (self.unknown_behind(question_id), Decision::from_answer(&text)) {
                (Some(effect), Some(decision)) => self.resolve(effect, decision, None, actor, now)?,
                _ => self.emit(Answered { question_id, text, by }, actor, now),
            }
        }
        self.resume_if_answered(ResumeReason::Answered, now);
        self.proceed(now);
        Ok(())
    }

    /// The open question that a reply is for.
    fn question_of(&self, reply: &UserAnswer) -> Result<QuestionId, Refusal> {
        let shared = &self.shared;
        if reply.text.trim().is_empty() {
            return refuse("empty_answer", "the answer is empty; the question stays open");
        }
        check_message(&reply.text)?;
        if let Some(asked) = reply.question {
            let Some(known) = shared.questions.iter().find(|known| known.id == asked) else {
                return refuse("question_not_found", format!("run {} has no question {asked}", shared.id));
            };
            if let Some(answer) = &known.answer {
                return refuse("already_answered", format!("question {asked} was already answered: {answer}"));
            }
        }
        if shared.status().is_terminal() {
            let status = shared.status().name();
            return refuse(
                "run_ended",
                format!("run {} is {status}; its questions can no longer be answered", shared.id),
            );
        }
        let mut open = shared.open_questions();
        match (reply.question, open.next(), open.next()) {
            (Some(asked), _, _) => Ok(asked),
            (None, Some(only), None) => Ok(only.id),
            (None, None, _) => refuse("no_open_question", format!("run {} has no open question", shared.id)),
            (None, Some(_), Some(_)) => refuse("several_questions", self.list_questions()),
        }
    }

    fn list_questions(&self) -> String {
        let questions = self.shared.open_questions().map(|question| format!("\n  {}  {}", question.id, question.text));
        format!("run {} has several open questions; name one:{}", self.shared.id, questions.collect::<String>())
    }

    /// Resumes the run once no open question holds it up.
    pub(super) fn resume_if_answered(&mut self, reason: ResumeReason, now: Timestamp) {
        if self.shared.unpaused_status == Status::WaitingOnUser && !self.rules().awaits_answers(&self.shared) {
            self.emit(Resumed { reason }, Actor::Platform, now);
            self.proceed(now);
        }
    }

    fn say(
        &mut self,
        text: String,
        node_id: Option<NodeId>,
        lane: Lane,
        actor: Actor,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        check_message(&text)?;
        let status = self.shared.status();
        if matches!(status, Status::Completed | Status::Canceled) {
            return refuse(
                "run_ended",
                format!("run {} is {}; start a new run to go on from it", self.shared.id, status.name()),
            );
        }
        if let Some(node) = node_id {
            self.rules().check_addressee(&self.shared, node)?;
        }
        self.queue_message(text, node_id, lane, actor, now);
        Ok(())
    }

    fn queue_message(&mut self, text: String, node_id: Option<NodeId>, lane: Lane, actor: Actor, now: Timestamp) {
        let mut facts = self.facts(now);
        let message_id = facts.new_id();
        facts.push(MessageQueued { message_id, text, node_id, lane });
        self.record(facts, actor);
    }

    fn pause(&mut self, actor: Actor, now: Timestamp) -> Result<(), Refusal> {
        match self.shared.status() {
            Status::Paused => refuse("already_paused", format!("run {} is paused already", self.shared.id)),
            status if status.is_terminal() => {
                refuse("run_ended", format!("run {} is {}; there is nothing to pause", self.shared.id, status.name()))
            }
            _ => {
                self.emit(Paused { reason: None, branches: false }, actor, now);
                Ok(())
            }
        }
    }

    fn resume(&mut self, actor: Actor, now: Timestamp) -> Result<(), Refusal> {
        match self.shared.status() {
            Status::Paused if self.shared.paused_by_branches => {
                let (run, nodes) = (self.shared.id, self.paused_nodes());
                let why = format!("run {run} waits for its paused nodes");
                Err(Refusal::new("branches_paused", why).with(Remedy::ResumeNodes { run, nodes }))
            }
            Status::Paused => {
                self.emit(Resumed { reason: ResumeReason::Unpaused }, actor, now);
                self.resume_if_answered(ResumeReason::Answered, now);
                self.proceed(now);
                Ok(())
            }
            Status::WaitingOnUser => self.waits_for_an_answer(),
            Status::Stopped | Status::Failed => self.continue_with(&BudgetPatch::default(), None, actor, now),
            Status::Queued | Status::Running => {
                if self.shared.waits_for_provider().is_some() {
                    self.emit(Resumed { reason: ResumeReason::TryNow }, actor, now);
                    self.proceed(now);
                }
                Ok(())
            }
            status => refuse(
                "run_ended",
                format!("run {} is {}; start a new run to go on from it", self.shared.id, status.name()),
            ),
        }
    }

    fn waits_for_an_answer<T>(&self) -> Result<T, Refusal> {
        let why =
            format!("run {} waits for an answer, and only that lets it go on: answer its question", self.shared.id);
        refuse("waiting_on_user", why)
    }

    fn cancel(&mut self, actor: Actor, now: Timestamp) -> Result<(), Refusal> {
        let status = self.shared.status();
        if status.is_terminal() {
            return refuse("run_ended", format!("run {} is {} already", self.shared.id, status.name()));
        }
        let mut facts = self.facts(now);
        if self.rules().finishes_before_cancel(&self.shared, &mut facts) {
            return self.cancel_after_finishing(actor, now);
        }
        self.rules().canceled(&self.shared, &mut facts);
        self.record(facts, actor);
        self.abandon_calls(now);
        let detail = "canceled by a person";
        let mut facts = self.facts(now);
        self.rules().cut_short(&self.shared, StopReason::Canceled, detail, &mut facts);
        self.record(facts, actor);
        let report = crate::projection::bare_report(self, StopReason::Canceled, detail);
        self.emit(ReportCreated { report }, Actor::Platform, now);
        self.emit(Canceled { detail: None, ended: Ended::default() }, actor, now);
        Ok(())
    }

    /// Abandons the calls in flight, lifts a pause, and lets the machine finish and end the run.
    fn cancel_after_finishing(&mut self, actor: Actor, now: Timestamp) -> Result<(), Refusal> {
        if self.shared.paused {
            self.emit(Resumed { reason: ResumeReason::Unpaused }, actor, now);
        }
        self.abandon_calls(now);
        let mut facts = self.facts(now);
        self.rules().finishes_before_cancel(&self.shared, &mut facts);
        self.record(facts, actor);
        self.proceed(now);
        Ok(())
    }

    /// A command to one node. A retry reopens a run that had ended.
    fn command_node(&mut self, node: NodeId, order: NodeCommand, actor: Actor, now: Timestamp) -> Result<(), Refusal> {
        if order == NodeCommand::Cancel && self.root_node() == Some(node) {
            return self.cancel(actor, now);
        }
        let ended = self.shared.status().is_terminal();
        if ended && !matches!(order, NodeCommand::Retry | NodeCommand::RetryWithDependents) {
            return refuse(
                "run_ended",
                format!("run {} is {}; only retry reopens it", self.shared.id, self.shared.status().name()),
            );
        }
        let mut facts = self.facts(now);
        self.rules().command_node(&self.shared, node, order, &mut facts)?;
        // Another pause leaves a run at rest that its paused branches hold up.
        if ended || self.shared.paused_by_branches && order != NodeCommand::Pause {
            // Ids are derived from positions in the log, so the facts are decided again after the `Resumed` event.
            let reason = if ended { ResumeReason::Retry } else { ResumeReason::Unpaused };
            self.emit(Resumed { reason }, actor, now);
            facts = self.facts(now);
            self.rules().command_node(&self.shared, node, order, &mut facts)?;
        }
        self.record(facts, actor);
        self.drop_unwanted_retries(now);
        let how = match order {
            NodeCommand::Cancel => ResumeReason::Withdrawn,
            NodeCommand::Retry | NodeCommand::RetryWithDependents => ResumeReason::Retry,
            NodeCommand::Pause | NodeCommand::Resume => ResumeReason::Answered,
        };
        self.resume_if_answered(how, now);
        self.proceed(now);
        Ok(())
    }

    fn set_budgets(&mut self, patch: &BudgetPatch, actor: Actor, now: Timestamp) -> Result<(), Refusal> {
        let status = self.shared.status();
        if matches!(status, Status::Completed | Status::Canceled) {
            return refuse(
                "run_ended",
                format!("run {} is {}; its limits no longer matter", self.shared.id, status.name()),
            );
        }
        let budgets = self.patched(patch)?;
        if budgets != self.shared.budgets {
            self.emit(BudgetChanged { budgets }, actor, now);
        }
        self.proceed(now);
        Ok(())
    }

    /// The limits after a change, or a refusal when nothing could be done under them.
    fn patched(&self, patch: &BudgetPatch) -> Result<Budgets, Refusal> {
        let budgets = self.shared.budgets.patched(patch, &self.shared.brief.models);
        budgets.invalid_limit().map_or(Ok(budgets), |why| refuse("budget_too_small", why))
    }

    fn continue_with(
        &mut self,
        patch: &BudgetPatch,
        message: Option<String>,
        actor: Actor,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        match self.shared.status() {
            Status::Stopped | Status::Failed => {}
            Status::Completed | Status::Canceled => {
                let status = self.shared.status().name();
                return refuse(
                    "run_ended",
                    format!("run {} is {status}; start a new run to go on from it", self.shared.id),
                );
            }
            // Limits may be raised while it waits; nothing else would come of it.
            Status::WaitingOnUser if *patch == BudgetPatch::default() => return self.waits_for_an_answer(),
            _ => {
                message.as_deref().map_or(Ok(()), check_message)?;
                self.set_budgets(patch, actor, now)?;
                if let Some(text) = message {
                    self.queue_message(text, None, Lane::Steer, actor, now);
                }
                return Ok(());
            }
        }
        message.as_deref().map_or(Ok(()), check_message)?;
        let budgets = self.patched(patch)?;
        if let Some((why, remedy)) = self.still_spent(&budgets) {
            return Err(Refusal::new("limit_not_raised", why).with(remedy));
        }
        if budgets != self.shared.budgets {
            self.emit(BudgetChanged { budgets }, actor, now);
        }
        if let Some(text) = message {
            self.queue_message(text, None, Lane::Steer, actor, now);
        }
        self.emit(Resumed { reason: ResumeReason::Continued }, actor, now);
        self.decide(Input::Continued, now);
        Ok(())
    }

    pub fn root_node(&self) -> Option<NodeId> {
        match &self.machine {
            super::Machine::Homework(_) | super::Machine::Task(_) => None,
            super::Machine::Tree(state) => state.root().map(|root| root.id),
        }
    }

    /// The nodes of a tree that are paused and have not ended.
    fn paused_nodes(&self) -> Vec<NodeId> {
        let super::Machine::Tree(state) = &self.machine else { return Vec::new() };
        state.nodes.iter().filter(|node| node.paused && node.is_live()).map(|node| node.id).collect()
    }

    pub fn iteration(&self) -> u32 {
        match &self.machine {
            super::Machine::Homework(state) => state.iteration,
            // A tree has nodes instead, a task has steps.
            super::Machine::Tree(_) | super::Machine::Task(_) => 0,
        }
    }
}

pub(crate) fn no_such_node<T>(shared: &Shared, node: NodeId) -> Result<T, Refusal> {
    let why = match shared.brief.kind {
        Kind::Tree => format!("run {} has no node {node}", shared.id),
        kind => format!("run {} is a {} run and has no node {node}", shared.id, kind.name()),
    };
    refuse("node_not_found", why)
}
