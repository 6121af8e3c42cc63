//! `pleach agents lessons`: what a subagent learned in runs, and whether it enters its scratchpad.

use super::{Session, encoded, print};
use crate::api::{LessonAction, LessonDecision, Page};
use crate::failure::Failure;
use crate::render::style::line;
use engine::ids::LessonId;
use engine::lessons::LessonStatus;
use store::Lesson;

pub(crate) async fn list(session: &Session, handle: &str) -> Result<(), Failure> {
    let path = format!("/api/agents/{}/lessons?limit=200", encoded(handle));
    let Some(page) = session.get::<Page<Lesson>>(&path).await? else { return Ok(()) };
    for lesson in &page.items {
        let Lesson { id, status, text, .. } = lesson;
        session.print_value(lesson, &format!("{id}  {:<9}  {}  {}", status.name(), origin(lesson), line(text)));
    }
    let pending = page.items.iter().any(|lesson| lesson.status == LessonStatus::Pending);
    if pending && !session.json {
        print(&format!(
            "`pleach agents lessons {handle} --promote ID` adds a lesson to the scratchpad, `--dismiss ID` dismisses it"
        ));
    }
    Ok(())
}

pub(crate) async fn decide(
    session: &Session,
    handle: &str,
    lesson: LessonId,
    action: LessonAction,
) -> Result<(), Failure> {
    let path = format!("/api/agents/{}/lessons/{lesson}", encoded(handle));
    let lesson: Lesson = session.post(&path, &LessonDecision { action }).await?;
    let status = lesson.status.name();
    let text = match lesson.version {
        Some(version) => format!("{status}: part of the scratchpad since version {version}"),
        None => status.to_owned(),
    };
    session.print_value(&lesson, &text);
    Ok(())
}

fn origin(lesson: &Lesson) -> String {
    let run = lesson.run_id.map(|run| format!("run {run}")).unwrap_or_default();
    match (lesson.iteration, lesson.node_id) {
        (Some(iteration), _) => format!("{run} iteration {iteration}"),
        (None, Some(node)) => format!("{run} node {node}"),
        (None, None) => run,
    }
}
