//! What each mutation of lessons does. A lesson is added once, and promoted or dismissed once. A scratchpad never grows
//! beyond its limit.

use super::{Conflict, Revision, Stamp, Workspace};
use crate::lessons::Lesson;
use engine::ids::{ActorId, LessonId};
use engine::lessons::{self, LessonStatus};
use engine::workspace::Mutation;
use runtime::agents::PadVersion;

impl Workspace {
    pub(super) fn apply_to_lessons(
        &mut self,
        mutation: &Mutation,
        stamp: &Stamp,
    ) -> Result<Option<Revision>, Conflict> {
        match mutation {
            Mutation::AddLesson { id, agent, text, iteration, branch_id, node_id } => {
                let lesson = Lesson {
                    id: *id,
                    agent_id: *agent,
                    text: text.clone(),
                    status: LessonStatus::Pending,
                    run_id: stamp.origin.run_id,
                    seq: stamp.origin.seq,
                    iteration: *iteration,
                    branch_id: branch_id.clone(),
                    node_id: *node_id,
                    at: stamp.at,
                    settled_by: None,
                    settled_at: None,
                    version: None,
                };
                self.add_lesson(lesson)
            }
            Mutation::PromoteLessons { agent, lessons } => Ok(self.promote(*agent, lessons, stamp)),
            Mutation::DismissLesson { id } => {
                let lesson = self.lessons.get_mut(id).ok_or(Conflict(id.0))?;
                Ok((lesson.status == LessonStatus::Pending).then(|| {
                    settle(lesson, LessonStatus::Dismissed, None, stamp);
                    Revision::LessonDismissed(lesson.clone())
                }))
            }
            _ => Ok(None),
        }
    }

    /// `None` when the same event added it before.
    fn add_lesson(&mut self, lesson: Lesson) -> Result<Option<Revision>, Conflict> {
        match self.lessons.get(&lesson.id) {
            Some(known) if lesson.run_id.is_some() && (known.run_id, known.seq) == (lesson.run_id, lesson.seq) => {
                Ok(None)
            }
            Some(known) => Err(Conflict(known.id.0)),
            None => {
                self.lessons.insert(lesson.id, lesson.clone());
                Ok(Some(Revision::LessonAdded(lesson)))
            }
        }
    }

    /// Promotes the lessons that are still pending and fit into the scratchpad. A lesson that somebody promoted or
    /// dismissed first is left alone.
    fn promote(&mut self, agent: ActorId, asked: &[LessonId], stamp: &Stamp) -> Option<Revision> {
        let mut content = self.pads.get(&agent).map(|pad| pad.content.clone()).unwrap_or_default();
        let mut promoted = Vec::new();
        for id in asked {
            let pending = |lesson: &&Lesson| lesson.agent_id == agent && lesson.status == LessonStatus::Pending;
            let Some(lesson) = self.lessons.get(id).filter(pending) else { continue };
            if let Some(longer) = lessons::remembered(&content, &lesson.text, lesson.run_id) {
                content = longer;
                promoted.push(*id);
            }
        }
        if promoted.is_empty() {
            return None;
        }
        let pad = self.write_pad(agent, content, None, stamp);
        let mut lessons = Vec::new();
        for id in promoted {
            let Some(lesson) = self.lessons.get_mut(&id) else { continue };
            settle(lesson, LessonStatus::Promoted, Some(pad.version), stamp);
            lessons.push(lesson.clone());
        }
        Some(Revision::LessonsPromoted { agent, pad, lessons })
    }

    pub(super) fn write_pad(
        &mut self,
        agent: ActorId,
        content: String,
        step: Option<u32>,
        stamp: &Stamp,
    ) -> PadVersion {
        let pad = PadVersion {
            version: self.pads.get(&agent).map_or(0, |pad| pad.version) + 1,
            characters: content.chars().count() as u32,
            content,
            actor: stamp.actor,
            run_id: stamp.origin.run_id,
            seq: stamp.origin.seq,
            step,
            at: stamp.at,
        };
        self.pads.insert(agent, pad.clone());
        pad
    }
}

fn settle(lesson: &mut Lesson, status: LessonStatus, version: Option<i64>, stamp: &Stamp) {
    (lesson.status, lesson.version) = (status, version);
    (lesson.settled_by, lesson.settled_at) = (Some(stamp.actor), Some(stamp.at));
}
