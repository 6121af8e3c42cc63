//! Fingerprints of what a tool showed and changed, so that a run can tell the new from what it has had. White space, order,
//! paging, times and counters make no difference. This module knows the shapes of results and mutations, and no rule of a run.

use crate::blob::Hash;
use crate::workspace::Mutation;
use serde_json::{Map, Value};
use uuid::Uuid;

/// The most fingerprints of one result; the rest become one together.
const MAX_FINGERPRINTS: usize = 400;
/// Fields that change by themselves or with the way of asking, and say nothing of what was found.
const NOISE: [&str; 27] = [
    "created_at",
    "updated_at",
    "timestamp",
    "at",
    "time",
    "elapsed_ms",
    "duration_ms",
    "count",
    "total",
    "position",
    "bytes",
    "limit",
    "offset",
    "page",
    "page_size",
    "per_page",
    "cursor",
    "next",
    "next_cursor",
    "page_token",
    "more",
    "has_more",
    "cut",
    "excerpt",
    "source",
    "untrusted",
    "request_id",
];
/// Fields that hold the text of what was read; where it was found is then of no account.
const TEXTS: [&str; 4] = ["text", "content", "markdown", "body"];
const PLACES: [&str; 5] = ["url", "uri", "path", "query", "title"];
/// The parts of a document, task or project that a change may bring back.
const PARTS: [&str; 4] = ["title", "content", "description", "state"];

/// What a set of mutations changes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// One of these must be new for the change to be more than a return to what there was.
    pub decisive: Vec<Hash>,
    /// What the run knows of the world because it made the change itself.
    pub known: Vec<Hash>,
}

/// The fingerprints of what a reading shows: versions and texts of entities, and records and texts from elsewhere.
pub fn shown(content: &Value) -> Vec<Hash> {
    let mut found = Vec::new();
    walk(content, &mut found);
    found.sort();
    found.dedup();
    if found.len() > MAX_FINGERPRINTS {
        let rest: Vec<u8> = found.drain(MAX_FINGERPRINTS..).flat_map(|hash| hash.0).collect();
        found.push(Hash::of(&[b"rest\0", &rest]));
    }
    found
}

/// The fingerprint of what was sent to a tool that changes something outside.
pub fn sent(tool: &str, arguments: &Value) -> Hash {
    fingerprint(&["sent", tool, &action_arguments(arguments)])
}

/// Arguments in a form that is equal for equal intentions: white space, limits and cursors apart.
pub fn action_arguments(arguments: &Value) -> String {
    fn stripped(value: &Value) -> Value {
        match value {
            Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), stripped(value))).collect(),
            Value::Array(items) => items.iter().map(stripped).collect(),
            Value::String(text) => Value::String(folded(text)),
            other => other.clone(),
        }
    }
    const PAGING: [&str; 8] =
        ["limit", "offset", "page", "page_size", "per_page", "cursor", "next_cursor", "page_token"];
    let mut stripped = stripped(arguments);
    if let Value::Object(map) = &mut stripped {
        map.retain(|key, _| !PAGING.contains(&key.as_str()));
    }
    crate::json::canonical(&stripped)
}

