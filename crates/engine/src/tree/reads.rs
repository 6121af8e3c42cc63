//! Receipts for what a node was shown of another node's work by its tools. A tool result that holds the content of a document
//! which another node registered is a reading, whatever tool returned it; an excerpt among search results is not.

use super::state::State;
use crate::effect::ToolOutcome;
use crate::ids::{ArtifactId, DocumentId, NodeNumber};
use serde_json::Value;

/// How deep a result is searched: a document, a list of documents, and what a tool wraps around them.
const MAX_DEPTH: u32 = 4;

impl State {
    /// The artifacts of other nodes whose content this outcome holds, each once in a generation.
    pub(super) fn artifacts_read(&self, number: NodeNumber, outcome: &ToolOutcome) -> Vec<ArtifactId> {
        let Ok(output) = &outcome.result else { return Vec::new() };
        let mut documents = Vec::new();
        documents_in(&output.content, MAX_DEPTH, &mut documents);
        let mut read = Vec::new();
        for (owner, artifact) in documents.iter().filter_map(|document| self.documents.get(document)) {
            if *owner != number && !self.at(number).reads.contains(artifact) && !read.contains(artifact) {
                read.push(*artifact);
            }
        }
        read
    }
}

/// The ids of objects that come with their content.
fn documents_in(value: &Value, depth: u32, found: &mut Vec<DocumentId>) {
    match value {
        Value::Object(fields) => {
            let id: Option<DocumentId> =
                ["id", "document_id"].iter().find_map(|name| fields.get(*name)?.as_str()?.parse().ok());
            found.extend(id.filter(|_| fields.get("content").is_some_and(Value::is_string)));
            if depth > 0 {
                fields.values().for_each(|field| documents_in(field, depth - 1, found));
            }
        }
        Value::Array(items) if depth > 0 => items.iter().for_each(|item| documents_in(item, depth - 1, found)),
        _ => {}
    }
}
