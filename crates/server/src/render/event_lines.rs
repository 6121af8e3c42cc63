//! Events as one line each. The sentences are in `event_sentences.json`, which the web page reads too; this module fills in the
//! fields and names nodes by number and title. It must not know what any event means.
//!
//! A sentence names payload fields as `{path}`, with `{path|text}` for a missing one. `{#path}` counts, `{#path=text}`
//! counts equal values, and a part in brackets is left out when a field in it is empty. `{name}` and `{node}` are the
//! node, in short and in full. A time is shown to the second. The first case whose conditions hold is used; a quiet one is
//! left out where a run is followed.

use super::style::{field, line, moment};
use engine::time::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::LazyLock;

static SENTENCES: LazyLock<HashMap<String, Sentence>> =
    LazyLock::new(|| serde_json::from_str(include_str!("event_sentences.json")).expect("the table is valid"));

#[derive(Deserialize)]
#[serde(untagged)]
enum Sentence {
    Always(String),
    Cases(Vec<Case>),
}

#[derive(Deserialize)]
struct Case {
    #[serde(default)]
    when: Map<String, Value>,
    has: Option<String>,
    #[serde(default)]
    quiet: bool,
    text: String,
}

/// Writes the lines of one run and keeps the names of its nodes.
#[derive(Debug, Default)]
pub(crate) struct EventLines {
    /// By id: number and title.
    nodes: HashMap<String, (usize, String)>,
    begun: bool,
    /// The first event was not the first of the log, so nodes cannot be counted.
    incomplete: bool,
}

impl EventLines {
    /// Names nodes that were created before the first event passed to `line`.
    pub(crate) fn learn(&mut self, nodes: impl Iterator<Item = (String, usize, String)>) {
        self.begun = true;
        self.nodes.extend(nodes.map(|(id, number, title)| (id, (number, line(&title)))));
    }

    /// The event in one line; `None` when it is quiet or unknown.
    pub(crate) fn line(&mut self, event: &Value) -> Option<String> {
        let (sentence, quiet) = self.sentence(event)?;
        (!quiet).then_some(sentence)
    }

    /// The event in one line, also a quiet one; `None` for a type that this version does not know.
    pub(crate) fn whole_line(&mut self, event: &Value) -> Option<String> {
        self.sentence(event).map(|(sentence, _)| sentence)
    }

    fn sentence(&mut self, event: &Value) -> Option<(String, bool)> {
        let (kind, payload) = (event["type"].as_str()?, &event["payload"]);
        if !self.begun {
            (self.begun, self.incomplete) = (true, event["seq"].as_u64().is_some_and(|seq| seq > 1));
        }
        let id = event["nodeId"].as_str();
        if let (Some(id), "tree.node_created") = (id, kind) {
            let named = (self.nodes.len(), field(payload, "title"));
            self.nodes.entry(id.to_owned()).or_insert(named);
        }
        let (text, quiet) = match SENTENCES.get(kind)? {
            Sentence::Always(text) => (text, false),
            Sentence::Cases(cases) => {
                cases.iter().find(|case| case.holds(payload)).map(|case| (&case.text, case.quiet))?
            }
        };
        let (name, node) = id.map(|id| self.name(id)).unwrap_or_default();
        let field = |path: &str| match path {
            "name" => name.clone(),
            "node" => node.clone(),
            path => read(payload, path),
        };
        let prefix = if id.is_some() && !text.contains("{n") { format!("{name}: ") } else { String::new() };
        Some((prefix + &fill(text, &field), quiet))
    }

    /// Number and title of the node with this number.
    pub(crate) fn node_named(&self, number: usize) -> Option<String> {
        let known = self.nodes.values().find(|(known, _)| *known == number && !self.incomplete);
        known.map(|(number, title)| format!("n{number} {title}"))
    }

    /// The name in short and in full.
    fn name(&self, id: &str) -> (String, String) {
        match self.nodes.get(id) {
            Some((number, title)) if !self.incomplete => (format!("n{number}"), format!("n{number} {title}")),
            Some((_, title)) => (title.clone(), title.clone()),
            None => (format!("node {id}"), format!("node {id}")),
        }
    }
}

impl Case {
    fn holds(&self, payload: &Value) -> bool {
        self.when.iter().all(|(field, value)| &payload[field] == value)
            && self.has.as_ref().is_none_or(|field| !payload[field].is_null())
    }
}

fn fill(text: &str, field: &dyn Fn(&str) -> String) -> String {
    let mut parts = text.split('[');
    let mut out = expand(parts.next().unwrap_or_default(), field).0;
    for part in parts {
        let (optional, rest) = part.split_once(']').unwrap_or((part, ""));
        let (words, whole) = expand(optional, field);
        out += if whole { &words } else { "" };
        out += &expand(rest, field).0;
    }
    out
}

/// The text with its fields, and whether all of them had a value.
fn expand(text: &str, field: &dyn Fn(&str) -> String) -> (String, bool) {
    let mut parts = text.split('{');
    let (mut out, mut whole) = (parts.next().unwrap_or_default().to_owned(), true);
    for part in parts {
        let (path, rest) = part.split_once('}').unwrap_or((part, ""));
        let value = field(path);
        whole &= !value.is_empty();
        out += &value;
        out += rest;
    }
    (out, whole)
}

