//! Events in one line each, told in order: what happens to a node names the node as people call it.

use super::headline::{self, list, mark};
use super::style::line;
use serde_json::Value;
use std::collections::HashMap;

/// Remembers what the nodes of a tree are called.
#[derive(Debug, Default)]
pub struct EventLines {
    /// By id: number and title.
    nodes: HashMap<String, (usize, String)>,
    begun: bool,
    /// The first events were not told, so nodes cannot be counted.
    incomplete: bool,
}

impl EventLines {
    /// Nodes that were there before the first event that is told.
    pub fn learn(&mut self, nodes: impl Iterator<Item = (String, usize, String)>) {
        self.begun = true;
        self.nodes.extend(nodes.map(|(id, number, title)| (id, (number, line(&title)))));
    }

    /// The event in one line; `None` when it says nothing new to a reader.
    pub fn tell(&mut self, event: &Value) -> Option<String> {
        let (kind, payload) = (event["type"].as_str()?, &event["payload"]);
        if !self.begun {
            (self.begun, self.incomplete) = (true, event["seq"].as_u64().is_some_and(|seq| seq > 1));
        }
        if kind == "tree.node_created" {
            let title = line(payload["title"].as_str().unwrap_or_default());
            let number = self.nodes.len();
            self.nodes.entry(event["nodeId"].as_str()?.to_owned()).or_insert((number, title));
        }
        let Some(id) = event["nodeId"].as_str() else { return headline::of(event) };
        let (name, title) = self.name(id);
        match kind.strip_prefix("tree.") {
            Some(kind) => of_node(kind, payload, &name, &title),
            None => headline::of(event).map(|text| format!("{name}: {text}")),
        }
    }

    /// In short, and in full.
    fn name(&self, id: &str) -> (String, String) {
        match self.nodes.get(id) {
            Some((number, title)) if !self.incomplete => (format!("n{number}"), format!("n{number} {title}")),
            Some((_, title)) => (title.clone(), title.clone()),
            None => (format!("node {id}"), format!("node {id}")),
        }
    }
}

fn of_node(kind: &str, payload: &Value, name: &str, title: &str) -> Option<String> {
    let text = |field: &str| line(payload[field].as_str().unwrap_or_default());
    Some(match kind {
        "node_created" if payload["retryOf"].is_string() => format!("+ {title} (again)"),
        "node_created" => format!("+ {title}"),
        "node_status" => return status(payload, name),
        "plan_created" => planned(payload, name),
        "answer_rejected" => format!("{name}: an answer did not fit: {}", list(&payload["errors"])),
        "tool_call_result" => format!("{name}: {} {}: {}", mark(payload), text("tool"), text("summary")),
        "artifact_created" => format!("{name} made {}", text("label")),
        "node_aggregated" => format!("{name} summed up: {}", text("summary")),
        "replan_requested" => format!("{name} plans anew: {}", text("reason")),
        "node_completed" if payload["outcome"] == "success" => format!("✓ {title}"),
        "node_completed" => format!("◐ {title}: {}", text("evidence")),
        "node_failed" => format!("✗ {title}: {}", text("error")),
        "node_canceled" => format!("⊘ {title} was canceled ({})", text("disposition")),
        "node_reopened" => format!("{name} is open again"),
        "node_paused" => format!("{name} is paused"),
        "node_resumed" => format!("{name} goes on"),
        "guard" => format!("{name}: {} is {}", text("guard"), payload["limit"]),
        _ => return None,
    })
}

/// Only what a reader cannot guess from the other events.
fn status(payload: &Value, name: &str) -> Option<String> {
    let message = payload["message"].as_str().map(line);
    match (payload["status"].as_str()?, message) {
        ("executing", Some(why)) => Some(format!("{name} does it itself ({why})")),
        ("aggregating", _) => Some(format!("{name} sums up")),
        _ => None,
    }
}

fn planned(payload: &Value, name: &str) -> String {
    let bands = payload["bands"].as_array().map(Vec::as_slice).unwrap_or_default();
    let steps: usize = bands.iter().filter_map(|band| band["steps"].as_array()).map(Vec::len).sum();
    format!("{name} planned {steps} steps in {} bands (plan {})", bands.len(), payload["version"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_node_is_called_by_its_number_and_title() {
        let mut event_lines = EventLines::default();
        let created =
            |id: &str, title: &str| json!({"type": "tree.node_created", "nodeId": id, "payload": {"title": title}});
        assert_eq!(event_lines.tell(&created("a", "Root")).unwrap(), "+ n0 Root");
        assert_eq!(event_lines.tell(&created("b", "Look\n\u{1b}[2J")).unwrap(), "+ n1 Look \\u{1b}[2J");
        let failed = json!({"type": "tree.node_failed", "nodeId": "b", "payload": {"error": "no"}});
        assert_eq!(event_lines.tell(&failed).unwrap(), "✗ n1 Look \\u{1b}[2J: no");
        let asked = json!({"type": "run.question_asked", "nodeId": "a", "payload": {"text": "Which?"}});
        assert_eq!(event_lines.tell(&asked).unwrap(), "n0: ? Which?");
    }
}
