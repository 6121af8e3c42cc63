//! The instructions of each role, one file each, with purpose, rules, schema and a worked example. Answers are checked
//! against the schema that is printed in the file.

use crate::model::Role;
use crate::role_schema::RoleSchema;
use serde_json::json;
use std::sync::OnceLock;

pub fn system(role: Role) -> &'static str {
    match role {
        Role::HomeworkPlanner => include_str!("homework/prompts/planner.md"),
        Role::HomeworkExecutor => include_str!("homework/prompts/executor.md"),
        Role::HomeworkRepair => include_str!("homework/prompts/repair.md"),
        Role::HomeworkReport => include_str!("homework/prompts/report.md"),
        Role::TreePlanner => include_str!("tree/prompts/planner.md"),
        Role::TreeExecutor => include_str!("tree/prompts/executor.md"),
        Role::TreeAggregator => include_str!("tree/prompts/aggregator.md"),
        Role::Verifier => include_str!("criteria/prompts/verifier.md"),
        Role::AgentStep => include_str!("task/prompts/step.md"),
        Role::AgentReflection => include_str!("task/prompts/reflection.md"),
    }
}

/// Added to a planner's instructions when the run has subagents to delegate to.
pub const GIVING_WORK: &str = include_str!("task/prompts/giving.md");
/// Added to the instructions of an executor that works as a subagent.
pub const WORKING_AS_SUBAGENT: &str = include_str!("task/prompts/given.md");

/// The JSON pointer to the schema of one piece of delegated work; only planners delegate.
fn work_pointer(role: Role) -> Option<&'static str> {
    match role {
        Role::HomeworkPlanner => Some("/properties/executor_tasks/items"),
        Role::TreePlanner => Some("/properties/plan/properties/bands/items/properties/steps/items"),
        _ => None,
    }
}

/// The schema of a planner that has subagents to delegate to; `None` for other roles.
pub fn schema_with_agents(role: Role) -> Option<&'static RoleSchema> {
    static SCHEMAS: OnceLock<Vec<Option<RoleSchema>>> = OnceLock::new();
    let all = SCHEMAS.get_or_init(|| Role::ALL.iter().map(|role| with_agent(*role)).collect());
    all[index(role)].as_ref()
}

fn with_agent(role: Role) -> Option<RoleSchema> {
    schema(role).with_field(work_pointer(role)?, "agent", json!({"type": ["string", "null"]}))
}

fn index(role: Role) -> usize {
    Role::ALL.iter().position(|known| *known == role).unwrap_or_default()
}

/// The JSON schema between the file's ```json schema fences, with its fields in the file's order.
pub fn schema(role: Role) -> &'static RoleSchema {
    static SCHEMAS: OnceLock<Vec<RoleSchema>> = OnceLock::new();
    let read = |role: &Role| fenced(system(*role)).and_then(RoleSchema::read);
    let all =
        SCHEMAS.get_or_init(|| Role::ALL.iter().map(|role| read(role).expect("a schema in the prompt")).collect());
    &all[index(role)]
}

fn fenced(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("```json schema\n")?;
    rest.split_once("\n```").map(|(json, _)| json)
}

#[cfg(test)]
mod tests;
