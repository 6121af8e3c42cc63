//! The sections of a request: `## name`, then JSON lines.

use engine::request::Speaker;
use serde_json::Value;
use std::collections::BTreeMap;

pub struct Sections(BTreeMap<String, Vec<Value>>);

impl Sections {
    pub fn of(messages: &[(Speaker, String)]) -> Sections {
        let mut sections: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        let mut current = String::new();
        let told = messages.iter().find(|(speaker, _)| *speaker == Speaker::User).map_or("", |(_, text)| text.as_str());
        for line in told.lines() {
            if let Some(name) = line.strip_prefix("## ") {
                current = name.to_owned();
                sections.entry(current.clone()).or_default();
            } else if let Ok(value) = serde_json::from_str(line)
                && let Some(lines) = sections.get_mut(&current)
            {
                lines.push(value);
            }
        }
        Sections(sections)
    }

    pub fn value(&self, name: &str) -> &Value {
        self.0.get(name).and_then(|lines| lines.first()).unwrap_or(&Value::Null)
    }

    /// The lines of a section, or the items of its one list.
    pub fn items(&self, name: &str) -> Vec<Value> {
        match self.0.get(name).map(Vec::as_slice) {
            Some([Value::Array(list)]) => list.clone(),
            Some(lines) => lines.to_vec(),
            None => Vec::new(),
        }
    }

    pub fn number(&self, name: &str) -> u64 {
        self.value(name).as_u64().unwrap_or(0)
    }
}
