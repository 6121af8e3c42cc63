//! The sections of a request: `## name`, then JSON lines. Read once, for everybody who wants to know what was told.

use engine::request::Speaker;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Default)]
pub struct Sections {
    /// The one line that is not JSON: which node of a tree is asked.
    title: String,
    sections: BTreeMap<String, Vec<Value>>,
}

impl Sections {
    pub fn of(messages: &[(Speaker, String)]) -> Sections {
        let mut told = Sections::default();
        let mut current = String::new();
        let text = messages.iter().find(|(speaker, _)| *speaker == Speaker::User).map_or("", |(_, text)| text.as_str());
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("## ") {
                current = name.to_owned();
                told.sections.entry(current.clone()).or_default();
            } else if let Some(title) = line.strip_prefix("Node: ") {
                told.title = title.to_owned();
            } else if let Some(lines) = told.sections.get_mut(&current)
                && let Ok(value) = serde_json::from_str(line)
            {
                lines.push(value);
            }
        }
        told
    }

    pub fn title(&self) -> &str {
        &self.title
    }

    pub fn value(&self, name: &str) -> &Value {
        self.sections.get(name).and_then(|lines| lines.first()).unwrap_or(&Value::Null)
    }

    /// The lines of a section, or the items of its one list.
    pub fn items(&self, name: &str) -> Vec<Value> {
        match self.sections.get(name).map(Vec::as_slice) {
            Some([Value::Array(list)]) => list.clone(),
            Some(lines) => lines.to_vec(),
            None => Vec::new(),
        }
    }

    pub fn number(&self, name: &str) -> u64 {
        self.value(name).as_u64().unwrap_or(0)
    }

    /// One text field of every line of a section.
    pub fn texts(&self, name: &str, field: &str) -> Vec<String> {
        let lines = self.items(name);
        lines.iter().filter_map(|line| line[field].as_str().map(str::to_owned)).collect()
    }
}
