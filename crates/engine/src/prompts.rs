//! The roles' own words: one file each, with purpose, rules, schema and a worked example. The schema a
//! model is held to is the one printed in the file it reads.

use crate::model::Role;
use serde_json::Value;
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
        Role::AgentStep => include_str!("task/prompts/step.md"),
        Role::AgentReflection => include_str!("task/prompts/reflection.md"),
    }
}

/// The JSON schema between the file's ```json schema fences.
pub fn schema(role: Role) -> &'static Value {
    static SCHEMAS: OnceLock<Vec<Value>> = OnceLock::new();
    let all = SCHEMAS.get_or_init(|| Role::ALL.iter().map(|role| fenced(system(*role))).collect());
    let index = Role::ALL.iter().position(|known| *known == role).unwrap_or_default();
    &all[index]
}

fn fenced(text: &str) -> Value {
    let schema = text.split_once("```json schema\n").and_then(|(_, rest)| rest.split_once("\n```"));
    schema.and_then(|(json, _)| serde_json::from_str(json).ok()).unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

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
