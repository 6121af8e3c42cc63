//! The built-in model: deterministic, free and offline. It reads the sections of a request and answers in every role of homework,
//! tree and task runs, so that the product can be tried and tested without a key. Equal requests get equal answers. It knows
//! nothing of runs or stores.

mod agent;
mod executor;
mod models;
mod perspectives;
mod planner;
mod planner_actions;
mod prose;
mod repair;
mod report;
mod subject;
mod tree;
mod verifier;

pub use models::{PROVIDER, RehearsalModels};

use crate::text::cut;
use engine::model::Role;
use engine::request::Speaker;
use engine::section_reader::SectionReader as Sections;

/// The answer to one request, as JSON text that fits the schema of its role. The model `demo` adds a question and a failure.
pub fn answer(model: &str, role: Role, messages: &[(Speaker, String)]) -> String {
    let sections = Sections::of(messages);
    let demo = model == tree::DEMO;
    let answer = match role {
        Role::HomeworkPlanner => planner::answer(&sections),
        Role::HomeworkExecutor => executor::answer(&sections),
        Role::HomeworkRepair => repair::answer(&sections),
        Role::HomeworkReport => report::answer(&sections),
        Role::TreePlanner => tree::planner(&sections),
        Role::TreeExecutor => tree::executor(&sections, demo),
        Role::TreeAggregator => tree::aggregator(&sections, demo),
        Role::Verifier => verifier::answer(&sections),
        Role::AgentStep => agent::step(&sections),
        Role::AgentReflection => agent::reflection(&sections),
    };
    answer.to_string()
}

/// A text on one line, cut if it is long.
fn one_line(text: &str) -> String {
    const MAX_LINE_CHARS: usize = 300;
    cut(&text.split_whitespace().collect::<Vec<_>>().join(" "), MAX_LINE_CHARS)
}
