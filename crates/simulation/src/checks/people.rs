//! 6, 27: what people were told is so, their words are kept once and shown, and after a cancel nothing starts.

use super::Story;
use crate::world::Lived;
use crate::world::witness::{Act, Deed, Told};
use engine::facts::{Effect, Fact, Run as R};
use engine::model::Role;

pub fn check(lived: &Lived, story: &Story, wrongs: &mut Vec<String>) {
    for act in lived.record.acts.iter().filter(|act| act.run == story.id) {
        kept(lived, story, act, wrongs);
    }
    shown(lived, story, wrongs);
}

fn kept(lived: &Lived, story: &Story, act: &Act, wrongs: &mut Vec<String>) {
    let found: Vec<u64> =
        story.events.iter().filter(|event| records(&event.fact, &act.what)).map(|event| event.seq).collect();
    let in_time = found.iter().any(|seq| lived.record.committed_at(story.id, *seq).is_some_and(|at| at <= act.at_ms));
    let words = matches!(act.what, Deed::Say(_) | Deed::Answer(_) | Deed::Continue(_));
    if words && found.len() > 1 {
        wrongs.push(format!("6: {:?} to run {} is in its log {} times", act.what, story.id, found.len()));
    }
    let promised = matches!(act.what, Deed::Say(_) | Deed::Answer(_) | Deed::Pause | Deed::Cancel);
    match &act.told {
        Told::Done if promised && !in_time => {
            wrongs.push(format!("6: {:?} to run {} was acknowledged and is not in its log", act.what, story.id))
        }
        Told::Refused(slug) if words && !found.is_empty() => {
            wrongs.push(format!("6: {:?} to run {} was refused as {slug} and is in its log", act.what, story.id))
        }
        _ => {}
    }
}

fn records(fact: &Fact, deed: &Deed) -> bool {
    match (fact, deed) {
        (Fact::Run(R::MessageQueued(fact)), Deed::Say(text) | Deed::Continue(text)) => fact.text == *text,
        (Fact::Run(R::Answered(fact)), Deed::Answer(text)) => fact.text == *text,
        (Fact::Run(R::Paused(_)), Deed::Pause) | (Fact::Run(R::Canceled(_)), Deed::Cancel) => true,
        _ => false,
    }
}

/// Every planner call is shown the words that were in the log when it was decided upon.
fn shown(lived: &Lived, story: &Story, wrongs: &mut Vec<String>) {
    let planner =
        |request: &&crate::world::provider::Request| request.run == story.id && request.role == Role::HomeworkPlanner;
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
