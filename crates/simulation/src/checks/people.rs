//! 6, 27: what people were told is so, their words are kept once and shown, and after a cancel nothing starts.

use super::RunLog;
use super::tree::NodeParents;
use crate::world::FinishedWorld;
use crate::world::provider::Request;
use crate::world::witness::{Act, Action, Reply};
use engine::event::Event;
use engine::facts::run::MessageQueued;
use engine::facts::task::TaskEnding;
use engine::facts::{EffectFact, Fact, RunFact as R, TaskFact as K, TreeFact as T};
use engine::ids::MessageId;
use engine::model::Role;
use engine::run::{Kind, Lane, NodeCommand};
use std::collections::{BTreeMap, BTreeSet};

pub fn check(finished: &FinishedWorld, log: &RunLog, violations: &mut Vec<String>) {
    for act in finished.record.acts.iter().filter(|act| act.run == log.id) {
        kept(finished, log, act, violations);
    }
    match log.row.kind {
        Kind::Homework => shown(finished, log, Role::HomeworkPlanner, violations),
        Kind::Task => shown(finished, log, Role::AgentStep, violations),
        Kind::Tree => shown_in_tree(finished, log, violations),
    }
}

fn kept(finished: &FinishedWorld, log: &RunLog, act: &Act, violations: &mut Vec<String>) {
    let found: Vec<u64> = log.events.iter().filter(|event| records(event, &act.what)).map(|event| event.seq).collect();
    let in_time = found.iter().any(|seq| finished.record.committed_at(log.id, *seq).is_some_and(|at| at <= act.at_ms));
    let texts = matches!(act.what, Action::Say(_) | Action::Answer(_) | Action::Continue(_));
    if texts && found.len() > 1 {
        violations.push(format!("6: {:?} to run {} is in its log {} times", act.what, log.id, found.len()));
    }
    let promised =
        matches!(act.what, Action::Say(_) | Action::Answer(_) | Action::Pause | Action::Cancel | Action::Node(..));
    match &act.reply {
        Reply::Done if promised && !in_time => {
            violations.push(format!("6: {:?} to run {} was acknowledged and is not in its log", act.what, log.id))
        }
        Reply::Refused(slug) if texts && !found.is_empty() => {
            violations.push(format!("6: {:?} to run {} was refused as {slug} and is in its log", act.what, log.id))
        }
        _ => {}
    }
}

fn records(event: &Event, deed: &Action) -> bool {
    match (&event.fact, deed) {
        (Fact::Tree(fact), Action::Node(order, node)) => match (order, fact) {
            (NodeCommand::Cancel, T::NodeCanceled(_))
            | (NodeCommand::Pause, T::NodePaused(_))
            | (NodeCommand::Resume, T::NodeResumed(_)) => event.node_id == Some(*node),
            (NodeCommand::Retry, T::NodeCreated(fact)) => fact.retry_of == Some(*node),
            // The root has no step to give to another: it is opened again itself.
            (NodeCommand::Retry, T::NodeReopened(fact)) => event.node_id == Some(*node) && fact.caused_by == *node,
            _ => false,
        },
        (Fact::Run(R::MessageQueued(fact)), Action::Say(text) | Action::Continue(text)) => fact.text == *text,
        (Fact::Run(R::Answered(fact)), Action::Answer(text)) => fact.text == *text,
        // A subagent looks back before it goes.
        (Fact::Task(K::Ended(fact)), Action::Cancel) => fact.ending == TaskEnding::Canceled,
        (Fact::Run(R::Paused(_)), Action::Pause) | (Fact::Run(R::Canceled(_)), Action::Cancel) => true,
        _ => false,
    }
}

/// Every call of the role that decides is shown the words that were in the log when it was decided upon.
fn shown(finished: &FinishedWorld, log: &RunLog, decides: Role, violations: &mut Vec<String>) {
    let planner = |request: &&Request| request.run == log.id && request.role == decides;
    for request in finished.bill.iter().filter(planner) {
        let intent = log.events.iter().position(|event| {
            matches!(&event.fact, Fact::Effect(EffectFact::Started(fact)) if fact.effect.0 == request.effect && fact.attempt == request.attempt)
        });
        for event in &log.events[..intent.unwrap_or(0)] {
            let texts = match &event.fact {
                Fact::Run(R::Answered(fact)) => &fact.text,
                Fact::Run(R::MessageQueued(fact)) => &fact.text,
                _ => continue,
            };
            if !request.people_texts.contains(texts) {
                violations.push(format!(
                    "6: {texts:?} was said to run {} and {}:{} was not shown it",
                    log.id, request.effect, request.attempt
                ));
            }
        }
    }
}

/// Questions that a request shows at most; older ones may be missing.
const SHOWN_QUESTIONS: usize = 20;

/// Every call of a node is shown the answers of the whole run and the messages that are for it and unread; and a
/// receipt is only written for what was shown.
fn shown_in_tree(finished: &FinishedWorld, log: &RunLog, violations: &mut Vec<String>) {
    let parents_of_nodes = NodeParents::of(&log.events);
    let people_texts: BTreeMap<(&str, u32), &Request> = finished
        .bill
        .iter()
        .filter(|request| request.run == log.id)
        .map(|request| ((request.effect.as_str(), request.attempt), request))
        .collect();
    let mut texts = PeopleTexts::default();
    // Receipts follow the intent of the call they are for.
    let mut asked: Option<&Request> = None;
    for event in &log.events {
        match &event.fact {
            Fact::Effect(EffectFact::Started(fact)) => {
                asked = people_texts.get(&(fact.effect.0.as_str(), fact.attempt)).copied();
                let Some(request) = asked else { continue };
                for missing in texts
                    .owed(event, request.role, &parents_of_nodes)
                    .filter(|text| !request.people_texts.contains(text))
                {
                    violations.push(format!(
                        "6: {missing:?} was said to run {} and {}:{} was not shown it",
                        log.id, request.effect, request.attempt
                    ));
                }
            }
            Fact::Run(R::MessageDelivered(fact)) => {
                let fake_answer = texts.messages.get(&fact.message_id).map(|message| &message.text);
                let asked = asked.filter(|request| request.effect == fact.effect);
                if asked.is_some_and(|request| {
                    fake_answer.is_none_or(|fake_answer| !request.people_texts.contains(fake_answer))
                }) {
                    violations.push(format!("6: run {} has a receipt at {} for what was not shown", log.id, event.seq));
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
