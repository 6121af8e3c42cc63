//! Asks a person before a call is made. The question shows everything that would be sent, in the order the tool gets it, and
//! to whom. Values are escaped, so that none of them can add lines to the question.

use super::toolbox::{Approval, OfferedTool, Toolbox};
use engine::effect::{RepeatSafety, RunContext, ToolCall, ToolQuestion};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::fmt::Write;

/// Marks a question as one about approval. A tool that asks by itself has another state.
const APPROVAL: &str = "approval";
const ALLOW: &str = "allow";
const DENY: &str = "deny";

pub(super) enum Approved<'a> {
    Yes(Cow<'a, ToolCall>),
    No,
    NotYet(ToolQuestion),
}

pub(super) fn approved<'a>(
    toolbox: &dyn Toolbox,
    offer: &OfferedTool,
    run: &RunContext,
    call: &'a ToolCall,
) -> Approved<'a> {
    let needed = match toolbox.approval(offer) {
        Approval::Never => false,
        Approval::Tainted => run.tainted,
        Approval::Always => true,
    };
    match &call.answered {
        Some(answered) if answered.tool_state == APPROVAL && answered.answer.trim().eq_ignore_ascii_case(ALLOW) => {
            Approved::Yes(Cow::Owned(ToolCall { answered: None, ..call.clone() }))
        }
        Some(answered) if answered.tool_state == APPROVAL => Approved::No,
        None if needed => {
            let text = question(toolbox, offer, run.tainted, call);
            Approved::NotYet(ToolQuestion {
                text,
                options: vec![ALLOW.into(), DENY.into()],
                tool_state: json!(APPROVAL),
            })
        }
        _ => Approved::Yes(Cow::Borrowed(call)),
    }
}

fn question(toolbox: &dyn Toolbox, offer: &OfferedTool, tainted: bool, call: &ToolCall) -> String {
    let after = if tainted { " after it read something from outside" } else { "" };
    let mut text = format!("May the run call {}{after}?\n", call.tool);
    let _ = writeln!(text, "Goes to: {}", visible(&toolbox.destination(call)));
    let arguments = call.arguments.as_object().filter(|arguments| !arguments.is_empty());
    match arguments {
        None => text.push_str("Sends: nothing but the tool's name"),
        Some(arguments) => {
            text.push_str("Sends, all of it, in this order:");
            for (name, value) in arguments {
                let _ = write!(text, "\n- {} = {}", visible(&json!(name).to_string()), shown(value));
            }
        }
    }
    if offer.hint == Some(RepeatSafety::ReadOnly) {
        let server = toolbox.server();
        let _ = write!(
            text,
            "\nIts server says that it only reads, which nobody checked. To call it without being asked, list it under read_only in [mcp.{server}]."
        );
    }
    text
}

fn shown(value: &Value) -> String {
    visible(&value.to_string())
}

/// JSON escapes line breaks. Characters that reorder or hide others are escaped here.
fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let hides = matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}');
        match hides || c.is_control() {
            true => out.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}"))),
            false => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::toolbox::OfferedTools;
    use async_trait::async_trait;
    use engine::effect::{EffectId, Outcome, ToolOutcome};

    struct MailToolbox(Approval);

    #[async_trait]
    impl Toolbox for MailToolbox {
        fn server(&self) -> &str {
            "mail"
        }
        fn approval(&self, _offer: &OfferedTool) -> Approval {
            self.0
        }
        fn destination(&self, _call: &ToolCall) -> String {
            "mail.example.org".into()
        }
        async fn offers(&self) -> Result<OfferedTools, String> {
            Ok(OfferedTools::default())
        }
        async fn call(&self, _offer: &OfferedTool, _call: &ToolCall, _effect: &EffectId) -> Outcome {
            Outcome::Tool(ToolOutcome::refused("this toolbox sends nothing"))
        }
    }

    fn question_about(arguments: Value) -> String {
        let offer = OfferedTool {
            name: "mail__send".into(),
            description: String::new(),
            schema: json!({}),
            class: RepeatSafety::Once,
            hint: Some(RepeatSafety::ReadOnly),
        };
        let call = ToolCall {
            tool: "mail__send".into(),
            arguments,
            granted: Vec::new(),
            home_document: None,
            props: Value::Null,
            external: None,
            answered: None,
            agent: None,
        };
        question(&MailToolbox(Approval::Always), &offer, false, &call)
    }

    #[test]
    fn x12_an_approval_question_shows_every_argument_in_order_and_the_recipient() {
        let long = format!("{}hidden@example.net", "x".repeat(50_000));
        let text = question_about(json!({"body": "Hello\n- to = \"nobody\"", "cc": long, "to": "ann"}));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "Goes to: mail.example.org");
        assert_eq!(lines[3], r#"- "body" = "Hello\n- to = \"nobody\"""#, "a value cannot forge a line");
        assert!(lines[4].starts_with("- \"cc\" = \"xxx") && lines[4].ends_with("hidden@example.net\""));
        assert_eq!(lines[5], "- \"to\" = \"ann\"");
        assert!(lines[6].contains("nobody checked"), "{}", lines[6]);
    }

    #[test]
    fn x12_characters_that_hide_or_reorder_others_are_escaped() {
        let text = question_about(json!({"to": "ann\u{202e}moc.live\u{200b}\u{e0041}"}));
        assert!(text.contains(r#""ann\u202emoc.live\u200b\udb40\udc41""#), "{text}");
    }
}
