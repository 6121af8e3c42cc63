//! Answers of a scripted homework planner.

use serde_json::{Value, json};
use simulation::scripted::{Reply, Request, Script};

/// A model whose planner is `planner`, and which writes a report at the end.
pub fn planned_by(planner: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Script {
    Script::default().answer("homework_planner", planner).on("homework_report", vec![report()])
}

/// The same for a planner that always answers with JSON.
pub fn planned_as(planner: impl Fn(&Request) -> Value + Send + Sync + 'static) -> Script {
    planned_by(move |request| Reply::json(planner(request)))
}

pub fn iteration(request: &Request) -> u64 {
    request.section("iteration").and_then(|value| value.as_u64()).unwrap_or(1)
}

/// A planner's answer with these tool calls.
pub fn calling<const N: usize>(summary: &str, calls: [(&str, Value); N]) -> Value {
    let mut answer = planner_answer(summary);
    let call = |(tool, arguments): (&str, Value)| json!({ "tool": tool, "arguments": arguments, "purpose": "x" });
    answer["tool_calls"] = calls.map(call).into();
    answer
}

/// A planner that creates a document in every iteration and never exits.
pub fn creates_documents(request: &Request) -> Value {
    let iteration = iteration(request);
    let document = json!({ "title": format!("Part {iteration}"), "content": "x" });
    calling(&format!("iteration {iteration}"), [("create_document", document)])
}

/// A planner's answer without calls or tasks.
pub fn planner_answer(summary: &str) -> Value {
    json!({
        "progress_summary": summary, "plan": { "steps": [] }, "tool_calls": [], "executor_tasks": [], "remaining_work": ["more"],
        "completion_evidence": [], "exit_signal": false, "needs_user_input": false, "blocking_questions": [],
        "next_action_hint": "execute", "confidence": "medium", "branch_rollup": null,
    })
}

/// A planner's answer that exits, with every artifact as evidence.
pub fn exit(request: &Request) -> Value {
    let mut answer = planner_answer("finished");
    let artifacts = request.section("artifacts").unwrap_or_default();
    let refs: Vec<Value> = artifacts.as_array().into_iter().flatten().map(|artifact| artifact["ref"].clone()).collect();
    let criteria = request.section("success_criteria").unwrap_or_default();
    let claims = criteria
        .as_array()
        .into_iter()
        .flatten()
        .map(|criterion| json!({ "criterion": criterion["id"], "claim": "met", "refs": refs }));
    answer["completion_evidence"] = claims.collect();
    answer["remaining_work"] = json!([]);
    answer["exit_signal"] = json!(true);
    if let Some(plan) = request.section("plan") {
        let done = plan["steps"].as_array().cloned().unwrap_or_default().into_iter().map(|mut step| {
            step["status"] = json!("done");
            step
        });
        answer["plan"]["steps"] = done.collect();
    }
    answer
}

pub fn report() -> Reply {
    Reply::json(json!({ "title": "Done", "summary": "It is done.", "findings": ["one"], "not_done": [] }))
}
