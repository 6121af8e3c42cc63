//! An event in one line for people. Events that say nothing new to a reader have none.

use super::style::line;
use serde_json::Value;

/// `event` is the public form of a stored event.
pub fn of(event: &Value) -> Option<String> {
    let payload = &event["payload"];
    let text = |name: &str| line(payload[name].as_str().unwrap_or_default());
    let kind = event["type"].as_str()?;
    Some(match kind {
        "run.queued" => format!("queued: {}", text("objective")),
        "run.paused" => "paused".into(),
        "run.resumed" => format!("goes on ({})", text("reason")),
        "run.question_asked" => format!("? {}", text("text")),
        "run.answered" => format!("answered: {}", text("text")),
        "run.question_expired" => "a question expired".into(),
        "run.waiting_on_user" => "waiting for an answer".into(),
        "run.message_queued" => format!("message: {}", text("text")),
        "run.message_delivered" => format!("message shown to {}", text("effect")),
        "run.budget_changed" => "limits changed".into(),
        "run.budget_warning" => format!("four fifths of {} are used", text("budget")),
        "run.provider_waiting" => format!("waiting for provider {} until {}", text("provider"), text("until")),
        "run.completed" => "completed".into(),
        "run.stopped" => format!("stopped ({}): {}", text("stopReason"), text("detail")),
        "run.failed" => format!("failed ({}): {}", text("stopReason"), text("error")),
        "run.canceled" => "canceled".into(),
        "run.report_created" => format!("report: {}", line(payload["report"]["title"].as_str().unwrap_or("written"))),
        "run.recovered" if payload["lost"] == 0 => return None,
        "run.recovered" => "taken over from a driver that died".into(),
        "effect.unknown" => format!("nobody knows whether {} ({}) happened", text("effect"), text("what")),
        "effect.resolved" => format!("{} was settled: {}", text("effect"), text("decision")),
        "effect.finished" => return failed_attempt(payload),
        kind => return homework(kind, payload, &text),
    })
}

fn failed_attempt(payload: &Value) -> Option<String> {
    let error = payload["error"].as_str()?;
    let next = payload["retryAt"].as_str().map(|at| format!("; again at {at}")).unwrap_or_default();
    Some(format!("{} did not work: {}{next}", line(payload["effect"].as_str().unwrap_or_default()), line(error)))
}

fn homework(kind: &str, payload: &Value, text: &dyn Fn(&str) -> String) -> Option<String> {
    Some(match kind {
        "homework.iteration_started" => format!("iteration {}", payload["iteration"]),
        "homework.answer_rejected" => {
            format!("an answer did not fit ({}): {}", text("effect"), list(&payload["errors"]))
        }
        "homework.planned" => text("progressSummary"),
        "homework.plan_updated" => plan(payload),
        "homework.tool_call_result" => format!("{} {}: {}", mark(payload), text("tool"), text("summary")),
        "homework.repair_attempted" => format!("{} failed calls corrected", payload["corrected"]),
        "homework.executor_started" => format!("branch {}: {}", text("branchId"), text("title")),
        "homework.executor_finished" => format!("{} branch {}: {}", mark(payload), text("branchId"), text("summary")),
        "homework.repeat_detected" => "the same actions again, without progress".into(),
        "homework.replan_forced" => "told to choose another approach".into(),
        "homework.exit_refused" => format!("not done yet: {}", list(&payload["reasons"])),
        "homework.iteration_completed" => progress(payload),
        kind => return task(kind, payload, text),
    })
}

fn task(kind: &str, payload: &Value, text: &dyn Fn(&str) -> String) -> Option<String> {
    Some(match kind {
        "task.started" => format!("{} is sent, for at most {} steps", text("handle"), payload["maxSteps"]),
        "task.step" => match payload["action"].as_str()? {
            "navigate" => format!("{} → {}", payload["step"], text("path")),
            "execute" => format!("{} ! {} at {}", payload["step"], text("actionName"), text("path")),
            "done" => format!("{} done: {}", payload["step"], text("message")),
            _ => format!("{} gives up: {}", payload["step"], text("message")),
        },
        "task.step_result" => format!("  {} {}", mark(payload), text("summary")),
        "task.answer_rejected" => format!("an answer did not fit ({}): {}", text("effect"), list(&payload["errors"])),
        "task.ended" => format!("looks back ({})", text("ending")),
        "task.scratchpad_updated" => {
            format!("scratchpad version {}: {} characters", payload["version"], payload["characters"])
        }
        "task.scratchpad_update_failed" => format!("nothing was learned: {}", text("error")),
        _ => return None,
    })
}

pub fn mark(payload: &Value) -> &'static str {
    if payload["ok"] == Value::Bool(true) { "✓" } else { "✗" }
}

pub fn list(values: &Value) -> String {
    let texts = values.as_array().into_iter().flatten().filter_map(Value::as_str);
    texts.map(line).collect::<Vec<_>>().join("; ")
}

fn plan(payload: &Value) -> String {
    let steps = payload["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
    let done = steps.iter().filter(|step| step["status"] == "done").count();
    format!("plan {}: {done} of {} steps done", payload["version"], steps.len())
}

fn progress(payload: &Value) -> String {
    let made =
        if payload["progress"] == Value::Bool(true) { list(&payload["progressReasons"]) } else { "no progress".into() };
    format!("iteration {} ended: {made}", payload["iteration"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_tool_result_is_one_harmless_line() {
        let event = json!({"type": "homework.tool_call_result", "payload": {"tool": "search", "ok": false, "summary": "no\nsuch \u{1b}[31mthing"}});
        assert_eq!(of(&event).unwrap(), "✗ search: no such \\u{1b}[31mthing");
    }

    #[test]
    fn an_intent_says_nothing_to_a_reader() {
        assert_eq!(of(&json!({"type": "effect.started", "payload": {}})), None);
        assert_eq!(of(&json!({"type": "effect.finished", "payload": {"outcome": "ok"}})), None);
    }
}
