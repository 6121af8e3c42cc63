//! What a check of criteria reads, from the changes and texts of a play.

use super::Play;
use engine::effect::{CheckWork, ToolOutcome, ToolOutput};
use engine::workspace::Mutation;
use serde_json::{Value, json};

pub(super) fn perform(play: &Play, work: &CheckWork) -> ToolOutcome {
    let content: Vec<Value> = match work {
        CheckWork::ReadEvidence { refs } => refs.iter().map(|reference| read(play, reference)).collect(),
        CheckWork::FindQuotes { quotes } => {
            let text = |hash| play.blobs.get(hash).and_then(|text| serde_json::from_str::<String>(text).ok());
            quotes.iter().map(|find| text(&find.text).is_some_and(|text| text.contains(&find.quote)).into()).collect()
        }
    };
    let output = ToolOutput { content: content.into(), summary: "looked up".into(), read: true };
    ToolOutcome { result: Ok(output), mutations: Vec::new() }
}

/// A document as the play has written it last, its versions counted.
fn read(play: &Play, reference: &str) -> Value {
    let (mut found, mut version) = (Value::Null, 0);
    for change in play.batches.iter().flat_map(|batch| &batch.changes) {
        match &change.mutation {
            Mutation::CreateDocument { id, title, content, .. } if format!("doc:{id}") == reference => {
                version = 1;
                found = json!({ "title": title, "text": content });
            }
            Mutation::UpdateDocument { id, content: Some(content), .. } if format!("doc:{id}") == reference => {
                version += 1;
                found["text"] = content.as_str().into();
            }
            _ => {}
        }
    }
    if !found.is_null() {
        found["version"] = version.into();
    }
    found
}
