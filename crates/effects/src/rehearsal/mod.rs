//! The built-in model: deterministic, free, offline. It reads the sections of a request as any model
//! would and plays the parts of homework, of the tree and of a subagent, so that the product runs,
//! demos and tests without a key. Equal requests get equal answers; it knows nothing of runs or stores.

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

pub use models::{PROVIDER, RehearsalModels};

use engine::model::Role;
use engine::request::Speaker;
use sections::Sections;

mod sections {
    pub(super) use engine::section_reader::SectionReader as Sections;
}

/// The answer to one request, as JSON text in the shape its role asks for. `model` is the name behind the provider's:
/// `demo` plays with incidents, any other without.
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
        Role::AgentStep => agent::step(&sections),
        Role::AgentReflection => agent::reflection(&sections),
    };
    answer.to_string()
}

/// Somebody's words on one line, cut where they go on for long.
fn one_line(text: &str) -> String {
    const SAID_MAX: usize = 300;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SAID_MAX) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
