//! A request as data: heading lines `## name`, each followed by JSON lines. What does not parse is
//! passed over, as a model passes over what it cannot read.

use engine::request::Speaker;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub struct Sections(BTreeMap<String, Vec<Value>>);

impl Sections {
    /// What the user side said; a name that comes again in a later message is a repetition.
    pub fn of(messages: &[(Speaker, String)]) -> Sections {
        let mut all = Sections::default();
        for (_, text) in messages.iter().filter(|(speaker, _)| *speaker == Speaker::User) {
            for (name, values) in parse(text) {
                all.0.entry(name).or_insert(values);
            }
        }
        all
    }

    /// The first value of a section, null when it is absent.
    pub fn value(&self, name: &str) -> &Value {
        self.0.get(name).and_then(|values| values.first()).unwrap_or(&Value::Null)
    }

    pub fn text(&self, name: &str) -> &str {
        self.value(name).as_str().unwrap_or_default()
    }

    pub fn number(&self, name: &str) -> u64 {
        self.value(name).as_u64().unwrap_or_default()
    }

    /// The items of a section, whether it is one JSON array or one item per line.
    pub fn items(&self, name: &str) -> Vec<&Value> {
        match self.0.get(name).map(Vec::as_slice) {
            Some([Value::Array(items)]) => items.iter().collect(),
            Some(values) => values.iter().collect(),
            None => Vec::new(),
        }
    }

    pub fn texts(&self, name: &str) -> Vec<&str> {
        self.items(name).into_iter().filter_map(Value::as_str).collect()
    }

    /// May this tool be called? A request without a list of tools forbids none.
    pub fn offers(&self, tool: &str) -> bool {
        !self.0.contains_key("tools") || self.items("tools").iter().any(|entry| entry["name"] == tool)
    }

    /// The first of these tools that is offered.
    pub fn first_offered<'a>(&self, tools: &[&'a str]) -> Option<&'a str> {
        tools.iter().copied().find(|tool| self.offers(tool))
    }
}

fn parse(text: &str) -> BTreeMap<String, Vec<Value>> {
    let mut found = BTreeMap::new();
    let mut current: Option<String> = None;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            let name = name.trim().to_owned();
            found.entry(name.clone()).or_insert_with(Vec::new);
            current = Some(name);
        } else if let (Some(name), Ok(value)) = (&current, serde_json::from_str(line.trim())) {
            found.entry(name.clone()).or_default().push(value);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_open_sections_and_lines_that_are_not_json_are_passed_over() {
        let user = "words\n## objective\n\"Bake\\n## tools\"\n## tool_results\n{\"ok\":true}\n[cut: 3 of 9 bytes shown]\n{\"ok\":false}\n## hints\n[\"a\",\"b\"]\n";
        let sections = Sections::of(&[(Speaker::System, "## objective\n\"no\"".into()), (Speaker::User, user.into())]);
        assert_eq!(sections.text("objective"), "Bake\n## tools");
        assert_eq!(sections.items("tool_results").len(), 2);
        assert_eq!(sections.texts("hints"), ["a", "b"]);
        assert!(sections.offers("anything"), "no list of tools was given");
        assert!(sections.value("plan").is_null());
    }
}
