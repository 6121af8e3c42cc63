//! Removing things in memory.

use super::{Memory, State};
use crate::ports::StoreError;
use crate::removal::{Removal, Removed};
use async_trait::async_trait;
use engine::ids::{DocumentId, ProjectId, RunId, TaskId};
use uuid::Uuid;

impl State {
    fn drop_document(&mut self, id: DocumentId) -> bool {
        self.superseded.remove(&id);
        self.entries.remove(&id);
        self.drop_edges(id.0);
        self.workspace.documents.remove(&id).is_some()
    }

    fn drop_task(&mut self, id: TaskId) -> bool {
        self.drop_edges(id.0);
        self.workspace.tasks.remove(&id).is_some()
    }

    fn drop_edges(&mut self, end: Uuid) {
        self.workspace.edges.retain(|_, kept| kept.entity.src != end && kept.entity.dst != end);
    }

    /// Documents of the platform's that this run keeps and nobody else refers to.
    fn kept_by(&self, run: RunId) -> Vec<DocumentId> {
        let own = |id: &DocumentId| {
            let ours = |kept: &super::Kept<_>| kept.changed.run_id == Some(run);
            let edges = self.workspace.edges.values();
            let mut others = edges.filter(|kept| kept.made.run_id != Some(run));
            self.superseded.get(id).into_iter().flatten().all(ours)
                && !others.any(|kept| kept.entity.src == id.0 || kept.entity.dst == id.0)
        };
        let documents = self.workspace.documents.values();
        let kept = documents.filter(|kept| {
            kept.entity.is_platform() && kept.made.run_id == Some(run) && kept.changed.run_id == Some(run)
        });
        kept.map(|kept| kept.entity.id).filter(own).collect()
    }
}

fn done(found: bool) -> Removed {
    if found { Removed::Done } else { Removed::Gone }
}

#[async_trait]
impl Removal for Memory {
    async fn remove_run(&self, run: RunId) -> Result<Removed, StoreError> {
        let mut state = self.state();
        match state.runs.get(&run).map(|stored| stored.row.status.is_terminal()) {
            None => return Ok(Removed::Gone),
            Some(false) => return Ok(Removed::Needed),
            Some(true) => {}
        }
        state.runs.remove(&run);
        state.notifications.retain(|(of, _), _| *of != run);
        for document in state.kept_by(run) {
            state.drop_document(document);
        }
        Ok(Removed::Done)
    }

    async fn remove_project(&self, project: ProjectId) -> Result<Removed, StoreError> {
        let mut state = self.state();
        let rows = state.runs.values().map(|stored| &stored.row);
        let mut needing = rows.filter(|run| run.workspace_project_id == project || run.project_ids.contains(&project));
        if needing.next().is_some() {
            return Ok(Removed::Needed);
        }
        let documents = state.workspace.documents.values().filter(|kept| kept.entity.project_id == project);
        for id in documents.map(|kept| kept.entity.id).collect::<Vec<_>>() {
            state.drop_document(id);
        }
        let tasks = state.workspace.tasks.values().filter(|kept| kept.entity.project_id == project);
        for id in tasks.map(|kept| kept.entity.id).collect::<Vec<_>>() {
            state.drop_task(id);
        }
        state.workspace.edges.retain(|_, kept| kept.entity.project_id != project);
        state.drop_edges(project.0);
        state.members.retain(|(of, _), _| *of != project);
        state.creators.remove(&project);
        state.forget_invitations(|invited| invited.project == project);
        Ok(done(state.workspace.projects.remove(&project).is_some()))
    }

    async fn remove_document(&self, document: DocumentId) -> Result<Removed, StoreError> {
        Ok(done(self.state().drop_document(document)))
    }

    async fn remove_task(&self, task: TaskId) -> Result<Removed, StoreError> {
        Ok(done(self.state().drop_task(task)))
    }
}