/// White space folded: its words, with one space between them.
pub fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Changed {
    pub fn by(mutations: &[Mutation]) -> Changed {
        let mut changed = Changed::default();
        // The link of something new to its place is a part of making it.
        let makes = mutations
            .iter()
            .any(|mutation| matches!(mutation, Mutation::CreateDocument { .. } | Mutation::CreateTask { .. }));
        for mutation in mutations {
            match mutation {
                Mutation::Link { .. } if makes => {}
                mutation => changed.add(mutation),
            }
        }
        changed
    }

    fn add(&mut self, mutation: &Mutation) {
        match mutation {
            Mutation::CreateDocument { id, title, content, .. } => {
                self.decisive.push(made("document", title, content));
                self.known.extend([version(id.0, 1), part(id.0, "title", title), part(id.0, "content", content)]);
            }
            Mutation::UpdateDocument { id, expected_version, title, content, props } => {
                self.updated(id.0, *expected_version, &[("title", title), ("content", content)], props);
                if let (Some(title), Some(content)) = (title, content) {
                    self.known.push(made("document", title, content));
                }
            }
            Mutation::CreateTask { id, title, description, state, .. } => {
                self.decisive.push(made("task", title, description));
                let parts = [("title", title.as_str()), ("description", description), ("state", state.name())];
                self.known.extend(parts.map(|(name, text)| part(id.0, name, text)));
                self.known.push(version(id.0, 1));
            }
            Mutation::UpdateTask { id, expected_version, title, description, state, props } => {
                let state = state.map(|state| state.name().to_owned());
                let parts = [("title", title), ("description", description), ("state", &state)];
                self.updated(id.0, Some(*expected_version), &parts, props);
            }
            Mutation::Link { src, dst, rel, .. } => {
                self.decisive.push(fingerprint(&["edge", &src.to_string(), &dst.to_string(), rel]));
            }
            Mutation::CreateProject { .. }
            | Mutation::UpdateProject { .. }
            | Mutation::Unlink { .. }
            | Mutation::WriteScratchpad { .. }
            | Mutation::AddLesson { .. }
            | Mutation::PromoteLessons { .. }
            | Mutation::DismissLesson { .. } => {}
        }
    }

    fn updated(&mut self, id: Uuid, from: Option<i64>, parts: &[(&str, &Option<String>)], props: &Option<Value>) {
        let given = parts.iter().filter_map(|(name, text)| Some((*name, text.as_deref()?)));
        self.decisive.extend(given.map(|(name, text)| part(id, name, text)));
        let props = props.as_ref().map(crate::json::canonical);
        self.decisive.extend(props.map(|props| part(id, "props", &props)));
        self.known.extend(from.map(|from| version(id, from + 1)));
    }
}

fn walk(value: &Value, found: &mut Vec<Hash>) {
    match value {
        Value::Object(map) => match entity(map) {
            Some((id, number)) => {
                found.push(version(id, number));
                let parts = PARTS.iter().filter_map(|name| Some((name, map.get(*name)?.as_str()?)));
                found.extend(parts.map(|(name, text)| part(id, name, text)));
            }
            None => record(map, found),
        },
        Value::Array(items) => items.iter().for_each(|item| walk(item, found)),
        Value::Null => {}
        Value::String(text) => found.push(fingerprint(&["text", &without_times(text)])),
        scalar => found.push(fingerprint(&["scalar", &scalar.to_string()])),
    }
}

/// The id and the version of something in the workspace.
fn entity(map: &Map<String, Value>) -> Option<(Uuid, i64)> {
    Some((map.get("id")?.as_str()?.parse().ok()?, map.get("version")?.as_i64()?))
}

/// An object that is no entity of ours: its texts, its other fields together, and what is inside it.
fn record(map: &Map<String, Value>, found: &mut Vec<Hash>) {
    let is_text = |(key, value): &(&String, &Value)| TEXTS.contains(&key.as_str()) && value.is_string();
    let has_text = map.iter().any(|field| is_text(&field));
    let mut fields = Vec::new();
    for (key, value) in map.iter().filter(|(key, _)| !NOISE.contains(&key.as_str())) {
        match value {
            Value::Object(_) | Value::Array(_) => walk(value, found),
            Value::Null => {}
            Value::String(_) if TEXTS.contains(&key.as_str()) => walk(value, found),
            _ if has_text && PLACES.contains(&key.as_str()) => {}
            Value::String(text) => fields.push(format!("{key}={}", without_times(text))),
            scalar => fields.push(format!("{key}={scalar}")),
        }
    }
    if !fields.is_empty() {
        fields.sort();
        found.push(fingerprint(&["record", &fields.join("\n")]));
    }
}

/// Folded, and without the words that are only dates and times.
fn without_times(text: &str) -> String {
    text.split_whitespace().filter(|word| !is_time(word)).collect::<Vec<_>>().join(" ")
}

