//! Minds behind the fake models: plausible ones and awful ones. They read a request by its sections, as
//! a real model would, and know nothing of the run but that.

mod agent;
mod executor;
mod planner;
mod tree;

use crate::dice::Dice;
use engine::model::Role;
pub use engine::section_reader::SectionReader as Sections;
use serde_json::{Value, json};
use uuid::Uuid;

/// How one run's model behaves, all its life.
#[derive(Clone, Debug, Default)]
pub struct FakeModel {
    pub behaviour: Behaviour,
    /// The iteration in which it means to be done.
    pub patience: u64,
    /// Things it has heard of but has no right to.
    pub foreign: Vec<Uuid>,
    /// A page that others edit too.
    pub shared_page: Option<Uuid>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Behaviour {
    #[default]
    Diligent,
    /// Gives work away; in a tree, plans whenever it is asked.
    Delegating,
    Asking,
    /// The same again; in a tree, always another plan or another round.
    Repeating,
    /// Says it is done, whatever is true; in a tree, names what is not its own.
    Boasting,
    Chaotic,
}

impl FakeModel {
    pub fn of(dice: &mut Dice, foreign: Vec<Uuid>, shared_page: Option<Uuid>) -> FakeModel {
        use Behaviour as T;
        let tempers = [
            T::Diligent,
            T::Diligent,
            T::Delegating,
            T::Delegating,
            T::Asking,
            T::Repeating,
            T::Boasting,
            T::Chaotic,
            T::Chaotic,
        ];
        let behaviour = *dice.pick(&tempers).unwrap_or(&T::Diligent);
        FakeModel { behaviour, patience: dice.between(1, 5), foreign, shared_page }
    }
}

/// An answer as it leaves the model.
#[derive(Clone, Debug)]
pub struct Said {
    pub text: String,
    /// Ended by the token limit.
    pub cut: bool,
    /// Whether anything in it may be acted upon.
    pub usable: bool,
}

pub fn say(fake_model: &FakeModel, role: Role, sections: &Sections, dice: &mut Dice) -> Said {
    let answer = match role {
        Role::HomeworkPlanner => planner::answer(fake_model, sections, dice),
        Role::HomeworkExecutor => executor::answer(fake_model, sections, dice),
        Role::HomeworkRepair => repair(sections, dice),
        Role::HomeworkReport => {
            json!({"title": "Report", "summary": "What was done.", "findings": ["one"], "not_done": []})
        }
        Role::TreePlanner => tree::planner(fake_model, sections, dice),
        Role::TreeExecutor => tree::executor(fake_model, sections, dice),
        Role::TreeAggregator => tree::aggregator(fake_model, sections, dice),
        Role::AgentStep => agent::step(fake_model, sections, dice),
        Role::AgentReflection => agent::reflection(dice),
    };
    Said { text: answer.to_string(), cut: false, usable: true }
}

/// The words of people that a request shows: answers and messages.
pub fn heard(sections: &Sections) -> Vec<String> {
    let answers = sections.fields("questions", "answer");
    answers.into_iter().chain(sections.fields("messages", "text")).collect()
}

/// The artifacts whose content a request shows.
pub fn shown(sections: &Sections) -> Vec<String> {
    sections.fields("artifacts_read", "artifact_id")
}

fn repair(sections: &Sections, dice: &mut Dice) -> Value {
    let failed = sections.items("failed_calls");
    let corrected = failed.iter().take(dice.between(0, 3) as usize).map(|call| {
        let for_call_id = if dice.happens(100) { json!("i0.t99") } else { call["call_id"].clone() };
        json!({"for_call_id": for_call_id, "tool": "list_documents", "arguments": {}})
    });
    json!({"corrected_calls": corrected.collect::<Vec<_>>()})
}

/// What happens to good answers on the way out of a model.
pub fn garble(said: Said, dice: &mut Dice) -> Said {
    let Said { text, .. } = said;
    let spoiled = |text: String, cut| Said { text, cut, usable: false };
    let half = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    match dice.below(9) {
        0 => spoiled(text[..half].to_owned(), true),
        1 => spoiled(text[..half].to_owned(), false),
        2 => Said {
            text: format!("Certainly! Here is the answer:\n```json\n{text}\n```\nGood luck."),
            cut: false,
            usable: true,
        },
        3 => spoiled(String::new(), false),
        4 => spoiled("I would rather not.".into(), false),
        5 => spoiled(format!("{}{}", "[".repeat(3_000), "]".repeat(3_000)), false),
        6 => spoiled("{\"unexpected\": null}".into(), false),
        7 => spoiled("null".into(), false),
        // Whole, yet the server says that it was cut.
        _ => spoiled(text, true),
    }
}
