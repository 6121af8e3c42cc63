//! Facts being decided, with the ids, texts and workspace changes that are recorded with them.

use super::Shared;
use crate::blob::{Blob, BlobRef};
use crate::facts::Fact;
use crate::ids::{self, ActorId, DocumentId, EdgeId, NodeId, RunId};
use crate::time::Timestamp;
use crate::workspace::{DOCUMENT_HAS_DOCUMENT, Mutation, WORKSPACE_OF_RUN};
use serde_json::{Value, json};

/// The tree node an event belongs to; empty for events of the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeRef {
    pub node: Option<NodeId>,
    pub parent: Option<NodeId>,
}

/// A workspace change, the index of the fact it belongs to, and the subagent that made it.
pub(super) struct DraftedMutation {
    pub fact: usize,
    pub mutation: Mutation,
    pub by: Option<ActorId>,
}

pub struct Facts {
    pub now: Timestamp,
    run_id: RunId,
    next_seq: u64,
    ids_made: u32,
    pub(super) list: Vec<(NodeRef, Fact)>,
    pub(super) blobs: Vec<Blob>,
    pub(super) mutations: Vec<DraftedMutation>,
}

impl Facts {
    pub(super) fn after(shared: &Shared, now: Timestamp) -> Facts {
        Facts {
            now,
            run_id: shared.id,
            next_seq: shared.last_seq + 1,
            ids_made: 0,
            list: Vec::new(),
            blobs: Vec::new(),
            mutations: Vec::new(),
        }
    }

    pub fn push(&mut self, fact: impl Into<Fact>) {
        self.push_at(NodeRef::default(), fact);
    }

    pub fn push_at(&mut self, node_ref: NodeRef, fact: impl Into<Fact>) {
        self.list.push((node_ref, fact.into()));
    }

    pub fn store_text(&mut self, text: impl Into<String>) -> BlobRef {
        let blob = Blob::new(text);
        let reference = blob.reference();
        self.blobs.push(blob);
        reference
    }

    /// A change that commits with the facts; it belongs to the next fact pushed.
    pub fn mutate(&mut self, mutation: Mutation) {
        self.mutate_by(None, mutation);
    }

    /// The same, made by a subagent that works in the run.
    pub fn mutate_by(&mut self, by: Option<ActorId>, mutation: Mutation) {
        self.mutations.push(DraftedMutation { fact: self.list.len(), mutation, by });
    }

    pub fn new_id<T: From<uuid::Uuid>>(&mut self) -> T {
        self.ids_made += 1;
        let place = [self.next_seq.to_le_bytes(), u64::from(self.ids_made).to_le_bytes()].concat();
        ids::derive(self.now, &[self.run_id.0.as_bytes(), &place]).into()
    }

    /// `parent` → `child`, tagged with the run.
    pub(crate) fn link(&mut self, shared: &Shared, parent: DocumentId, child: DocumentId) {
        let id: EdgeId = self.new_id();
        let (project_id, props) = (shared.home_project(), run_props(shared));
        self.mutate(Mutation::Link {
            id,
            project_id,
            src: parent.0,
            dst: child.0,
            rel: DOCUMENT_HAS_DOCUMENT.into(),
            props,
        });
    }

    /// A run that does not work in exactly one project gets a project of its own to write to.
    pub(crate) fn open_home(&mut self, shared: &Shared) {
        let home = shared.home_project();
        if !shared.brief.project_ids.contains(&home) {
            self.mutate(Mutation::CreateProject {
                id: home,
                title: format!("Run: {}", headline(&shared.brief.objective)),
                description: format!("{WORKSPACE_OF_RUN}{}", shared.id),
                props: run_props(shared),
                owner: shared.brief.owner,
            });
        }
    }
}

/// The properties on everything a run creates.
fn run_props(shared: &Shared) -> Value {
    json!({ shared.brief.kind.run_key(): shared.id })
}

/// The first line of an objective, short enough for a title.
pub(crate) fn headline(objective: &str) -> String {
    let line = objective.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    if line.chars().count() <= 80 {
        line.to_owned()
    } else {
        format!("{}…", line.chars().take(79).collect::<String>())
    }
}
