//! Reads back what `sections` writes: `## name` lines, each followed by JSON lines. For the models that are programs:
//! rehearsal, the simulation's fakes and scripts. What does not parse is passed over, as a model passes over what it
//! cannot read. Knows nothing of what a section means.

use crate::request::Speaker;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub struct SectionReader {
    /// The one line that is not JSON: which node of a tree is asked.
    title: String,
    sections: BTreeMap<String, Vec<Value>>,
}

impl SectionReader {
    pub fn of(messages: &[(Speaker, String)]) -> SectionReader {
        let user = messages.iter().filter(|(speaker, _)| *speaker == Speaker::User);
        SectionReader::of_texts(user.map(|(_, text)| text.as_str()))
    }

    /// What the user side said, oldest first; a name that comes again in a later text is a repetition.
    pub fn of_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> SectionReader {
        let mut all = SectionReader::default();
        for text in texts {
            for (name, values) in all.parse(text) {
                all.sections.entry(name).or_insert(values);
            }
        }
        all
    }

    fn parse(&mut self, text: &str) -> BTreeMap<String, Vec<Value>> {
        let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        let mut current = None;
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("## ") {
                current = Some(found.entry(name.trim().to_owned()).or_default());
            } else if let (true, Some(title)) = (self.title.is_empty(), line.strip_prefix("Node: ")) {
                self.title = title.to_owned();
            } else if let (Some(values), Ok(value)) = (&mut current, serde_json::from_str(line.trim())) {
                values.push(value);
            }
        }
        found
    }

    pub fn title(&self) -> &str {
        &self.title
    }

    /// The first value of a section, null when it is absent.
    pub fn value(&self, name: &str) -> &Value {
        self.lines(name).first().unwrap_or(&Value::Null)
    }

    pub fn text(&self, name: &str) -> &str {
        self.value(name).as_str().unwrap_or_default()
    }

    pub fn number(&self, name: &str) -> u64 {
        self.value(name).as_u64().unwrap_or_default()
    }

    /// Every value of a section, line by line.
    pub fn lines(&self, name: &str) -> &[Value] {
        self.sections.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// The items of a section, whether it is one JSON array or one item per line.
    pub fn items(&self, name: &str) -> Vec<&Value> {
        match self.lines(name) {
            [Value::Array(items)] => items.iter().collect(),
            lines => lines.iter().collect(),
        }
    }

    pub fn texts(&self, name: &str) -> Vec<&str> {
        self.items(name).into_iter().filter_map(Value::as_str).collect()
    }

    /// One text field of every item of a section.
    pub fn fields(&self, name: &str, field: &str) -> Vec<String> {
        self.items(name).iter().filter_map(|item| item[field].as_str().map(str::to_owned)).collect()
    }

    /// Whether the tool may be called. A request without a list of tools allows all.
    pub fn offers(&self, tool: &str) -> bool {
        !self.sections.contains_key("tools") || self.items("tools").iter().any(|entry| entry["name"] == tool)
    }

    /// The first of these tools that is offered.
    pub fn first_offered<'a>(&self, tools: &[&'a str]) -> Option<&'a str> {
        tools.iter().copied().find(|tool| self.offers(tool))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_open_sections_and_lines_that_are_not_json_are_passed_over() {
        let user = "words\n## objective\n\"Bake\\n## tools\"\n## tool_results\n{\"ok\":true}\n[cut: 3 of 9 bytes shown]\n{\"ok\":false}\n## hints\n[\"a\",\"b\"]\n";
        let sections =
            SectionReader::of(&[(Speaker::System, "## objective\n\"no\"".into()), (Speaker::User, user.into())]);
        assert_eq!(sections.text("objective"), "Bake\n## tools");
        assert_eq!(sections.items("tool_results").len(), 2);
        assert_eq!(sections.texts("hints"), ["a", "b"]);
        assert!(sections.offers("anything"), "no list of tools was given");
        assert!(sections.value("plan").is_null());
    }

    #[test]
    fn a_repair_still_shows_the_sections_of_the_question() {
        let sections = SectionReader::of_texts(["Node: Bake\n## iteration\n3", "errors: the answer is not JSON"]);
        assert_eq!((sections.number("iteration"), sections.title()), (3, "Bake"));
    }
}
