//! The result protocol: what a node hands its parent, and what the parent may read of it. Ids in an
//! envelope are only ever ones the platform registered for this node; what a model names is looked up.

use super::answer::ArtifactAnswer;
use super::node::{Artifact, Node};
use crate::facts::tree::{ArtifactType, Deliverable, Envelope, EnvelopeKind, HintType, ProposedHint, ProposedResult};
use crate::ids::{ArtifactId, DocumentId};
use serde_json::{Map, Value};

/// A payload that travels in the envelope; anything bigger is an artifact that is read by reference.
pub const MAX_INLINE_JSON_BYTES: usize = 4_000;
const MAX_SUMMARY_CHARS: usize = 4_000;
const MAX_TAIL_CHARS: usize = 600;

/// What the parent is told to read.
#[derive(Clone, Debug, PartialEq)]
pub struct Hint {
    pub hint_type: HintType,
    pub artifacts: Vec<ArtifactId>,
    pub documents: Vec<DocumentId>,
}

/// Names in a result that fit nothing this node made. Those of `fresh` artifacts count; names that may yet be
/// made by tool calls of the same answer do too, unless they look like ids.
pub fn foreign_names(
    node: &Node,
    fresh: &[ArtifactAnswer],
    result: &ProposedResult,
    tools_pending: bool,
) -> Vec<String> {
    let known = |name: &str| {
        fresh.iter().any(|artifact| artifact.name() == name)
            || node.current_artifacts().any(|artifact| artifact.is_called(name))
    };
    let may_come = |name: &str| tools_pending && uuid::Uuid::parse_str(bare(name)).is_err();
    let named = result.primary_artifact_label.iter().chain(&result.parent_hint.artifact_labels);
    let foreign: Vec<&String> = named.filter(|name| !known(name.trim()) && !may_come(name.trim())).collect();
    let valid: Vec<String> = fresh
        .iter()
        .map(|artifact| artifact.name().to_owned())
        .chain(node.current_artifacts().map(|artifact| artifact.label.clone()))
        .collect();
    foreign
        .iter()
        .map(|name| format!("{name:.80?} is not an artifact of this node; its artifacts: {valid:?}"))
        .collect()
}

/// The deliverable a step asked for, where none of these artifacts is one.
pub fn missing(deliverable: Deliverable, mut made: impl Iterator<Item = ArtifactType>) -> Option<Missing> {
    use ArtifactType as A;
    let there = match deliverable {
        Deliverable::Either => true,
        Deliverable::Document => made.any(|kind| matches!(kind, A::Document | A::Summary | A::Other)),
        Deliverable::Json => made.any(|kind| matches!(kind, A::Json | A::Other)),
    };
    (!there).then_some(Missing(deliverable))
}

/// What was asked for and not given. A model is told how to give it, a person what is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing(Deliverable);

impl Missing {
    pub fn for_model(self) -> String {
        let wanted = if self.0 == Deliverable::Json { "json" } else { "document" };
        format!(
            "the step asks for a deliverable of type {wanted:?} and there is none: give it as an artifact of that type"
        )
    }

    pub fn for_people(self) -> String {
        match self.0 {
            Deliverable::Json => "gave no JSON although it was asked for".into(),
            Deliverable::Document | Deliverable::Either => "gave no document although one was asked for".into(),
        }
    }
}

fn bare(name: &str) -> &str {
    name.strip_prefix("doc:").unwrap_or(name)
}

impl Artifact {
    /// By label, artifact id or document id.
    pub fn is_called(&self, name: &str) -> bool {
        self.label == name
            || self.id.to_string() == bare(name)
            || self.document.is_some_and(|document| document.to_string() == bare(name))
    }

    /// A document for readers; data too big for the envelope is stored in one, but is data still.
    pub fn is_text(&self) -> bool {
        self.document.is_some() && self.kind != ArtifactType::Json
    }

    /// `doc:` and the document's id, or `artifact:` and its own.
    pub fn reference(&self) -> String {
        self.document.map_or_else(|| format!("artifact:{}", self.id), |document| format!("doc:{document}"))
    }

    fn is_data(&self) -> bool {
        self.kind == ArtifactType::Json || self.json.is_some()
    }
}

/// The envelope of a node from all it registered in this generation.
pub fn envelope(
    node: &Node,
    artifacts: &[&Artifact],
    result: &ProposedResult,
    primary: Option<ArtifactId>,
) -> Envelope {
    let document_ids: Vec<DocumentId> = distinct(artifacts.iter().filter_map(|artifact| artifact.document));
    let json_payload = payload(artifacts);
    let has = |what: fn(&Artifact) -> bool| artifacts.iter().any(|artifact| what(artifact));
    let kind = match (has(Artifact::is_text), has(Artifact::is_data)) {
        (true, true) => EnvelopeKind::Hybrid,
        (false, true) => EnvelopeKind::Json,
        // Without artifacts its summary and scratchpad are all there is to read, and those are texts.
        (_, false) => EnvelopeKind::Document,
    };
    let tail: String = node.tail_preview.chars().take(MAX_TAIL_CHARS).collect();
    Envelope {
        kind,
        summary: result.summary.chars().take(MAX_SUMMARY_CHARS).collect(),
        success_assessment: result.success_assessment.clone(),
        primary_artifact_id: primary,
        artifact_ids: artifacts.iter().map(|artifact| artifact.id).collect(),
        document_ids,
        json_payload,
        scratchpad_doc_id: Some(node.scratchpad),
        scratchpad_tail: Some(tail).filter(|tail| !tail.is_empty()),
    }
}

/// The small JSON artifacts: a single object as it is, several by their labels.
fn payload(artifacts: &[&Artifact]) -> Option<Value> {
    let small: Vec<(&Artifact, &Value)> =
        artifacts.iter().filter_map(|artifact| Some((*artifact, artifact.json.as_ref()?))).collect();
    match small.as_slice() {
        [] => None,
        [(_, Value::Object(map))] => Some(Value::Object(map.clone())),
        several => Some(Value::Object(
            several.iter().map(|(artifact, value)| (artifact.label.clone(), (*value).clone())).collect::<Map<_, _>>(),
        )),
    }
}

/// The named artifacts; where none is named, the documents, else everything. Nothing to read is no hint.
pub fn hint(artifacts: &[&Artifact], asked: &ProposedHint) -> Option<Hint> {
    let named: Vec<&Artifact> = artifacts
        .iter()
        .copied()
        .filter(|artifact| asked.artifact_labels.iter().any(|name| artifact.is_called(name.trim())))
        .collect();
    let documents: Vec<&Artifact> = artifacts.iter().copied().filter(|artifact| artifact.is_text()).collect();
    let chosen = match (named.is_empty(), documents.is_empty()) {
        (false, _) => named,
        (true, false) if asked.hint_type != Some(HintType::ReadJson) => documents,
        _ => artifacts.to_vec(),
    };
    let has_texts = chosen.iter().any(|artifact| artifact.is_text());
    (!chosen.is_empty()).then(|| Hint {
        hint_type: if has_texts { HintType::ReadDocuments } else { HintType::ReadJson },
        artifacts: chosen.iter().map(|artifact| artifact.id).collect(),
        documents: distinct(chosen.iter().filter_map(|artifact| artifact.document)),
    })
}

fn distinct(ids: impl Iterator<Item = DocumentId>) -> Vec<DocumentId> {
    let mut list: Vec<DocumentId> = Vec::new();
    ids.for_each(|id| {
        if !list.contains(&id) {
            list.push(id);
        }
    });
    list
}
