//! 6, 27: what people were told is so, their words are kept once and shown, and after a cancel nothing starts.

use super::RunLog;
use super::tree::NodeParents;
use crate::world::provider::Request;
use crate::world::witness::{Act, Reply};
use engine::event::Event;
use engine::facts::run::MessageQueued;
use engine::facts::task::TaskEnding;
use engine::facts::{EffectFact, Fact, RunFact as R, TaskFact as K, TreeFact as T};
use engine::ids::MessageId;
use engine::model::Role;
use engine::run::{Command, Kind, Lane, NodeCommand};
use std::collections::{BTreeMap, BTreeSet};

pub fn check(log: &RunLog<'_>) {
    for act in log.world.record.acts.iter().filter(|act| act.run == log.id) {
        kept(log, act);
    }
    match log.row.kind {
        Kind::Homework => shown(log, Role::HomeworkPlanner),
        Kind::Task => shown(log, Role::AgentStep),
        Kind::Tree => shown_in_tree(log),
    }
}

fn kept(log: &RunLog<'_>, act: &Act) {
    let command = &act.command;
    let found: Vec<u64> = log.events.iter().filter(|event| records(event, command)).map(|event| event.seq).collect();
    let in_time = found.iter().any(|seq| log.committed_at(*seq).is_some_and(|at| at <= act.at_ms));
    let texts = matches!(command, Command::Say { .. } | Command::Answer { .. } | Command::Continue { .. });
    if texts && found.len() > 1 {
        log.violation(format_args!("6: {command:?} is in the log {} times", found.len()));
    }
    let promised = !matches!(command, Command::Resume | Command::Continue { .. } | Command::SetBudgets(_));
    match &act.reply {
        Reply::Done if promised && !in_time => {
            log.violation(format_args!("6: {command:?} was acknowledged and is not in the log"));
        }
        Reply::Refused(slug) if texts && !found.is_empty() => {
            log.violation(format_args!("6: {command:?} was refused as {slug} and is in the log"));
        }
        _ => {}
    }
}

fn records(event: &Event, command: &Command) -> bool {
    match (&event.fact, command) {
        (Fact::Tree(fact), Command::Node { node, order }) => match (order, fact) {
            (NodeCommand::Cancel, T::NodeCanceled(_))
            | (NodeCommand::Pause, T::NodePaused(_))
            | (NodeCommand::Resume, T::NodeResumed(_)) => event.node_id == Some(*node),
            (NodeCommand::Retry | NodeCommand::RetryWithDependents, T::NodeCreated(fact)) => {
                fact.retry_of == Some(*node)
            }
            // The root has no step to give to another: it is opened again itself.
            (NodeCommand::Retry | NodeCommand::RetryWithDependents, T::NodeReopened(fact)) => {
                event.node_id == Some(*node) && fact.caused_by == *node
            }
            _ => false,
        },
        (
            Fact::Run(R::MessageQueued(fact)),
            Command::Say { text, .. } | Command::Continue { message: Some(text), .. },
        ) => fact.text == *text,
        (Fact::Run(R::Answered(fact)), Command::Answer { text, .. }) => fact.text == *text,
        (Fact::Run(R::CriterionDecided(fact)), Command::Criterion { criterion, decision, note }) => {
            fact.decision == *decision
                && fact.note == *note
                && criterion.as_ref().is_none_or(|id| *id == fact.criterion)
        }
        // A subagent looks back before it goes.
        (Fact::Task(K::Ended(fact)), Command::Cancel) => fact.ending == TaskEnding::Canceled,
        (Fact::Run(R::Paused(_)), Command::Pause) | (Fact::Run(R::Canceled(_)), Command::Cancel) => true,
        _ => false,
    }
}

/// Every call of the role that decides is shown the words that were in the log when it was decided upon.
fn shown(log: &RunLog<'_>, decides: Role) {
    for request in log.bill.iter().filter(|request| request.role == decides) {
        let intent = log.events.iter().position(|event| {
            matches!(&event.fact, Fact::Effect(EffectFact::Started(fact)) if (fact.effect.0.as_str(), fact.attempt) == request.key())
        });
        for event in &log.events[..intent.unwrap_or(0)] {
            let text = match &event.fact {
                Fact::Run(R::Answered(fact)) => &fact.text,
                Fact::Run(R::MessageQueued(fact)) => &fact.text,
                _ => continue,
            };
            if !request.people_texts.contains(text) {
                log.violation_at(event, format_args!("6: {request} was not shown {text:?}"));
            }
        }
    }
}

/// Questions that a request shows at most; older ones may be missing.
const SHOWN_QUESTIONS: usize = 20;

/// Every call of a node is shown the answers of the whole run and the messages that are for it and unread; and a
/// receipt is only written for what was shown.
fn shown_in_tree(log: &RunLog<'_>) {
    let parents_of_nodes = NodeParents::of(&log.events);
    let requests: BTreeMap<(&str, u32), &Request> = log.bill.iter().map(|request| (request.key(), *request)).collect();
    let mut texts = PeopleTexts::default();
    // Receipts follow the intent of the call they are for.
    let mut asked: Option<&Request> = None;
    for event in &log.events {
        match &event.fact {
            Fact::Effect(EffectFact::Started(fact)) => {
                asked = requests.get(&(fact.effect.0.as_str(), fact.attempt)).copied();
                let Some(request) = asked.filter(|request| request.role != Role::Verifier) else { continue };
                let owed = texts.owed(event, request.role, &parents_of_nodes);
                for missing in owed.filter(|text| !request.people_texts.contains(text)) {
                    log.violation_at(event, format_args!("6: {request} was not shown {missing:?}"));
                }
            }
            Fact::Run(R::MessageDelivered(fact)) => {
                let message = texts.messages.get(&fact.message_id);
                let shown = |request: &Request| message.is_some_and(|it| request.people_texts.contains(&it.text));
                if asked.is_some_and(|request| request.effect == fact.effect && !shown(request)) {
                    log.violation_at(event, "6: a receipt for what was not shown");
                }
            }
            _ => {}
        }
        texts.learn(event);
    }
}

#[derive(Default)]
struct PeopleTexts {
    messages: BTreeMap<MessageId, MessageQueued>,
    delivered: BTreeSet<MessageId>,
    answers: Vec<String>,
    asked: usize,
}

impl PeopleTexts {
    fn learn(&mut self, event: &Event) {
        match &event.fact {
            Fact::Run(R::MessageQueued(fact)) => {
                self.messages.insert(fact.message_id, fact.clone());
            }
            Fact::Run(R::MessageDelivered(fact)) => drop(self.delivered.insert(fact.message_id)),
            Fact::Run(R::QuestionAsked(_)) => self.asked += 1,
            Fact::Run(R::Answered(fact)) => self.answers.push(fact.text.clone()),
            _ => {}
        }
    }

    fn owed<'a>(
        &'a self,
        started: &'a Event,
        role: Role,
        parents_of_nodes: &'a NodeParents,
    ) -> impl Iterator<Item = &'a String> {
        let unread = self.messages.values().filter(move |message| {
            let in_time = message.lane == Lane::Steer || role != Role::TreeExecutor;
            let addressed = message.node_id.is_none_or(|node| {
                started.node_id.is_some_and(|at| parents_of_nodes.path(at).any(|above| above == node))
            });
            !self.delivered.contains(&message.message_id) && in_time && addressed
        });
        let answers = if self.asked <= SHOWN_QUESTIONS { self.answers.as_slice() } else { &[] };
        unread.map(|message| &message.text).chain(answers)
    }
}
