//! Scripts that many tests use. They compute each reply from the request and keep no state, so that any number of runs,
//! retries and crashes get the same replies.

use super::{Reply, Request, Script};
use serde_json::{Value, json};

/// A homework run that completes in its `iterations`th iteration. The planner writes a document and plans two steps,
/// two executors work on them in every iteration in between, and the last iteration exits with evidence.
pub fn complete_in(iterations: u64) -> Script {
    Script::default()
        .answer("homework_planner", move |request| Reply::json(planner(request, iterations)))
        .answer("homework_executor", |request| Reply::json(executor(request)))
        .on("homework_repair", vec![Reply::json(json!({"corrected_calls": []}))])
        .on("homework_report", vec![Reply::json(json!({
            "title": "All done", "summary": "The work is finished.", "findings": ["It can be done."], "not_done": [],
        }))])
}

fn planner(request: &Request, iterations: u64) -> Value {
    let iteration = request.section("iteration").and_then(|value| value.as_u64()).unwrap_or(1);
    let (first, last) = (iteration == 1, iteration >= iterations);
    let status = match (first, last) {
        (_, true) => "done",
        (true, _) => "pending",
        _ => "doing",
    };
    let steps =
        if iterations == 1 { json!([]) } else { json!([step("s1", "Gather", status), step("s2", "Compare", status)]) };
    let brief = json!({"tool": "create_document", "purpose": "a place to start from",
        "arguments": {"title": "Brief", "content": "What is asked and how it will be answered."}});
    json!({
        "progress_summary": format!("Iteration {iteration} of {iterations}."),
        "plan": {"steps": steps},
        "tool_calls": if first { json!([brief]) } else { json!([]) },
        "executor_tasks": if first || last { json!([]) } else { json!([task("s1", iteration), task("s2", iteration)]) },
        "remaining_work": if last { json!([]) } else { json!([format!("iterations {} to {iterations}", iteration + 1)]) },
        "completion_evidence": if last { evidence(request) } else { json!([]) },
        "exit_signal": last,
        "needs_user_input": false,
        "blocking_questions": [],
        "next_action_hint": if last { "stop" } else { "execute" },
        "confidence": "high",
        "branch_rollup": null,
    })
}

fn step(id: &str, title: &str, status: &str) -> Value {
    json!({"id": id, "title": title, "status": status, "owner": "executor"})
}

fn task(step: &str, iteration: u64) -> Value {
    json!({"branch_id": format!("branch-{step}"), "step_id": step, "title": format!("{step}, part {iteration}"),
        "objective": format!("Write part {iteration} of {step} into a document."), "tools": ["list_documents", "create_document"]})
}

/// Evidence that cites every artifact once for each criterion.
fn evidence(request: &Request) -> Value {
    let artifacts = request.section("artifacts").unwrap_or_default();
    let refs: Vec<&Value> = artifacts.as_array().into_iter().flatten().map(|artifact| &artifact["ref"]).collect();
    let criteria = request.section("success_criteria").unwrap_or_default();
    let claims: Vec<Value> = criteria
        .as_array()
        .into_iter()
        .flatten()
        .map(|criterion| json!({"criterion": criterion["id"], "claim": "met", "refs": refs}))
        .collect();
    if claims.is_empty() { json!([{"criterion": null, "claim": "written down", "refs": refs}]) } else { json!(claims) }
}

/// Two rounds: the executor reads, then writes and is done.
fn executor(request: &Request) -> Value {
    let task = request.section("task").unwrap_or_default();
    let text = |name: &str| task[name].as_str().unwrap_or("work").to_owned();
    if request.lines("tool_results").is_empty() {
        return json!({"thought": "look around first", "done": false, "summary": null, "result_snippet": null, "completed_step_ids": [],
            "tool_calls": [{"tool": "list_documents", "arguments": {}, "purpose": "see what is there"}]});
    }
    let (title, objective) = (text("title"), text("objective"));
    json!({"thought": "write it down", "done": true, "summary": format!("Wrote {title}."), "result_snippet": format!("{title}: written"),
        "completed_step_ids": [text("step_id")],
        "tool_calls": [{"tool": "create_document", "arguments": {"title": title, "content": objective}, "purpose": "the result"}]})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted::Wire;
    use engine::homework::answer::{ExecutorAnswer, PlannerAnswer};

    fn asked(text: &str) -> Request {
        let body = json!({"messages": [{"role": "user", "content": text}]});
        Request::new(Wire::Openai, Default::default(), body.to_string()).expect("JSON")
    }

    #[test]
    fn the_last_iteration_exits_with_what_was_made() {
        let made = "## artifacts\n[{\"ref\":\"doc:1\",\"title\":\"t\"}]\n## success_criteria\n[{\"id\":\"c1\",\"text\":\"x\"}]\n";
        let play = |iteration: u64| -> PlannerAnswer {
            let request = asked(&format!("{made}## iteration\n{iteration}\n"));
            serde_json::from_value(planner(&request, 3)).expect("a planner's answer")
        };
        let (first, second, last) = (play(1), play(2), play(3));
        assert_eq!((first.tool_calls.len(), first.executor_tasks.len(), first.exit_signal), (1, 0, false));
        assert_eq!((second.tool_calls.len(), second.executor_tasks.len(), second.exit_signal), (0, 2, false));
        assert!(last.exit_signal && last.remaining_work.is_empty());
        assert_eq!(
            (last.completion_evidence[0].criterion.as_deref(), &last.completion_evidence[0].refs[..]),
            (Some("c1"), &["doc:1".to_owned()][..])
        );
    }

    #[test]
    fn an_executor_reads_and_then_writes() {
        let task = "## task\n{\"title\":\"Gather\",\"objective\":\"all of it\",\"step_id\":\"s1\"}\n";
        let play = |text: &str| -> ExecutorAnswer {
            serde_json::from_value(executor(&asked(text))).expect("an executor's answer")
        };
        assert!(play(task).done != Some(true));
        let last = play(&format!("{task}## tool_results\n{{\"ok\":true}}\n"));
        assert!(
            last.done == Some(true)
                && last.tool_calls[0].tool == "create_document"
                && last.completed_step_ids == ["s1"]
        );
    }
}
