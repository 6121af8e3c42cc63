//! 16: a parent is shown exactly what it has receipts for, unless its request says that not all had room, and every document an envelope names exists where the run may
//! write. What was shown is read from the provider's bill.

use super::super::RunLog;
use engine::facts::{EffectFact as E, Fact, TreeFact as T};
use engine::ids::{ArtifactId, DocumentId, NodeId};
use engine::model::Role;
use engine::run::ScopeKind;
use engine::workspace::Scope;
use runtime::ports::Library;
use std::collections::{BTreeMap, BTreeSet};

pub async fn check(log: &RunLog<'_>) {
    let receipts = receipts(log);
    for request in &log.bill {
        let shown: BTreeSet<String> = request.shown.iter().cloned().collect();
        let due = receipts.get(request.effect.as_str()).cloned().unwrap_or_default();
        if shown != due && !(request.shows_some && shown.is_subset(&due)) {
            let (shown, due) = (shown.len(), due.len());
            log.violation(format_args!("16: {request} was shown {shown} artifacts, with receipts for {due}"));
        }
    }
    documents_exist(log).await;
}

/// What each aggregator's request must show: the artifacts its node read in this generation.
fn receipts<'a>(log: &'a RunLog<'_>) -> BTreeMap<&'a str, BTreeSet<String>> {
    let mut read: BTreeMap<NodeId, BTreeSet<ArtifactId>> = BTreeMap::new();
    let mut receipts = BTreeMap::new();
    for event in &log.events {
        let Some(id) = event.node_id else { continue };
        match &event.fact {
            Fact::Tree(T::NodeReopened(_) | T::ReplanRequested(_)) => drop(read.remove(&id)),
            Fact::Tree(T::ArtifactRead(fact)) => drop(read.entry(id).or_default().insert(fact.artifact_id)),
            Fact::Effect(E::Started(fact)) if fact.what == Role::TreeAggregator.name() => {
                let read = read.get(&id).into_iter().flatten().map(ToString::to_string).collect();
                receipts.insert(fact.effect.0.as_str(), read);
            }
            _ => {}
        }
    }
    receipts
}

async fn documents_exist(log: &RunLog<'_>) {
    let Some(brief) = log.brief() else { return };
    let mut named: BTreeSet<DocumentId> = BTreeSet::new();
    for event in &log.events {
        match &event.fact {
            Fact::Tree(T::NodeResult(fact)) => named.extend(&fact.result.document_ids),
            Fact::Tree(T::ParentHint(fact)) => named.extend(&fact.document_ids),
            _ => {}
        }
    }
    for id in named {
        let document = log.world.store.document(&Scope::Platform, id).await.ok().flatten();
        let fits = document.is_some_and(|document| {
            let project = document.project_id;
            project == brief.workspace_project_id
                || brief.project_ids.contains(&project)
                || (brief.scope == ScopeKind::Global && project != log.world.fixtures.foreign_project)
        });
        if !fits {
            log.violation(format_args!("16: names the document {id}, which is missing or outside the run's projects"));
        }
    }
}
