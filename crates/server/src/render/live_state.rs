//! What the live view keeps from events: active branches and the latest lines. The rest of the picture comes from the run object.

use super::event_lines::EventLines;
use super::style::line;
use serde_json::Value;
use std::collections::VecDeque;

const MAX_RECENT: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct LiveState {
    pub event_lines: EventLines,
    pub branches: Vec<ActiveBranch>,
    pub recent: VecDeque<String>,
}

#[derive(Debug)]
pub(crate) struct ActiveBranch {
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
        match kind {
            "homework.iteration_started" => self.branches.clear(),
            "homework.executor_started" => self.branches.push(ActiveBranch::started(payload)),
            "homework.executor_answered" => self.answered(payload),
            "homework.executor_finished" => self.finished(payload),
            "homework.tool_call_requested" => self.requested(payload),
            _ => {}
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

    fn branch(&mut self, payload: &Value) -> Option<&mut ActiveBranch> {
        let id = payload["branchId"].as_str()?;
        self.branches.iter_mut().rev().find(|branch| branch.id == id)
    }

    fn answered(&mut self, payload: &Value) {
        let (round, thought) =
            (payload["round"].as_u64().unwrap_or_default(), line(payload["thought"].as_str().unwrap_or_default()));
        if let Some(branch) = self.branch(payload) {
            branch.round = round;
            branch.last = thought;
        }
    }

    fn finished(&mut self, payload: &Value) {
        let (ok, summary) = (payload["ok"].as_bool(), line(payload["summary"].as_str().unwrap_or_default()));
        if let Some(branch) = self.branch(payload) {
            branch.ok = ok;
            branch.last = summary;
        }
    }

    fn requested(&mut self, payload: &Value) {
        let tool = line(payload["tool"].as_str().unwrap_or_default());
        if let Some(branch) = self.branch(payload) {
            branch.last = format!("calls {tool}");
        }
    }
}

impl ActiveBranch {
    fn started(payload: &Value) -> ActiveBranch {
        let text = |name: &str| line(payload[name].as_str().unwrap_or_default());
        ActiveBranch { id: text("branchId"), title: text("title"), round: 0, ok: None, last: "starts".into() }
    }
}
