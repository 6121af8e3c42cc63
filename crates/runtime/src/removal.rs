//! Removing things for good, which only people do: runs never remove what they or others made.

use crate::ports::StoreError;
use async_trait::async_trait;
use engine::ids::{DocumentId, ProjectId, RunId, TaskId};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    Done,
    /// There was nothing to remove.
    Gone,
    /// Something still needs it; nothing was removed.
    Needed,
}

#[async_trait]
pub trait Removal: Send + Sync + 'static {
    /// With its log, its projections and its own documents; needed until it has ended. What it made for people stays.
    async fn remove_run(&self, run: RunId) -> Result<Removed, StoreError>;
    /// With everything in it; needed while there are runs that work or worked in it.
    async fn remove_project(&self, project: ProjectId) -> Result<Removed, StoreError>;
    /// With its versions, entries and edges.
    async fn remove_document(&self, document: DocumentId) -> Result<Removed, StoreError>;
    /// With its edges.
    async fn remove_task(&self, task: TaskId) -> Result<Removed, StoreError>;
}
