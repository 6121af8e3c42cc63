//! The rehearsal model in the repair role: when tool calls of a homework iteration failed, it answers with corrected ones,
//! using the arguments that the tools declare.

use super::Sections;
use serde_json::{Map, Value, json};

const MAX_CORRECTED_CALLS: usize = 2;
/// Optional arguments that may refer to something that does not exist; the call works without them.
const DOUBTFUL: [&str; 3] = ["project_id", "parent_document_id", "version"];

pub(super) fn answer(sections: &Sections) -> Value {
    let corrected = sections.items("failed_calls").into_iter().filter_map(|call| corrected(sections, call));
    json!({"corrected_calls": corrected.take(MAX_CORRECTED_CALLS).collect::<Vec<_>>()})
}

/// `None` if the call cannot be improved.
fn corrected(sections: &Sections, call: &Value) -> Option<Value> {
    let asked = call["tool"].as_str()?;
    let tools = sections.items("tools");
    let tool = tools.iter().find(|tool| tool["name"] == asked).or_else(|| nearest(&tools, asked))?;
    let arguments = tool["arguments"].as_str()?.split(", ");
    let takes: Vec<&str> = arguments.filter_map(|argument| argument.split(':').next()).collect();
    let given = call["arguments"].as_object().cloned().unwrap_or_default();
    let is_known = |name: &str| {
        takes.iter().any(|taken| *taken == name || taken.strip_suffix('?') == Some(name) && !DOUBTFUL.contains(&name))
    };
    let mut arguments: Map<String, Value> = given.clone().into_iter().filter(|(name, _)| is_known(name)).collect();
    for name in ["title", "content", "query"].into_iter().filter(|name| takes.contains(name)) {
        arguments.entry(name).or_insert_with(|| json!("To be named"));
    }
    let changed = tool["name"] != asked || arguments != given;
    changed.then(|| json!({"for_call_id": call["call_id"], "tool": tool["name"], "arguments": arguments}))
}

/// The tool whose name begins most like the asked one, with at least 4 letters in common.
fn nearest<'a, 'b>(tools: &'b [&'a Value], asked: &str) -> Option<&'b &'a Value> {
    let shared = |tool: &Value| {
        let name = tool["name"].as_str().unwrap_or_default();
        name.bytes().zip(asked.bytes()).take_while(|(ours, theirs)| ours == theirs).count()
    };
    tools.iter().filter(|tool| shared(tool) >= 4).max_by_key(|tool| shared(tool))
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::request::Speaker;

    fn repaired(call: Value) -> Value {
        let tools = json!([{"name": "create_document", "arguments": "title: 1-500 characters, content, project_id?: uuid"}, {"name": "get_task", "arguments": "task_id"}]);
        answer(&Sections::of(&[(Speaker::User, format!("## tools\n{tools}\n## failed_calls\n{call}\n"))]))
    }

    #[test]
    fn a_misspelt_tool_and_unknown_arguments_are_corrected() {
        let call = json!({"call_id": "i1.t0", "tool": "create_doc", "arguments": {"title": "T", "body": "x", "project_id": "p"}, "error": "…"});
        let corrected = json!({"for_call_id": "i1.t0", "tool": "create_document", "arguments": {"title": "T", "content": "To be named"}});
        assert_eq!(repaired(call), json!({"corrected_calls": [corrected]}));
    }

    #[test]
    fn a_call_that_cannot_be_improved_is_left_alone() {
        let call = json!({"call_id": "i1.t0", "tool": "get_task", "arguments": {"task_id": "t"}, "error": "not found"});
        assert_eq!(repaired(call), json!({"corrected_calls": []}));
    }
}
