//! Subagents in memory.

use super::{Memory, page};
use crate::agents::{AgentRecord, Agents, Lesson, PadVersion};
use crate::ports::{Library, Slice, StoreError};
use async_trait::async_trait;
use engine::ids::{ActorId, LessonId};
use engine::lessons::LessonStatus;

#[async_trait]
impl Agents for Memory {
    async fn create_agent(&self, agent: AgentRecord) -> Result<(), StoreError> {
        self.create_actor(agent.actor()).await?;
        self.state().agents.entry(agent.id).or_insert(agent);
        Ok(())
    }

    async fn agents(&self, owner: ActorId, slice: Slice<ActorId>) -> Result<Vec<AgentRecord>, StoreError> {
        let state = self.state();
        let theirs = state.agents.values().filter(|agent| agent.owner == owner);
        let behind = theirs.filter(|agent| slice.after.is_none_or(|after| agent.id > after));
        Ok(behind.take(page(slice.limit)).cloned().collect())
    }

    async fn agent(&self, name: &str) -> Result<Option<AgentRecord>, StoreError> {
        let named = |agent: &&AgentRecord| agent.handle == name || agent.id.to_string() == name;
        Ok(self.state().agents.values().find(named).cloned())
    }

    async fn change_agent(&self, agent: AgentRecord, expected: i64) -> Result<bool, StoreError> {
        let mut state = self.state();
        let Some(known) = state.agents.get_mut(&agent.id).filter(|known| known.version == expected) else {
            return Ok(false);
        };
        let name = agent.name.clone();
        *known = AgentRecord { version: expected + 1, ..agent };
        let id = known.id;
        if let Some(actor) = state.actors.get_mut(&id) {
            actor.name = name;
        }
        Ok(true)
    }

    async fn scratchpad(&self, agent: ActorId) -> Result<Option<PadVersion>, StoreError> {
        Ok(self.state().pads.get(&agent).and_then(|versions| versions.last().cloned()))
    }

    async fn scratchpad_versions(
        &self,
        agent: ActorId,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<PadVersion>, StoreError> {
        let state = self.state();
        let versions = state.pads.get(&agent).into_iter().flatten().rev();
        let wanted = versions.filter(|pad| before.is_none_or(|before| pad.version < before));
        Ok(wanted.take(page(limit)).cloned().collect())
    }

    async fn lessons(
        &self,
        agent: ActorId,
        status: Option<LessonStatus>,
        before: Option<LessonId>,
        limit: usize,
    ) -> Result<Vec<Lesson>, StoreError> {
        let state = self.state();
        let theirs = state.workspace.lessons.values().rev().filter(|lesson| lesson.agent_id == agent);
        let wanted = theirs
            .filter(|lesson| status.is_none_or(|status| status == lesson.status))
            .filter(|lesson| before.is_none_or(|before| lesson.id < before));
        Ok(wanted.take(page(limit)).cloned().collect())
    }

    async fn lesson(&self, agent: ActorId, lesson: LessonId) -> Result<Option<Lesson>, StoreError> {
        Ok(self.state().workspace.lessons.get(&lesson).filter(|lesson| lesson.agent_id == agent).cloned())
    }

    async fn pending_lessons(&self, agent: ActorId) -> Result<u64, StoreError> {
        let state = self.state();
        let theirs = state.workspace.lessons.values().filter(|lesson| lesson.agent_id == agent);
        Ok(theirs.filter(|lesson| lesson.status == LessonStatus::Pending).count() as u64)
    }
}
