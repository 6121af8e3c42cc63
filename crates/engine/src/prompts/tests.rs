//! What every prompt file must have, and the order of thought in its schema and its example.

use super::*;
use crate::role_schema::{Fields, InOrder};
use serde_json::Value;

/// Fields by what a model does when it writes them, in the order in which it should: a field of a later group never stands
/// before one of an earlier group in the same object. Fields that are in no group may stand anywhere.
const ORDER_OF_THOUGHT: [&[&str]; 5] = [
    // It thinks.
    &[
        "thought",
        "progress_summary",
        "branch_rollup",
        "scratchpad",
        "mode_reason",
        "synthesis",
        "purpose",
        "quotes",
        "notes",
        "reason",
    ],
    // It plans.
    &["mode", "leaf_decision", "plan"],
    // It acts.
    &["action", "tool_calls", "executor_tasks", "artifacts", "tool"],
    // It judges.
    &[
        "remaining_work",
        "completion_evidence",
        "confidence",
        "exit_signal",
        "next_action_hint",
        "done",
        "completed_step_ids",
        "result",
        "next",
        "status",
        "is_primary",
        "success_assessment",
        "should_replan",
        "met",
        "verdict",
    ],
    // It asks.
    &["needs_user_input", "blocking_questions", "question"],
];

/// Pairs that stand in this order wherever an object has both.
const BEFORE: [(&str, &str); 6] = [
    ("tool", "arguments"),
    ("action", "params"),
    ("completion_evidence", "exit_signal"),
    ("refs", "claim"),
    ("quotes", "reason"),
    ("id", "title"),
];

fn in_order(json: &str) -> InOrder {
    serde_json::from_str(json).expect("JSON")
}

fn fields(json: &InOrder) -> &[(String, InOrder)] {
    if let InOrder::Object(Fields(fields)) = json { fields } else { &[] }
}

fn field<'a>(json: &'a InOrder, name: &str) -> Option<&'a InOrder> {
    fields(json).iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

fn names(json: &InOrder) -> Vec<&str> {
    fields(json).iter().map(|(name, _)| name.as_str()).collect()
}

/// Every object of a schema that lists its fields, the outermost first.
fn objects(schema: &InOrder) -> Vec<&InOrder> {
    let listed = field(schema, "properties").map(fields).unwrap_or_default();
    let own = (!listed.is_empty()).then_some(schema);
    let within = listed.iter().map(|(_, schema)| schema).chain(field(schema, "items"));
    own.into_iter().chain(within.flat_map(objects)).collect()
}

/// Every schema that is sent: one for each role, and one more for who delegates.
fn sent() -> impl Iterator<Item = (Role, InOrder)> {
    let both = |role| [Some(schema(role)), schema_with_agents(role)].map(|schema| (role, schema));
    let all = Role::ALL.into_iter().flat_map(both);
    all.filter_map(|(role, schema)| schema.map(|schema| (role, in_order(schema.text.get()))))
}

/// The worked examples of a prompt, at least one.
fn examples(role: Role) -> Vec<&'static str> {
    let closed = |text: &'static str| text.split_once("\n```").expect("a closed example").0;
    let found: Vec<&str> = system(role).split("```json example\n").skip(1).map(closed).collect();
    assert!(!found.is_empty(), "{}", role.name());
    found
}

#[test]
fn m1_in_every_object_thinking_comes_before_acting_before_judging_before_asking() {
    for (role, schema) in sent() {
        for object in objects(&schema) {
            let names = names(field(object, "properties").expect("fields"));
            let group = |name: &&str| ORDER_OF_THOUGHT.iter().position(|group| group.contains(name));
            let groups: Vec<usize> = names.iter().filter_map(group).collect();
            assert!(groups.is_sorted(), "{}: {names:?}", role.name());
            for (first, second) in BEFORE {
                let place = |wanted| names.iter().position(|name| *name == wanted);
                let (Some(first), Some(second)) = (place(first), place(second)) else { continue };
                assert!(first < second, "{}: {names:?}", role.name());
            }
        }
    }
}

#[test]
fn m1_required_has_every_field_in_the_order_of_the_fields() {
    for (role, schema) in sent() {
        assert!(!objects(&schema).is_empty(), "{}", role.name());
        for object in objects(&schema) {
            let names = names(field(object, "properties").expect("fields"));
            let required = serde_json::to_value(field(object, "required").expect("required")).expect("JSON");
            assert_eq!(required, json!(names), "{}", role.name());
        }
    }
}

/// The example's objects against the schema's, all the way down.
fn assert_as_listed(role: Role, example: &InOrder, schema: &InOrder) {
    match example {
        InOrder::Object(Fields(written)) => {
            let Some(listed) = field(schema, "properties") else { return };
            assert_eq!(names(example), names(listed), "{}", role.name());
            for (name, value) in written {
                assert_as_listed(role, value, field(listed, name).expect("a field of the schema"));
            }
        }
        InOrder::Array(items) => {
            let Some(schema) = field(schema, "items") else { return };
            items.iter().for_each(|item| assert_as_listed(role, item, schema));
        }
        InOrder::Scalar(_) => {}
    }
}

#[test]
fn m1_the_worked_example_has_the_fields_of_the_schema_in_their_order() {
    for role in Role::ALL {
        for example in examples(role) {
            assert_as_listed(role, &in_order(example), &in_order(schema(role).text.get()));
        }
    }
}

#[test]
fn a5_a_planner_with_subagents_has_one_field_more_and_nobody_else_has() {
    for role in Role::ALL {
        let Some(giving) = schema_with_agents(role) else { continue };
        let work = giving.value.pointer(work_pointer(role).expect("a place")).expect("a schema there");
        assert_eq!(work["properties"]["agent"]["type"], json!(["string", "null"]));
        let mut plain = giving.value.clone();
        let work = plain.pointer_mut(work_pointer(role).expect("a place")).expect("a schema there");
        work["properties"].as_object_mut().expect("properties").remove("agent");
        work["required"].as_array_mut().expect("required").pop();
        assert_eq!(plain, schema(role).value, "{}", role.name());
    }
    assert_eq!(Role::ALL.iter().filter(|role| schema_with_agents(**role).is_some()).count(), 2);
}

#[test]
fn every_worked_example_fits_its_schema() {
    for role in Role::ALL {
        assert_eq!(schema(role).value["type"], "object", "{}", role.name());
        for example in examples(role) {
            let example: Value = serde_json::from_str(example).expect("the example is JSON");
            let mut errors = Vec::new();
            crate::schema::schema_errors(&example, &schema(role).value, "", &mut errors);
            assert!(errors.is_empty(), "{}: {errors:?}", role.name());
        }
    }
}
