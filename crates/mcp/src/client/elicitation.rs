//! Elicitation: shows a server's question to a person as text, and converts the person's text to the answer its schema wants.

use effects::tools::schema_violations;
use rmcp::model::{ElicitResult, ElicitationAction, InputRequest, InputRequiredResult};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The questions of a server of the newer protocol version, and the answers so far.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PendingInput {
    pub state: Option<String>,
    /// Unanswered questions by the server's names for them.
    waiting: BTreeMap<String, Value>,
    pub answered: BTreeMap<String, Value>,
}

impl PendingInput {
    /// `None` if the server asks for something that no person can answer.
    pub(super) fn of(required: InputRequiredResult) -> Option<PendingInput> {
        let mut waiting = BTreeMap::new();
        for (name, request) in required.input_requests.unwrap_or_default() {
            let InputRequest::Elicitation(request) = request else { return None };
            waiting.insert(name, serde_json::to_value(request.params).ok()?);
        }
        Some(PendingInput { state: required.request_state, waiting, answered: BTreeMap::new() })
    }

    pub(super) fn read(tool_state: &Value) -> Option<PendingInput> {
        serde_json::from_value(tool_state.clone()).ok()
    }

    pub(super) fn next(&self) -> Option<&Value> {
        self.waiting.values().next()
    }

    /// Takes the answer to the next question. True if it was the last one.
    pub(super) fn take(&mut self, text: &str) -> Result<bool, String> {
        if let Some((name, request)) = self.waiting.pop_first() {
            match read(&request, text) {
                Ok(result) => {
                    self.answered.insert(name, serde_json::to_value(result).unwrap_or_default());
                }
                Err(why) => {
                    self.waiting.insert(name, request);
                    return Err(why);
                }
            }
        }
        Ok(self.waiting.is_empty())
    }
}

fn fields(request: &Value) -> Option<&Map<String, Value>> {
    request["requestedSchema"]["properties"].as_object()
}

/// The question as it is shown to a person.
pub(super) fn question(server: &str, request: &Value, wrong: Option<&str>) -> String {
    let wrong = wrong.map(|why| format!("That answer did not fit: {why}.\n")).unwrap_or_default();
    let message: String = request["message"].as_str().unwrap_or("It needs an answer.").chars().take(4_000).collect();
    let how = match (request["url"].as_str(), fields(request)) {
        (Some(url), _) => format!("Open {url}, then answer done, or decline."),
        (None, Some(fields)) if fields.len() > 1 => {
            let fields = fields.iter().map(|(name, field)| described(name, field)).collect::<Vec<_>>();
            format!("Answer with a JSON object, or decline:\n{}", fields.join("\n"))
        }
        (None, Some(fields)) => fields
            .iter()
            .map(|(name, field)| described(name, field))
            .chain(["Or decline.".to_owned()])
            .collect::<Vec<_>>()
            .join("\n"),
        (None, None) => "Answer yes, or decline.".into(),
    };
    format!("{wrong}The tool server {server} asks: {message}\n{how}")
}

fn described(name: &str, field: &Value) -> String {
    let kind = field["type"].as_str().unwrap_or("text");
    let about = field["description"].as_str().or(field["title"].as_str()).unwrap_or_default();
    let choices = choices(field);
    let choices = if choices.is_empty() { String::new() } else { format!(", one of {}", choices.join(", ")) };
    let about =
        if about.is_empty() { String::new() } else { format!(": {}", about.chars().take(300).collect::<String>()) };
    format!("- {name} ({kind}{choices}){about}")
}

