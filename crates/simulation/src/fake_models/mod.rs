//! Fake models, plausible and misbehaving ones. Like a real model they know nothing of the run but the sections of the
//! request.

mod agent;
mod executor;
mod liar;
mod planner;
mod tree;
mod verifier;

use crate::dice::Dice;
use engine::model::Role;
pub use engine::section_reader::SectionReader as Sections;
use serde_json::{Value, json};
use uuid::Uuid;
pub use verifier::Judge;

/// How the model of one run behaves.
#[derive(Clone, Debug, Default)]
pub struct FakeModel {
    pub behaviour: Behaviour,
    /// The iteration in which it tries to finish.
    pub patience: u64,
    /// Ids of entities it may not use.
    pub foreign: Vec<Uuid>,
    /// A page that others edit too.
    pub shared_page: Option<Uuid>,
    pub judge: Judge,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Behaviour {
    #[default]
    Diligent,
    /// Delegates; in a tree, plans whenever it is asked.
    Delegating,
    Asking,
    /// The same again; in a tree, always another plan or another round.
    Repeating,
    /// Claims to be done in any case; in a tree, names artifacts that are not its own.
    Boasting,
    /// Begins like others; then drops steps, calls failed ones done, and cites what it did not make. Its executors only talk.
    Lying,
    Chaotic,
}

impl FakeModel {
    pub fn of(dice: &mut Dice, foreign: Vec<Uuid>, shared_page: Option<Uuid>) -> FakeModel {
        use Behaviour as B;
        let behaviours = [
            B::Diligent,
            B::Diligent,
            B::Delegating,
            B::Delegating,
            B::Asking,
            B::Repeating,
            B::Boasting,
            B::Lying,
            B::Lying,
            B::Chaotic,
            B::Chaotic,
        ];
        let behaviour = *dice.pick(&behaviours).unwrap_or(&B::Diligent);
        let patience = dice.between(1, 5);
        let judges = [Judge::Honest, Judge::Honest, Judge::Stern, Judge::Bribed, Judge::Bribed, Judge::Gullible];
        let judge = *dice.pick(&judges).unwrap_or(&Judge::Honest);
        FakeModel { behaviour, patience, foreign, shared_page, judge }
    }
}

/// An answer as it leaves the model.
#[derive(Clone, Debug)]
pub struct FakeAnswer {
    pub text: String,
    /// Ended by the token limit.
    pub cut: bool,
    /// Whether the run may act upon it.
    pub usable: bool,
}

pub fn say(fake_model: &FakeModel, role: Role, sections: &Sections, dice: &mut Dice) -> FakeAnswer {
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
        Role::Verifier => verifier::answer(fake_model, sections, dice),
        Role::AgentStep => agent::step(fake_model, sections, dice),
        Role::AgentReflection => agent::reflection(dice),
    };
    FakeAnswer { text: answer.to_string(), cut: false, usable: true }
}

/// The texts of people that a request shows: answers and messages.
pub fn people_texts(sections: &Sections) -> Vec<String> {
    let answers = sections.fields("questions", "answer");
    answers.into_iter().chain(sections.fields("messages", "text")).collect()
}

/// The criteria that a request asks to judge.
pub fn judged(sections: &Sections) -> Vec<String> {
    sections.fields("criteria", "criterion")
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

/// Damages an answer: cut, wrapped in prose, or not JSON.
pub fn garble(fake_answer: FakeAnswer, dice: &mut Dice) -> FakeAnswer {
    let FakeAnswer { text, .. } = fake_answer;
    let spoiled = |text: String, cut| FakeAnswer { text, cut, usable: false };
    let half = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    match dice.below(9) {
        0 => spoiled(text[..half].to_owned(), true),
        1 => spoiled(text[..half].to_owned(), false),
        2 => FakeAnswer {
            text: format!("Certainly! Here is the answer:\n```json\n{text}\n```\nGood luck."),
            cut: false,
            usable: true,
        },
        3 => spoiled(String::new(), false),
        4 => spoiled("I would rather not.".into(), false),
        5 => spoiled(format!("{}{}", "[".repeat(3_000), "]".repeat(3_000)), false),
        6 => spoiled("{\"unexpected\": null}".into(), false),
        7 => spoiled("null".into(), false),
        // Complete, but the server reports it as cut.
        _ => spoiled(text, true),
    }
}
