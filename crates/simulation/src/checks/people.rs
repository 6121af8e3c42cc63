//! 6, 27: what people were told is so, their words are kept once and shown, and after a cancel nothing starts.

use super::Story;
use super::tree::Family;
use crate::world::Lived;
use crate::world::provider::Request;
use crate::world::witness::{Act, Action, Reply};
use engine::event::Event;
use engine::facts::run::MessageQueued;
use engine::facts::task::TaskEnding;
use engine::facts::{Effect, Fact, Run as R, Task as K, Tree as T};
use engine::ids::MessageId;
use engine::model::Role;
use engine::run::{Kind, Lane, NodeCommand};
use std::collections::{BTreeMap, BTreeSet};

pub fn check(lived: &Lived, story: &Story, wrongs: &mut Vec<String>) {
    for act in lived.record.acts.iter().filter(|act| act.run == story.id) {
        kept(lived, story, act, wrongs);
    }
    match story.row.kind {
        Kind::Homework => shown(lived, story, Role::HomeworkPlanner, wrongs),
        Kind::Task => shown(lived, story, Role::AgentStep, wrongs),
        Kind::Tree => shown_in_tree(lived, story, wrongs),
    }
}

fn kept(lived: &Lived, story: &Story, act: &Act, wrongs: &mut Vec<String>) {
    let found: Vec<u64> =
        story.events.iter().filter(|event| records(event, &act.what)).map(|event| event.seq).collect();
    let in_time = found.iter().any(|seq| lived.record.committed_at(story.id, *seq).is_some_and(|at| at <= act.at_ms));
    let words = matches!(act.what, Action::Say(_) | Action::Answer(_) | Action::Continue(_));
    if words && found.len() > 1 {
        wrongs.push(format!("6: {:?} to run {} is in its log {} times", act.what, story.id, found.len()));
    }
    let promised =
        matches!(act.what, Action::Say(_) | Action::Answer(_) | Action::Pause | Action::Cancel | Action::Node(..));
    match &act.told {
        Reply::Done if promised && !in_time => {
            wrongs.push(format!("6: {:?} to run {} was acknowledged and is not in its log", act.what, story.id))
        }
        Reply::Refused(slug) if words && !found.is_empty() => {
            wrongs.push(format!("6: {:?} to run {} was refused as {slug} and is in its log", act.what, story.id))
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
fn shown(lived: &Lived, story: &Story, decides: Role, wrongs: &mut Vec<String>) {
    let planner = |request: &&Request| request.run == story.id && request.role == decides;
    for request in lived.bill.iter().filter(planner) {
        let intent = story.events.iter().position(|event| {
            matches!(&event.fact, Fact::Effect(Effect::Started(fact)) if fact.effect.0 == request.effect && fact.attempt == request.attempt)
        });
        for event in &story.events[..intent.unwrap_or(0)] {
            let words = match &event.fact {
                Fact::Run(R::Answered(fact)) => &fact.text,
                Fact::Run(R::MessageQueued(fact)) => &fact.text,
                _ => continue,
            };
            if !request.heard.contains(words) {
                wrongs.push(format!(
                    "6: {words:?} was said to run {} and {}:{} was not shown it",
                    story.id, request.effect, request.attempt
                ));
            }
        }
    }
}

/// Questions that a request shows at most; older ones may be missing.
const SHOWN_QUESTIONS: usize = 20;

/// Every call of a node is shown the answers of the whole run and the messages that are for it and unread; and a
/// receipt is only written for what was shown.
fn shown_in_tree(lived: &Lived, story: &Story, wrongs: &mut Vec<String>) {
    let family = Family::of(&story.events);
    let heard: BTreeMap<(&str, u32), &Request> = lived
        .bill
        .iter()
        .filter(|request| request.run == story.id)
        .map(|request| ((request.effect.as_str(), request.attempt), request))
        .collect();
    let mut words = Words::default();
    // Receipts follow the intent of the call they are for.
    let mut asked: Option<&Request> = None;
    for event in &story.events {
        match &event.fact {
            Fact::Effect(Effect::Started(fact)) => {
                asked = heard.get(&(fact.effect.0.as_str(), fact.attempt)).copied();
                let Some(request) = asked else { continue };
                for missing in words.owed(event, request.role, &family).filter(|text| !request.heard.contains(text)) {
                    wrongs.push(format!(
                        "6: {missing:?} was said to run {} and {}:{} was not shown it",
                        story.id, request.effect, request.attempt
                    ));
                }
            }
            Fact::Run(R::MessageDelivered(fact)) => {
                let said = words.messages.get(&fact.message_id).map(|message| &message.text);
                let asked = asked.filter(|request| request.effect == fact.effect);
                if asked.is_some_and(|request| said.is_none_or(|said| !request.heard.contains(said))) {
                    wrongs.push(format!("6: run {} has a receipt at {} for what was not shown", story.id, event.seq));
                }
            }
            _ => {}
        }
        words.learn(event);
    }
}

#[derive(Default)]
struct Words {
    messages: BTreeMap<MessageId, MessageQueued>,
    delivered: BTreeSet<MessageId>,
    answers: Vec<String>,
    asked: usize,
}

impl Words {
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

    fn owed<'a>(&'a self, started: &'a Event, role: Role, family: &'a Family) -> impl Iterator<Item = &'a String> {
        let unread = self.messages.values().filter(move |message| {
            let in_time = message.lane == Lane::Steer || role != Role::TreeExecutor;
            let addressed = message
                .node_id
                .is_none_or(|node| started.node_id.is_some_and(|at| family.path(at).any(|above| above == node)));
            !self.delivered.contains(&message.message_id) && in_time && addressed
        });
        let answers = if self.asked <= SHOWN_QUESTIONS { self.answers.as_slice() } else { &[] };
        unread.map(|message| &message.text).chain(answers)
    }
}
