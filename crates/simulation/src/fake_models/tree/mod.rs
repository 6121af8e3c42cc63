//! Fake answers of the tree roles: plans, results and aggregations, valid and invalid. A node is known by its title; planned
//! steps are named after their position, so equal trees have equal titles.

mod plans;
mod results;

use super::{Behaviour, FakeModel, Sections};
use crate::dice::Dice;
use serde_json::{Value, json};

pub fn planner(fake_model: &FakeModel, sections: &Sections, dice: &mut Dice) -> Value {
    let depth = sections.value("task")["depth"].as_u64().unwrap_or(0);
    let plans = match mood(fake_model, dice) {
        Behaviour::Boasting if dice.happens(600) => return plans::bad(sections, dice),
        Behaviour::Asking if asks(sections, dice) => return json!({"mode": "plan", "question": question(dice)}),
        Behaviour::Delegating => true,
        _ => dice.happens([950, 450, 200][depth.min(2) as usize]),
    };
    let mut answer = match plans {
        true => plans::sound(sections, dice),
        false => leaf(dice),
    };
    answer["scratchpad"] = pad(sections, dice);
    answer
}

pub fn executor(fake_model: &FakeModel, sections: &Sections, dice: &mut Dice) -> Value {
    let round = sections.value("round")["round"].as_u64().unwrap_or(1);
    let mut answer = match mood(fake_model, dice) {
        Behaviour::Boasting if dice.happens(600) => return results::bad(fake_model, dice),
        Behaviour::Asking if asks(sections, dice) => json!({"question": question(dice)}),
        Behaviour::Lying if dice.happens(500) => results::talk(),
        // Never finishes by itself.
        Behaviour::Repeating if dice.happens(300) => results::calling(fake_model, sections, round, dice),
        _ if round < dice.between(1, 4) => results::calling(fake_model, sections, round, dice),
        _ => results::finished(sections, dice),
    };
    answer["scratchpad"] = pad(sections, dice);
    answer
}

pub fn aggregator(fake_model: &FakeModel, sections: &Sections, dice: &mut Dice) -> Value {
    let mood = mood(fake_model, dice);
    let replans = match mood {
        Behaviour::Repeating => dice.happens(800),
        Behaviour::Boasting if dice.happens(600) => return results::bad_sum(fake_model, dice),
        Behaviour::Lying if dice.happens(500) => return results::praise(),
        _ => dice.happens(120),
    };
    let mut answer = results::sum(sections, replans, dice);
    answer["scratchpad"] = pad(sections, dice);
    answer
}

/// Even a diligent model sometimes misbehaves.
fn mood(fake_model: &FakeModel, dice: &mut Dice) -> Behaviour {
    use Behaviour as T;
    let any = [T::Diligent, T::Diligent, T::Delegating, T::Asking, T::Repeating, T::Boasting, T::Lying];
    match fake_model.behaviour {
        T::Chaotic => *dice.pick(&any).unwrap_or(&T::Diligent),
        _ if dice.happens(60) => T::Boasting,
        behaviour => behaviour,
    }
}

/// Asks less once a question was answered.
fn asks(sections: &Sections, dice: &mut Dice) -> bool {
    let answered = sections.items("questions").iter().filter(|question| question["answer"].is_string()).count();
    dice.happens(if answered == 0 { 600 } else { 100 })
}

fn question(dice: &mut Dice) -> Value {
    match dice.below(4) {
        0 => json!({"text": "Which way?", "options": ["left", "right"], "default": "left"}),
        1 => json!({"text": "How many?", "default": ""}),
        _ => json!({"text": "What colour?"}),
    }
}

fn leaf(dice: &mut Dice) -> Value {
    let decisions = [json!("direct"), json!("criteria_testable"), Value::Null];
    json!({"mode": "execute", "mode_reason": "small", "leaf_decision": dice.pick(&decisions)})
}

fn pad(sections: &Sections, dice: &mut Dice) -> Value {
    match dice.below(4) {
        0 => Value::Null,
        1 => json!({"append_markdown": format!("Noted on {}.", sections.title()), "tail_preview": "noted"}),
        _ => json!({"append_markdown": format!("Thought about {}.", sections.title())}),
    }
}
