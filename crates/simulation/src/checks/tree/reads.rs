//! 16: a parent is shown exactly what its children's hints name, with a receipt for each, and every document an envelope
//! names exists where the run may write. What was shown is read from the provider's bill.

use super::super::RunLog;
use crate::world::FinishedWorld;
use engine::event::Event;
use engine::facts::{EffectFact as E, Fact, RunFact as R, TreeFact as T};
use engine::ids::{ArtifactId, DocumentId, NodeId, ProjectId};
use engine::model::Role;
use engine::run::ScopeKind;
use engine::workspace::Scope;
use runtime::ports::Library;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
struct Receipts {
    parent: BTreeMap<NodeId, NodeId>,
    /// The artifacts each node's newest hint names.
    hinted: BTreeMap<NodeId, BTreeSet<ArtifactId>>,
    /// Nodes replaced by a retry.
    replaced: BTreeSet<NodeId>,
    /// Receipts of the current generation.
    read: BTreeMap<NodeId, BTreeSet<ArtifactId>>,
    /// What each aggregator request must show.
    awaited: BTreeMap<String, BTreeSet<String>>,
}

pub async fn check(finished: &FinishedWorld, log: &RunLog, violations: &mut Vec<String>) {
    let mut receipts = Receipts::default();
    for event in &log.events {
        if let Some(why) = event.node_id.and_then(|id| receipts.observe(id, event)) {
            violations.push(format!("16: {why}: run {} at {}", log.id, event.seq));
        }
    }
    for request in finished.bill.iter().filter(|request| request.run == log.id) {
        let shown: BTreeSet<String> = request.shown.iter().cloned().collect();
        let due = match request.role {
            Role::TreeAggregator => receipts.awaited.get(&request.effect).cloned().unwrap_or_default(),
            _ => BTreeSet::new(),
        };
        if shown != due {
            violations.push(format!(
                "16: {} of run {} was shown {} artifacts, with receipts for {}",
                request.effect,
                log.id,
                shown.len(),
                due.len()
            ));
        }
    }
    documents_exist(finished, log, violations).await;
}

impl Receipts {
    fn observe(&mut self, id: NodeId, event: &Event) -> Option<String> {
        match &event.fact {
            Fact::Tree(T::NodeCreated(fact)) => {
                self.parent.extend(event.parent_node_id.map(|parent| (id, parent)));
                self.replaced.extend(fact.retry_of);
            }
            Fact::Tree(T::ParentHint(fact)) => {
                self.hinted.insert(id, fact.artifact_ids.iter().copied().collect());
            }
            Fact::Tree(T::NodeReopened(_) | T::ReplanRequested(_)) => {
                self.read.remove(&id);
                self.hinted.remove(&id);
            }
            Fact::Tree(T::ArtifactRead(fact)) => {
                self.read.entry(id).or_default().insert(fact.artifact_id);
                let children = self
                    .hinted
                    .iter()
                    .filter(|(child, _)| self.parent.get(child) == Some(&id) && !self.replaced.contains(child));
                let mut hints = children.map(|(_, hinted)| hinted);
                if !hints.any(|hinted| hinted.contains(&fact.artifact_id)) {
                    return Some(format!("node {id} read {}, which no child of its pointed at", fact.artifact_id));
                }
            }
            Fact::Effect(E::Started(fact)) if fact.what == Role::TreeAggregator.name() => {
                let read = self.read.get(&id).into_iter().flatten().map(ToString::to_string).collect();
                self.awaited.insert(fact.effect.0.clone(), read);
            }
            _ => {}
        }
        None
    }
}

async fn documents_exist(finished: &FinishedWorld, log: &RunLog, violations: &mut Vec<String>) {
    let Some(Fact::Run(R::Queued(brief))) = log.events.first().map(|event| &event.fact) else { return };
    let mut allowed: BTreeSet<ProjectId> = brief.project_ids.iter().copied().collect();
    allowed.insert(brief.workspace_project_id);
    let anywhere = brief.scope == ScopeKind::Global;
    let mut named: BTreeSet<DocumentId> = BTreeSet::new();
    for event in &log.events {
        match &event.fact {
            Fact::Tree(T::NodeResult(fact)) => named.extend(&fact.result.document_ids),
            Fact::Tree(T::ParentHint(fact)) => named.extend(&fact.document_ids),
            _ => {}
        }
    }
    for id in named {
        let document = finished.store.document(&Scope::Platform, id).await.ok().flatten();
        let fits = document.is_some_and(|document| {
            allowed.contains(&document.project_id)
                || (anywhere && document.project_id != finished.fixtures.foreign_project)
        });
        if !fits {
            violations.push(format!("16: run {} hands on the document {id}, which is not its own", log.id));
        }
    }
}
