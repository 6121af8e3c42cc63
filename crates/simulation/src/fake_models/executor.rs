//! Fake answers of executors, with invalid tool calls among them.

use super::{Behaviour, FakeModel, Sections, liar, planner};
use crate::dice::Dice;
use serde_json::{Value, json};

pub fn answer(fake_model: &FakeModel, sections: &Sections, dice: &mut Dice) -> Value {
    let round = sections.number("round");
    let branch = sections.value("task")["branch_id"].as_str().unwrap_or("b").to_owned();
    if fake_model.behaviour == Behaviour::Lying && dice.happens(800) {
        return liar::executor(fake_model, &branch, round, dice);
    }
    let done = round >= dice.between(1, 5);
    let calls: Vec<Value> = match done {
        true => Vec::new(),
        false => (0..dice.between(1, 3))
            .map(|n| planner::call(fake_model, sections, &format!("{branch}.r{round}.{n}"), dice))
            .collect(),
    };
    said(&branch, round, calls, done)
}

pub(super) fn said(branch: &str, round: u64, calls: Vec<Value>, done: bool) -> Value {
    json!({
        "thought": format!("round {round}"), "tool_calls": calls, "done": done, "summary": done.then(|| format!("errand of {branch} is done")),
        "result_snippet": done.then_some("found something"), "completed_step_ids": if done { json!(["s0", "s9"]) } else { json!([]) },
    })
}

/// Unknown tools, wrong arguments, and entities the run may not use.
pub fn bad_call(fake_model: &FakeModel, dice: &mut Dice) -> Value {
    let foreign = dice.pick(&fake_model.foreign).copied().unwrap_or_default();
    let calls = [
        json!({"tool": "launch_rockets", "arguments": {"now": true}}),
        json!({"tool": "x".repeat(300), "arguments": {}}),
        json!({"tool": "create_document", "arguments": {"title": 7}}),
        json!({"tool": "create_document", "arguments": {"title": "In your house", "content": "!", "project_id": foreign}}),
        json!({"tool": "get_document", "arguments": {"document_id": foreign}}),
        json!({"tool": "update_document", "arguments": {"document_id": foreign, "content": "defaced"}}),
        json!({"tool": "create_task", "arguments": {"title": "t", "unknown": 1}}),
        json!({"tool": "get_document", "arguments": {"document_id": "not an id"}}),
        json!({"tool": "update_project", "arguments": {"project_id": foreign, "title": "mine now"}}),
        json!({"tool": "search", "arguments": null}),
    ];
    dice.pick(&calls).cloned().unwrap_or_default()
}
