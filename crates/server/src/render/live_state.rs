//! What the live view keeps from events: active branches and the latest lines. The rest of the picture comes from the run object.

use super::event_lines::EventLines;
use super::style::field;
use super::writing::{Writer, Writings};
use serde_json::Value;
use std::collections::VecDeque;

const MAX_RECENT: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct LiveState {
    pub event_lines: EventLines,
    pub branches: Vec<ActiveBranch>,
    pub recent: VecDeque<String>,
    pub writings: Writings,
}

#[derive(Debug)]
pub(crate) struct ActiveBranch {
    /// Among the executors of its iteration.
    index: u64,
    pub id: String,
    pub title: String,
    pub round: u64,
    /// `None` until it ends.
    pub ok: Option<bool>,
    pub last: String,
}

impl LiveState {
    /// True when the picture changes.
    pub(crate) fn see(&mut self, event: &Value) -> bool {
        let payload = &event["payload"];
        let kind = event["type"].as_str().unwrap_or_default();
        self.writings.see(event);
        match kind {
            "homework.iteration_started" => self.branches.clear(),
            "homework.executor_started" => self.branches.push(ActiveBranch::started(payload)),
            _ => self.branch(kind, payload),
        }
        let Some(text) = self.event_lines.line(event) else {
            return ["homework.", "tree.", "task."].iter().any(|family| kind.starts_with(family));
        };
        if self.recent.len() == MAX_RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(text);
        true
    }

    /// Who writes, as people call them.
    pub(crate) fn name(&self, writer: Writer<'_>) -> String {
        match writer {
            Writer::Node(number) => self.event_lines.node_named(number).unwrap_or_else(|| format!("n{number}")),
            Writer::Executor(index) => {
                let branch = self.branches.iter().find(|branch| branch.index == index as u64);
                branch.map_or_else(|| format!("executor {}", index + 1), |branch| branch.id.clone())
            }
            Writer::Role(role) => role.to_owned(),
        }
    }

    /// What happened to one branch.
    fn branch(&mut self, kind: &str, payload: &Value) {
        let id = &payload["branchId"];
        let Some(branch) = self.branches.iter_mut().rev().find(|branch| *id == branch.id) else { return };
        match kind {
            "homework.executor_answered" => {
                branch.round = payload["round"].as_u64().unwrap_or_default();
                branch.last = field(payload, "thought");
            }
            "homework.executor_finished" => {
                branch.ok = payload["ok"].as_bool();
                branch.last = field(payload, "summary");
            }
            "homework.tool_call_requested" => branch.last = format!("calls {}", field(payload, "tool")),
            _ => {}
        }
    }
}

impl ActiveBranch {
    fn started(payload: &Value) -> ActiveBranch {
        let (id, title) = (field(payload, "branchId"), field(payload, "title"));
        let index = payload["index"].as_u64().unwrap_or_default();
        ActiveBranch { index, id, title, round: 0, ok: None, last: "starts".into() }
    }
}
