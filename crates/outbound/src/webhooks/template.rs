//! Renders a delivery as its receiver wants it: Standard Webhooks, Slack, Discord or ntfy. The text may come from a model:
//! mentions are disabled, header values are encoded, and the link syntax of Slack is escaped.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use store::notifications::Template;

pub(crate) struct Message {
    pub content_type: &'static str,
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
}

const JSON: &str = "application/json";
/// What a Discord message may have.
const MAX_DISCORD_CHARS: usize = 1_900;
const MAX_TITLE_CHARS: usize = 120;

/// `standard` is the body as it was written down.
pub(crate) fn render(template: Template, standard: &str) -> Message {
    let plain = |body: String| Message { content_type: JSON, headers: Vec::new(), body };
    if template == Template::Standard {
        return plain(standard.to_owned());
    }
    let event: Value = serde_json::from_str(standard).unwrap_or_default();
    let said = |name: &str| event["data"][name].as_str().unwrap_or_default().to_owned();
    let (title, body, run) = (headline(&said("kind"), &said("title")), said("body"), said("run_id"));
    match template {
        Template::Standard | Template::Slack => {
            let text = format!("*{}*\n{}\n`pleach show {run}`", slack(&title), slack(&body));
            plain(json!({ "text": text }).to_string())
        }
        Template::Discord => {
            let text = cut(&format!("**{title}**\n{body}\n`pleach show {run}`"), MAX_DISCORD_CHARS);
            plain(json!({ "content": text, "allowed_mentions": { "parse": [] } }).to_string())
        }
        Template::Ntfy => Message {
            content_type: "text/plain; charset=utf-8",
            headers: vec![("title", encoded(&title)), ("tags", tag(&said("kind")).into())],
            body: format!("{body}\npleach show {run}"),
        },
    }
}

fn headline(kind: &str, title: &str) -> String {
    let what = match kind {
        "question" => "A question",
        "waiting" => "Waiting for you",
        "completed" => "Completed",
        "stopped" => "Stopped",
        "failed" => "Failed",
        "canceled" => "Canceled",
        _ => "A test",
    };
    format!("{what}: {}", cut(title, MAX_TITLE_CHARS))
}

fn tag(kind: &str) -> &'static str {
    match kind {
        "question" | "waiting" => "question",
        "completed" => "white_check_mark",
        "failed" => "x",
        _ => "information_source",
    }
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// The three characters that begin anything special in Slack.
fn slack(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A header value can hold no line and no letter beyond ASCII: RFC 2047.
fn encoded(text: &str) -> String {
    match text.chars().all(|c| c == ' ' || c.is_ascii_graphic()) {
        true => text.to_owned(),
        false => format!("=?UTF-8?B?{}?=", STANDARD.encode(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standard(title: &str, body: &str) -> String {
        json!({"type": "run.question", "data": {"kind": "question", "title": title, "body": body, "run_id": "r1"}})
            .to_string()
    }

    #[test]
    fn h7_slack_and_discord_see_no_mention_in_what_a_model_wrote() {
        let text = standard("Bees", "<!channel> @everyone look");
        let slack: Value = serde_json::from_str(&render(Template::Slack, &text).body).unwrap();
        assert_eq!(slack["text"], "*A question: Bees*\n&lt;!channel&gt; @everyone look\n`pleach show r1`");
        let discord: Value = serde_json::from_str(&render(Template::Discord, &text).body).unwrap();
        assert_eq!(discord["allowed_mentions"], json!({"parse": []}));
        let long = render(Template::Discord, &standard("Bees", &"x".repeat(5_000)));
        let long: Value = serde_json::from_str(&long.body).unwrap();
        assert!(long["content"].as_str().unwrap().chars().count() < 2_000);
    }

    #[test]
    fn h7_ntfy_gets_a_title_that_is_a_header_whatever_the_objective_was() {
        let message = render(Template::Ntfy, &standard("Bienen\r\nX-Evil: ä", "Which?"));
        assert!(message.headers[0].1.starts_with("=?UTF-8?B?"), "{:?}", message.headers);
        assert_eq!(message.body, "Which?\npleach show r1");
        assert_eq!(render(Template::Ntfy, &standard("Bees", "?")).headers[0].1, "A question: Bees");
        assert_eq!(render(Template::Standard, "{\"a\":1}").body, "{\"a\":1}");
    }
}
