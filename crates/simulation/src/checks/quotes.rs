//! 60, 61: a quote stands in what it cites, word for word, and what a check read is what the named version had. Looked up in what
//! the witness saw committed, not as the product does it.

use super::RunLog;
use crate::world::witness::EntityText;
use engine::blob::{BlobRef, Hash};
use engine::event::Event;
use engine::facts::evidence::{CriterionState, EvidenceText};
use engine::facts::run::CriterionChecked;
use engine::facts::{Fact, HomeworkFact as H, RunFact as R, TaskFact as K, TreeFact as T};
use engine::workspace::Artifacts;
use runtime::ports::Library;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// White space apart.
const MIN_QUOTE_CHARS: usize = 12;

pub async fn check(log: &RunLog<'_>) {
    if log.row.success_criteria.is_empty() {
        return;
    }
    let evidence = Evidence::of(log).await;
    for event in &log.events {
        match &event.fact {
            Fact::Run(R::EvidenceRead(fact)) => {
                fact.evidence.iter().for_each(|read| evidence.is_as_read(log, event, read));
            }
            Fact::Run(R::CriterionChecked(fact)) => evidence.is_quoted(log, event, fact),
            _ => {}
        }
    }
}

/// White space apart.
pub(super) fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What the run may cite, with the texts behind it.
struct Evidence {
    texts: BTreeMap<Hash, String>,
    /// The stored result or data behind `event:` and `artifact:`.
    stored: BTreeMap<String, BlobRef>,
    entities: BTreeSet<Uuid>,
}

impl Evidence {
    async fn of(log: &RunLog<'_>) -> Evidence {
        let mut evidence = Evidence { texts: BTreeMap::new(), stored: BTreeMap::new(), entities: BTreeSet::new() };
        let mut wanted = BTreeSet::new();
        for event in &log.events {
            match &event.fact {
                Fact::Homework(H::ToolCallResult(fact)) if fact.ok => {
                    evidence.stored.insert(format!("event:{}", event.seq), fact.result);
                    evidence.entities.extend(touched(&fact.artifacts));
                }
                Fact::Tree(T::ArtifactCreated(fact)) => {
                    evidence.entities.extend(fact.document_id.map(|id| id.0));
                    evidence
                        .stored
                        .extend(fact.content.map(|content| (format!("artifact:{}", fact.artifact_id), content)));
                }
                Fact::Task(K::StepResult(fact)) if fact.ok => evidence.entities.extend(touched(&fact.artifacts)),
                Fact::Run(R::EvidenceRead(fact)) => {
                    wanted.extend(fact.evidence.iter().filter_map(|it| Some(it.text?.hash)))
                }
                _ => {}
            }
        }
        wanted.extend(evidence.stored.values().map(|blob| blob.hash));
        let hashes: Vec<Hash> = wanted.into_iter().collect();
        let texts = log.world.store.blobs(&hashes).await.unwrap_or_default();
        evidence.texts = hashes.into_iter().zip(texts).collect();
        evidence
    }

    /// What a check read of a document or task is what the named version had.
    fn is_as_read(&self, log: &RunLog<'_>, event: &Event, read: &EvidenceText) {
        let (Some(version), Some(blob)) = (read.version, read.text) else { return };
        let stored = self.texts.get(&blob.hash).and_then(|text| serde_json::from_str::<Value>(text).ok());
        if self.of_version(log, &read.reference, version) != stored.as_ref().and_then(Value::as_str).map(str::to_owned)
        {
            log.violation_at(event, format_args!("61: {} is not what version {version} had", read.reference));
        }
    }

    fn is_quoted(&self, log: &RunLog<'_>, event: &Event, fact: &CriterionChecked) {
        let quotes = fact.evidence.iter().flat_map(|cited| cited.quotes.iter().map(move |quote| (cited, quote)));
        for (cited, quote) in quotes.clone() {
            let wanted = folded(quote);
            let (reference, criterion) = (&cited.reference, &fact.criterion);
            if wanted.chars().count() < MIN_QUOTE_CHARS {
                log.violation_at(event, format_args!("60: {criterion} rests on {quote:?}, which is too short"));
            }
            if !self.behind(log, reference, cited.version).iter().any(|text| folded(text).contains(&wanted)) {
                log.violation_at(
                    event,
                    format_args!("60: {criterion} rests on {quote:?}, which {reference} does not have"),
                );
            }
        }
        if fact.state == CriterionState::Verified && quotes.count() == 0 {
            log.violation_at(event, format_args!("60: {} is verified without a quote", fact.criterion));
        }
    }

    /// The texts of which one must have the quote; none when the run may not cite this.
    fn behind(&self, log: &RunLog<'_>, reference: &str, version: Option<i64>) -> Vec<String> {
        if let Some(version) = version {
            return self.of_version(log, reference, version).into_iter().collect();
        }
        let stored = self.stored.get(reference).and_then(|blob| self.texts.get(&blob.hash));
        let mut texts: Vec<String> = stored.cloned().into_iter().collect();
        if let Some(value) = stored.and_then(|text| serde_json::from_str(text).ok()) {
            strings(&value, &mut texts);
        }
        texts
    }

    fn of_version(&self, log: &RunLog<'_>, reference: &str, version: i64) -> Option<String> {
        let id = reference.split_once(':').and_then(|(_, id)| id.parse::<Uuid>().ok())?;
        self.entities.contains(&id).then_some(())?;
        Some(match (reference.split_once(':')?.0, log.world.record.text(id, version)?) {
            ("doc", EntityText::Document(text)) => text.clone(),
            ("task", EntityText::Task { title, state, description }) => {
                format!("{title}\n\nstate: {}\n\n{description}", state.name())
            }
            _ => return None,
        })
    }
}

fn touched(artifacts: &Artifacts) -> impl Iterator<Item = Uuid> + '_ {
    let documents = artifacts.created_documents.iter().chain(&artifacts.updated_documents);
    documents.chain(&artifacts.created_tasks).chain(&artifacts.updated_tasks).map(|named| named.id)
}

fn strings(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) => into.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, into)),
        Value::Object(fields) => fields.values().for_each(|field| strings(field, into)),
        _ => {}
    }
}