fn choices(field: &Value) -> Vec<String> {
    let plain = field["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let titled = field["oneOf"].as_array().into_iter().flatten().filter_map(|choice| choice["const"].as_str());
    plain.chain(titled).map(str::to_owned).collect()
}

/// The answers that can be chosen from a list.
pub(super) fn options(request: &Value) -> Vec<String> {
    match fields(request).into_iter().flatten().collect::<Vec<_>>().as_slice() {
        [(_, field)] if field["type"] == "boolean" => vec!["yes".into(), "no".into(), "decline".into()],
        [(_, field)] if !choices(field).is_empty() => {
            let mut options = choices(field);
            options.push("decline".into());
            options
        }
        _ => Vec::new(),
    }
}

pub(super) fn declined() -> ElicitResult {
    ElicitResult::new(ElicitationAction::Decline)
}

/// A person's text as the schema wants it, or why it does not fit.
pub(super) fn read(request: &Value, text: &str) -> Result<ElicitResult, String> {
    let text = text.trim();
    match text.to_lowercase().as_str() {
        "decline" | "(no answer came in time)" => return Ok(declined()),
        "cancel" => return Ok(ElicitResult::new(ElicitationAction::Cancel)),
        _ => {}
    }
    let accepted = ElicitResult::new(ElicitationAction::Accept);
    let Some(fields) = fields(request).filter(|_| request["url"].is_null()) else { return Ok(accepted) };
    let content = match (serde_json::from_str::<Value>(text), fields.iter().next()) {
        (Ok(Value::Object(content)), _) => Value::Object(content),
        (_, Some((name, field))) if fields.len() == 1 || is_only_required(request, name) => {
            json!({ name: typed(field, text) })
        }
        (_, None) => json!({}),
        _ => {
            let names: Vec<&str> = fields.keys().map(String::as_str).collect();
            return Err(format!("answer with a JSON object with {}", names.join(", ")));
        }
    };
    match schema_violations(&request["requestedSchema"], &content) {
        wrong if wrong.is_empty() => Ok(accepted.with_content(content)),
        wrong => Err(wrong.join("; ")),
    }
}

fn is_only_required(request: &Value, name: &str) -> bool {
    request["requestedSchema"]["required"].as_array().is_some_and(|required| required.len() == 1 && required[0] == name)
}

/// A text converted to the field's type. A text that cannot be converted stays a text, and the schema refuses it.
fn typed(field: &Value, text: &str) -> Value {
    let number = || serde_json::from_str::<Value>(text).ok().filter(Value::is_number);
    match (field["type"].as_str(), text.to_lowercase().as_str()) {
        (Some("boolean"), "yes" | "y" | "true" | "done" | "ok") => json!(true),
        (Some("boolean"), "no" | "n" | "false") => json!(false),
        (Some("number" | "integer"), _) => number().unwrap_or_else(|| json!(text)),
        (Some("array"), _) => json!(text.split(',').map(str::trim).collect::<Vec<_>>()),
        _ => json!(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(properties: Value, required: &[&str]) -> Value {
        json!({"message": "Which?", "requestedSchema": {"type": "object", "properties": properties, "required": required}})
    }

    fn content(request: &Value, text: &str) -> Result<Value, String> {
        read(request, text).map(|result| result.content.unwrap_or_default())
    }

    #[test]
    fn a_text_is_converted_to_the_type_of_the_only_field() {
        let colour = request(json!({"colour": {"type": "string", "enum": ["red", "blue"]}}), &["colour"]);
        assert_eq!(content(&colour, " red "), Ok(json!({"colour": "red"})));
        assert!(content(&colour, "green").is_err());
        assert_eq!(options(&colour), ["red", "blue", "decline"]);
        let sure = request(json!({"sure": {"type": "boolean"}}), &["sure"]);
        assert_eq!(content(&sure, "Yes"), Ok(json!({"sure": true})));
        let age = request(json!({"age": {"type": "integer", "minimum": 1}}), &["age"]);
        assert_eq!(content(&age, "7"), Ok(json!({"age": 7})));
        assert!(content(&age, "old").is_err() && content(&age, "0").is_err());
    }

    #[test]
    fn several_fields_need_a_json_object() {
        let both = request(json!({"a": {"type": "string"}, "b": {"type": "number"}}), &["a", "b"]);
        assert_eq!(content(&both, "{\"a\": \"x\", \"b\": 2}"), Ok(json!({"a": "x", "b": 2})));
        assert!(content(&both, "x").unwrap_err().contains("a, b"));
        assert!(question("shop", &both, None).contains("- b (number)"));
    }

    #[test]
    fn declining_is_an_answer() {
        let request = request(json!({"a": {"type": "string"}}), &["a"]);
        assert_eq!(read(&request, "decline").unwrap().action, ElicitationAction::Decline);
        assert_eq!(read(&request, "(no answer came in time)").unwrap().action, ElicitationAction::Decline);
    }
}
