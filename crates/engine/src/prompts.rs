//! The instructions of each role, one file each, with purpose, rules, schema and a worked example. Answers are checked
//! against the schema that is printed in the file.

use crate::model::Role;
use serde_json::{Value, json};
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
pub fn schema_with_agents(role: Role) -> Option<&'static Value> {
    static SCHEMAS: OnceLock<Vec<Option<Value>>> = OnceLock::new();
    let all = SCHEMAS.get_or_init(|| Role::ALL.iter().map(|role| with_agent(*role)).collect());
    all[index(role)].as_ref()
}

/// The field is required like all others, because some servers reject schemas with optional fields.
fn with_agent(role: Role) -> Option<Value> {
    let mut whole = schema(role).clone();
    let work = whole.pointer_mut(work_pointer(role)?)?;
    work["properties"]["agent"] = json!({"type": ["string", "null"]});
    work["required"].as_array_mut()?.push("agent".into());
    Some(whole)
}

fn index(role: Role) -> usize {
    Role::ALL.iter().position(|known| *known == role).unwrap_or_default()
}

/// The JSON schema between the file's ```json schema fences.
pub fn schema(role: Role) -> &'static Value {
    static SCHEMAS: OnceLock<Vec<Value>> = OnceLock::new();
    let all = SCHEMAS.get_or_init(|| Role::ALL.iter().map(|role| fenced(system(*role))).collect());
    &all[index(role)]
}

fn fenced(text: &str) -> Value {
    let schema = text.split_once("```json schema\n").and_then(|(_, rest)| rest.split_once("\n```"));
    schema.and_then(|(json, _)| serde_json::from_str(json).ok()).unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a5_a_planner_with_subagents_has_one_field_more_and_nobody_else_has() {
        for role in Role::ALL {
            let Some(giving) = schema_with_agents(role) else { continue };
            let work = giving.pointer(work_pointer(role).expect("a place")).expect("a schema there");
            assert_eq!(work["properties"]["agent"]["type"], json!(["string", "null"]));
            let mut plain = giving.clone();
            let work = plain.pointer_mut(work_pointer(role).expect("a place")).expect("a schema there");
            work["properties"].as_object_mut().expect("properties").remove("agent");
            work["required"].as_array_mut().expect("required").pop();
            assert_eq!(&plain, schema(role), "{}", role.name());
        }
        assert_eq!(Role::ALL.iter().filter(|role| schema_with_agents(**role).is_some()).count(), 2);
    }

    #[test]
    fn every_role_has_a_schema_and_a_worked_example_that_is_json() {
        for role in Role::ALL {
            assert_eq!(schema(role)["type"], "object", "{}", role.name());
            let (_, rest) = system(role).split_once("```json example\n").expect("an example");
            let (example, _) = rest.split_once("\n```").expect("a closed example");
            let example: Value = serde_json::from_str(example).expect("the example is JSON");
            for required in schema(role)["required"].as_array().expect("required") {
                assert!(example.get(required.as_str().unwrap()).is_some(), "{} lacks {required}", role.name());
            }
        }
    }
}