fn read(payload: &Value, path: &str) -> String {
    if let Some(counted) = path.strip_prefix('#') {
        let (path, wanted) = counted.split_once('=').map_or((counted, None), |(path, value)| (path, Some(value)));
        let is_wanted = |value: &&Value| wanted.is_none_or(|wanted| value.as_str() == Some(wanted));
        return values(payload, path).into_iter().filter(is_wanted).count().to_string();
    }
    let (path, missing) = path.split_once('|').unwrap_or((path, ""));
    let texts = values(payload, path).into_iter().filter_map(text_of).filter(|text| !text.is_empty());
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() { missing.to_owned() } else { texts.join("; ") }
}

/// All values at a path. A list on the way or at the end stands for its items.
fn values<'a>(payload: &'a Value, path: &str) -> Vec<&'a Value> {
    path.split('.').fold(vec![payload], |found, key| {
        let inside = found.into_iter().filter_map(|value| value.get(key));
        inside.flat_map(|value| value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice)).collect()
    })
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(Timestamp::parse(text).map_or_else(|| line(text), moment)),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::HashSet;

    #[test]
    fn a_node_is_called_by_its_number_and_title() {
        let mut event_lines = EventLines::default();
        let created =
            |id: &str, title: &str| json!({"type": "tree.node_created", "nodeId": id, "payload": {"title": title}});
        assert_eq!(event_lines.line(&created("a", "Root")).unwrap(), "+ n0 Root");
        assert_eq!(event_lines.line(&created("b", "Look\n\u{1b}[2J")).unwrap(), "+ n1 Look \\u{1b}[2J");
        let failed = json!({"type": "tree.node_failed", "nodeId": "b", "payload": {"error": "no"}});
        assert_eq!(event_lines.line(&failed).unwrap(), "✗ n1 Look \\u{1b}[2J: no");
        let asked = json!({"type": "run.question_asked", "nodeId": "a", "payload": {"text": "Which?"}});
        assert_eq!(event_lines.line(&asked).unwrap(), "n0: ? Which?");
    }

    #[test]
    fn a_tool_result_is_one_harmless_line() {
        let event = json!({"type": "homework.tool_call_result", "payload": {"tool": "search", "ok": false, "summary": "no\nsuch \u{1b}[31mthing"}});
        assert_eq!(EventLines::default().line(&event).unwrap(), "✗ search: no such \\u{1b}[31mthing");
    }

    #[test]
    fn quiet_and_unknown_events_have_no_line() {
        for event in [
            json!({"type": "effect.started", "payload": {"attempt": 1}}),
            json!({"type": "effect.finished", "payload": {"outcome": "ok"}}),
            json!({"type": "run.unheard_of", "payload": {}}),
        ] {
            assert_eq!(EventLines::default().line(&event), None, "{event}");
        }
    }

    #[test]
    fn t7_every_event_of_the_protocol_has_a_sentence_even_without_its_fields() {
        let protocol = include_str!("../../../../docs/protocol.md");
        let cell = |line: &'static str| line.strip_prefix("| `")?.split('`').next();
        let families = ["run.", "effect.", "homework.", "task.", "tree."];
        let types =
            protocol.lines().filter_map(cell).filter(|kind| families.iter().any(|family| kind.starts_with(family)));
        let types: Vec<&str> = types.collect();
        assert!(types.len() > 60, "{types:?}");
        for kind in types {
            let line = EventLines::default().whole_line(&json!({"type": kind, "payload": {}})).unwrap_or_default();
            assert!(!line.trim().is_empty(), "{kind} has no sentence");
        }
    }

    #[test]
    fn t7_a_read_is_told_of_the_reader() {
        let event =
            json!({"type": "tree.artifact_read", "nodeId": "a", "payload": {"artifactId": "x", "byNodeId": "a"}});
        let mut event_lines = EventLines::default();
        event_lines.learn([("a".to_owned(), 0, "Root".to_owned())].into_iter());
        assert_eq!(event_lines.whole_line(&event).unwrap(), "n0 read what another node made");
    }

    #[test]
    fn u17_times_in_sentences_are_for_people() {
        let event =
            json!({"type": "run.provider_waiting", "payload": {"provider": "p", "until": "2026-01-05T09:30:00.125Z"}});
        assert_eq!(EventLines::default().line(&event).unwrap(), "waiting for provider p until 2026-01-05 09:30:00 UTC");
    }

    /// The first event of each type in each log. `ui/tests/event-text.test.ts` compares the page with the same file.
    #[test]
    fn the_sentences_of_recorded_logs_are_those_the_page_shows() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let mut lines = String::new();
        for log in [
            "crates/engine/tests/golden/homework_log",
            "crates/engine/tests/golden/tree_log",
            "ui/tests/logs/rehearsed-homework",
            "ui/tests/logs/scripted-tree",
        ] {
            let (mut event_lines, mut types) = (EventLines::default(), HashSet::new());
            for record in std::fs::read_to_string(format!("{root}/{log}.jsonl")).unwrap().lines() {
                let event: Value = serde_json::from_str(record).unwrap();
                let sentence = event_lines.sentence(&event);
                if let Some((sentence, _)) = sentence.filter(|_| types.insert(event["type"].to_string())) {
                    lines += &format!("{log} {} {sentence}\n", event["seq"]);
                }
            }
        }
        let kept = format!("{root}/ui/tests/logs/sentences.txt");
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&kept, &lines).unwrap();
        }
        assert!(lines == std::fs::read_to_string(&kept).unwrap(), "{kept} differs: run this test with BLESS=1");
    }
}