/// `2026-11-16`, `10:00:01`, `2026-11-16T10:00:01.123Z`, with punctuation around them.
fn is_time(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let of_time = |c: char| c.is_ascii_digit() || matches!(c, ':' | '-' | '.' | '+' | 'T' | 'Z');
    let is_date = word.len() >= 10 && word.as_bytes()[4] == b'-' && word.as_bytes()[7] == b'-';
    let is_clock = word.len() >= 5 && word.contains(':');
    (is_date || is_clock) && word.starts_with(|c: char| c.is_ascii_digit()) && word.chars().all(of_time)
}

fn made(kind: &str, title: &str, text: &str) -> Hash {
    fingerprint(&["made", kind, &folded(title), &folded(text)])
}

fn version(id: Uuid, number: i64) -> Hash {
    fingerprint(&["version", &id.to_string(), &number.to_string()])
}

fn part(id: Uuid, name: &str, text: &str) -> Hash {
    fingerprint(&["part", &id.to_string(), name, &folded(text)])
}

fn fingerprint(parts: &[&str]) -> Hash {
    Hash::of(&[parts.join("\0").as_bytes()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{DocumentId, EdgeId, ProjectId};
    use serde_json::json;

    const ID: &str = "0199a86e-8000-7000-8000-000000000001";

    fn created(title: &str, content: &str) -> Vec<Mutation> {
        let (id, project): (DocumentId, ProjectId) = (ID.parse().expect("an id"), ID.parse().expect("an id"));
        let (title, content) = (title.to_owned(), content.to_owned());
        let props = json!({});
        let link = Mutation::Link {
            id: ID.parse::<EdgeId>().expect("an id"),
            project_id: project,
            src: project.0,
            dst: id.0,
            rel: "has".into(),
            props: json!({}),
        };
        vec![Mutation::CreateDocument { id, project_id: project, title, type_key: "t".into(), content, props }, link]
    }

    #[test]
    fn h3_order_paging_times_and_counters_make_no_difference() {
        let a = json!({ "results": [{ "id": "1", "title": "A", "excerpt": "the a" }, { "id": "2", "title": "B" }], "more": true });
        let b = json!({ "results": [{ "id": "2", "title": "B", "at": 7 }, { "id": "1", "title": "A", "excerpt": "an a" }], "total": 2 });
        assert_eq!(shown(&a), shown(&b));
        let clock = |at: &str| shown(&json!({ "text": format!("Read at {at}: all is well"), "source": "x" }));
        assert_eq!(clock("2026-11-16T10:00:01Z"), clock("2026-11-16T10:00:02Z"));
        assert_eq!(shown(&json!({ "results": [], "more": false })), Vec::<Hash>::new());
    }

    #[test]
    fn h3_a_text_is_the_same_wherever_it_was_found_and_another_number_is_another_text() {
        let page = |url: &str, text: &str| shown(&json!({ "url": url, "text": text }));
        assert_eq!(page("https://a/?1", "Costs 5 USD"), page("https://a/?2", "Costs  5 USD"));
        assert_ne!(page("https://a/", "Costs 5 USD"), page("https://a/", "Costs 6 USD"));
    }

    #[test]
    fn h3_what_a_run_wrote_is_nothing_new_when_it_reads_it() {
        let Changed { known, .. } = Changed::by(&created("Notes", "all of it"));
        let read =
            shown(&json!({ "id": ID, "version": 1, "title": "Notes", "content": "all of it\n", "props": { "x": 1 } }));
        assert!(read.iter().all(|hash| known.contains(hash)));
        let later = shown(&json!({ "id": ID, "version": 2, "title": "Notes" }));
        assert!(!later.iter().all(|hash| known.contains(hash)), "somebody else's version is new");
    }

    #[test]
    fn h3_the_link_of_a_new_document_is_no_change_of_its_own() {
        assert_eq!(Changed::by(&created("Notes", "x")).decisive.len(), 1);
        assert_eq!(Changed::by(&created("Notes", "x")[1..]).decisive.len(), 1);
    }

    #[test]
    fn h3_a_result_of_thousands_of_records_has_a_bounded_number_of_fingerprints() {
        let rows: Value = (0..5_000).map(|n| json!({ "name": n })).collect();
        assert_eq!(shown(&rows).len(), MAX_FINGERPRINTS + 1);
    }
}
