//! Converts the result of a tool call to what a run stores: text and structured content. Images, audio and blobs are only named.

use effects::text::cut;
use effects::tools::answered;
use engine::effect::ToolOutcome;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value, json};

const MAX_SUMMARY_CHARS: usize = 2_000;
const UNREADABLE: &str = "[content of a kind that is not supported]";

pub(super) fn outcome(server: &str, tool: &str, result: CallToolResult) -> ToolOutcome {
    let text = result.content.iter().map(block).collect::<Vec<_>>().join("\n");
    if result.is_error == Some(true) {
        let why = if text.is_empty() { "the tool failed without a message".into() } else { short(&text) };
        return ToolOutcome::refused(format!("{server}: {why}"));
    }
    let mut content = json!({ "text": text });
    if let Some(structured) = result.structured_content.filter(|structured| !is_repeated(&text, structured)) {
        content["structured"] = structured;
    }
    let summary = if text.is_empty() { format!("{tool} answered") } else { short(&text) };
    answered(server, content, &summary)
}

/// Servers repeat structured content as text for clients that cannot read it.
fn is_repeated(text: &str, structured: &Value) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|read| read == *structured)
        || structured
            .as_object()
            .is_some_and(|fields| fields.len() == 1 && fields.values().next() == Some(&json!(text)))
}

fn block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => format!("[an image, {}, {} bytes]", image.mime_type, image.data.len() * 3 / 4),
        ContentBlock::Audio(audio) => format!("[audio, {}, {} bytes]", audio.mime_type, audio.data.len() * 3 / 4),
        ContentBlock::ResourceLink(link) => format!("[a resource: {}]", link.uri),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { text, uri, .. } => format!("[{uri}]\n{text}"),
            ResourceContents::BlobResourceContents { uri, blob, .. } => {
                format!("[{uri}, {} bytes]", blob.len() * 3 / 4)
            }
            _ => UNREADABLE.into(),
        },
        _ => UNREADABLE.into(),
    }
}

pub(super) fn short(text: &str) -> String {
    cut(text, MAX_SUMMARY_CHARS)
}
