//! A request as a script sees it.

use engine::section_reader::SectionReader;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    Openai,
    Anthropic,
}

#[derive(Clone, Debug)]
pub struct Request {
    pub wire: Wire,
    /// The `x-pleach-role` header, else the name in the body.
    pub role: String,
    /// How many requests this role had before.
    pub nth: usize,
    /// The `idempotency-key` header.
    pub key: String,
    pub headers: BTreeMap<String, String>,
    pub body: Value,
    /// The body as it came, byte for byte.
    pub text: String,
}

impl Request {
    pub(super) fn new(wire: Wire, headers: BTreeMap<String, String>, text: String) -> serde_json::Result<Request> {
        let body = serde_json::from_str(&text)?;
        let header = |name: &str| headers.get(name).cloned().unwrap_or_default();
        let (role, key) = (header("x-pleach-role"), header("idempotency-key"));
        let mut request = Request { wire, role, nth: 0, key, headers, body, text };
        if request.role.is_empty() {
            request.role = request.named_role().unwrap_or_default().to_owned();
        }
        Ok(request)
    }

    /// The role that the body names: the name of the schema, or of the tool that the model must call.
    pub fn named_role(&self) -> Option<&str> {
        match self.wire {
            Wire::Openai => self.body["response_format"]["json_schema"]["name"].as_str(),
            Wire::Anthropic => self.body["tool_choice"]["name"].as_str(),
        }
    }

    pub fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or_default()
    }

    pub fn streaming(&self) -> bool {
        self.body["stream"] == true
    }

    /// The effect that this request is an attempt of.
    pub fn effect(&self) -> &str {
        self.key.rsplit_once(':').map_or(self.key.as_str(), |(effect, _)| effect)
    }

    /// The texts of the user's messages, oldest first.
    pub fn user_texts(&self) -> Vec<&str> {
        let messages = self.body["messages"].as_array().into_iter().flatten();
        messages.filter(|message| message["role"] == "user").filter_map(|message| message["content"].as_str()).collect()
    }

    /// The title of the tree node that the call is for. It stands on a line of its own.
    pub fn node(&self) -> &str {
        let texts = self.user_texts();
        texts.iter().flat_map(|text| text.lines()).find_map(|line| line.strip_prefix("Node: ")).unwrap_or_default()
    }

    /// The first value under the heading `## name`.
    pub fn section(&self, name: &str) -> Option<Value> {
        self.lines(name).into_iter().next()
    }

    /// Every value under the heading `## name`.
    pub fn lines(&self, name: &str) -> Vec<Value> {
        SectionReader::of_texts(self.user_texts()).lines(name).to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn asked(texts: &[&str]) -> Request {
        let messages: Vec<Value> = texts.iter().map(|text| json!({"role": "user", "content": text})).collect();
        Request::new(Wire::Openai, BTreeMap::new(), json!({"messages": messages}).to_string()).expect("JSON")
    }

    #[test]
    fn sections_are_json_lines_under_a_heading() {
        let request = asked(&[
            "## objective\n\"## plan\\nfake\"\n## plan\n{\"version\":2}\n\n## tool_results\n{\"a\":1}\n{\"a\":2}",
        ]);
        assert_eq!(request.section("plan"), Some(json!({"version": 2})));
        assert_eq!(request.lines("tool_results"), [json!({"a": 1}), json!({"a": 2})]);
        assert_eq!(request.section("scope"), None);
    }
}
