//! The platform's own reading for a check of criteria: what is cited, with its version, and whether quotes stand in it. Read with
//! the run's scope at the moment of the check. It must not judge: the engine decides what the answers mean.

use engine::blob::Hash;
use engine::effect::{CheckWork, QuoteToFind, RunContext, ToolOutcome, ToolOutput};
use engine::ids::{DocumentId, TaskId};
use runtime::ports::{Library, StoreError};
use serde_json::{Value, json};
use std::collections::HashMap;
use uuid::Uuid;

pub(crate) async fn perform(
    library: &dyn Library,
    run: &RunContext,
    work: &CheckWork,
) -> Result<ToolOutcome, StoreError> {
    let content = match work {
        CheckWork::ReadEvidence { refs } => {
            let mut texts = Vec::with_capacity(refs.len());
            for reference in refs {
                texts.push(read(library, run, reference).await?.unwrap_or(Value::Null));
            }
            texts
        }
        CheckWork::FindQuotes { quotes } => find(library, quotes).await?,
    };
    let summary = format!("{} looked up", content.len());
    let output = ToolOutput { content: Value::Array(content), summary, read: true };
    Ok(ToolOutcome { result: Ok(output), mutations: Vec::new() })
}

async fn read(library: &dyn Library, run: &RunContext, reference: &str) -> Result<Option<Value>, StoreError> {
    let Some((kind, id)) = reference.split_once(':') else { return Ok(None) };
    let Ok(id) = id.trim().parse::<Uuid>() else { return Ok(None) };
    Ok(match kind {
        "doc" => library
            .document(&run.scope, DocumentId(id))
            .await?
            .map(|found| json!({ "title": found.title, "version": found.version, "text": found.content })),
        "task" => library.task(&run.scope, TaskId(id)).await?.map(|found| {
            let text = format!("{}\n\nstate: {}\n\n{}", found.title, found.state.name(), found.description);
            json!({ "title": found.title, "version": found.version, "text": text })
        }),
        _ => None,
    })
}

/// In the order of the quotes. Each text is read and prepared once.
async fn find(library: &dyn Library, quotes: &[QuoteToFind]) -> Result<Vec<Value>, StoreError> {
    let mut hashes: Vec<Hash> = quotes.iter().map(|quote| quote.text).collect();
    hashes.sort_unstable();
    hashes.dedup();
    let stored = library.blobs(&hashes).await?;
    let texts: HashMap<Hash, Vec<String>> =
        hashes.into_iter().zip(stored.iter().map(|text| searchable(text))).collect();
    let is_there = |quote: &QuoteToFind| {
        let wanted = one_space(&quote.quote);
        texts.get(&quote.text).is_some_and(|forms| forms.iter().any(|form| form.contains(&wanted)))
    };
    Ok(quotes.iter().map(|quote| Value::from(is_there(quote))).collect())
}

/// A stored text is one JSON value. Of a document it is a string; of a tool's result or of data, a quote may be taken from the JSON as
/// it was shown or from one of the strings in it.
fn searchable(stored: &str) -> Vec<String> {
    match serde_json::from_str(stored) {
        Ok(Value::String(text)) => vec![one_space(&text)],
        Ok(value) => {
            let mut forms = vec![one_space(stored)];
            strings(&value, &mut forms);
            forms
        }
        Err(_) => vec![one_space(stored)],
    }
}

fn strings(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) => into.push(one_space(text)),
        Value::Array(items) => items.iter().for_each(|item| strings(item, into)),
        Value::Object(fields) => fields.values().for_each(|field| strings(field, into)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// White space apart, a quote is compared letter for letter.
fn one_space(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_in(quote: &str, stored: &str) -> bool {
        searchable(stored).iter().any(|form| form.contains(&one_space(quote)))
    }

    #[test]
    fn b3_a_quote_is_there_letter_for_letter_white_space_apart() {
        let document = json!("# Costs\n\n| pump | a year |\n|---|---|\n| A |  410 EUR |").to_string();
        assert!(is_in("| pump | a year |\n|---|---|", &document));
        assert!(is_in("A | 410 EUR", &document));
        assert!(!is_in("A | 411 EUR", &document));
        assert!(!is_in("a | 410 eur", &document), "the case counts");
    }

    #[test]
    fn b3_a_quote_from_a_tools_result_may_be_as_shown_or_as_meant() {
        let result = json!({ "content": "first line\nsecond line", "version": 3 }).to_string();
        assert!(is_in("first line second line", &result));
        assert!(is_in("\"version\":3", &result));
        assert!(!is_in("second line first line", &result));
    }
}
