//! Test fixture: an MCP server that counts the letters it sends, and a model that makes the calls it is given.

use crate::home::Home;
use serde_json::{Value, json};
use simulation::scripted::{Reply, Script};
use std::path::PathBuf;

pub fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/tools").join(name)
}

pub struct ToolHome {
    pub home: Home,
}

impl ToolHome {
    /// A model that makes these calls in its first iteration (or round) and then leaves.
    pub fn calling(calls: Value) -> ToolHome {
        ToolHome::with(Home::with(using(calls)), "")
    }

    /// With more lines in the server's section.
    pub fn with(home: Home, more: &str) -> ToolHome {
        let tool_home = ToolHome { home };
        tool_home.configure(&format!("{}\n{more}", tool_home.section()));
        tool_home
    }

    pub fn section(&self) -> String {
        format!(
            "[mcp.post]\ncommand = \"python3\"\nargs = [{:?}]\nenv = {{ POST_FILE = {:?}, POST_ABOUT = \"${{POST_ABOUT:-Does it}}\" }}\ntimeout_s = 5",
            fixture("post_office.py"),
            self.file()
        )
    }

    pub fn configure(&self, text: &str) {
        std::fs::write(self.home.folder.path().join("pleach.toml"), text).expect("a configuration");
        self.home.trust();
    }

    pub fn file(&self) -> PathBuf {
        self.home.folder.path().join("letters")
    }

    pub fn letters(&self) -> Vec<String> {
        std::fs::read_to_string(self.file()).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// The pids of every process of the server, and of the child that each started.
    pub fn processes(&self) -> Vec<String> {
        let pids = std::fs::read_to_string(self.file().with_extension("pids")).unwrap_or_default();
        pids.split_whitespace().map(str::to_owned).collect()
    }

    #[track_caller]
    pub fn all_gone(&self) {
        let processes = self.processes();
        assert!(processes.len() >= 2, "it was started: {processes:?}");
        let alive = |pid: &String| {
            let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            !state.is_empty() && !state.contains(") Z ")
        };
        self.home.until("everything it started is gone", || (!processes.iter().any(alive)).then_some(()));
    }
}

/// What a call came to, as the log has it.
pub fn results(events: &[Value]) -> Vec<&Value> {
    let is_result = |event: &&Value| event["type"].as_str().is_some_and(|kind| kind.ends_with(".tool_call_result"));
    events.iter().filter(is_result).map(|event| &event["payload"]).collect()
}

pub fn call(tool: &str, arguments: Value) -> Value {
    json!({ "tool": tool, "arguments": arguments, "purpose": "try it" })
}

pub fn using(calls: Value) -> Script {
    in_turn(vec![calls])
}

/// One list of calls per iteration, then it leaves; an executor of a tree makes the first.
pub fn in_turn(turns: Vec<Value>) -> Script {
    let calls = turns[0].clone();
    Script::default()
        .answer("homework_planner", move |request| {
            let iteration = request.section("iteration").and_then(|value| value.as_u64()).unwrap_or(1);
            let refs: Vec<Value> = request.lines("tool_results").iter().filter(|result| result["ok"] == true).map(|result| result["event"].clone()).collect();
            let last = iteration > turns.len() as u64;
            Reply::json(json!({
                "progress_summary": format!("iteration {iteration}"), "plan": { "steps": [] },
                "tool_calls": turns.get(iteration as usize - 1).cloned().unwrap_or(json!([])), "executor_tasks": [],
                "remaining_work": if last { json!([]) } else { json!(["leave"]) },
                "completion_evidence": if last { json!([{ "criterion": null, "claim": "done", "refs": refs }]) } else { json!([]) },
                "exit_signal": last, "needs_user_input": false, "blocking_questions": [], "next_action_hint": "execute",
                "confidence": "high", "branch_rollup": null,
            }))
        })
        .answer("tree_planner", |_| Reply::json(json!({
            "mode": "execute", "mode_reason": "small", "leaf_decision": "direct", "scratchpad": { "append_markdown": "x", "tail_preview": "x" },
        })))
        .answer("tree_executor", move |request| {
            let done = !request.lines("tool_results").is_empty();
            let result = json!({ "kind": "json", "summary": "done", "parent_hint": { "hint_type": "read_json", "artifact_labels": [] } });
            Reply::json(json!({
                "tool_calls": if done { json!([]) } else { calls.clone() }, "artifacts": [],
                "result": if done { result } else { Value::Null }, "scratchpad": { "append_markdown": "x", "tail_preview": "x" },
            }))
        })
        .on("homework_repair", vec![Reply::json(json!({ "corrected_calls": [] }))])
        .on("homework_report", vec![Reply::json(json!({ "title": "t", "summary": "s", "findings": [], "not_done": [] }))])
}
