//! `pleach agents lessons`: what a subagent learned in runs, and what becomes of it.

use super::{Session, closing, encoded, print};
use crate::api::{LessonAction, LessonDecision, Page};
use crate::failure::Failure;
use crate::render::style::line;
use engine::ids::LessonId;
use engine::lessons::LessonStatus;
use store::Lesson;

pub async fn list(session: &Session, handle: &str) -> Result<(), Failure> {
    let Some(reader) = session.reader().await? else { return Ok(()) };
    let path = format!("/api/agents/{}/lessons?limit=200", encoded(handle));
    let page: Page<Lesson> = reader.client.get(&path).await?;
    reader.close().await;
    for lesson in &page.items {
        match session.json {
            true => session.print_json(lesson),
            false => print(&format!(
                "{}  {:<9}  {}  {}",
                lesson.id,
                lesson.status.name(),
                origin(lesson),
                line(&lesson.text)
            )),
        }
    }
    let waits = page.items.iter().any(|lesson| lesson.status == LessonStatus::Pending);
    if waits && !session.json {
        print(&format!(
            "`pleach agents lessons {handle} --promote ID` adds one to the scratchpad, `--dismiss ID` lays it aside"
        ));
    }
    Ok(())
}

pub async fn settle(session: &Session, handle: &str, lesson: LessonId, action: LessonAction) -> Result<(), Failure> {
    let attached = session.writer().await?;
    let path = format!("/api/agents/{}/lessons/{lesson}", encoded(handle));
    let settled = attached.client.post::<Lesson>(&path, &LessonDecision { action }).await;
    let lesson = closing(attached, settled).await?;
    match (session.json, lesson.version) {
        (true, _) => session.print_json(&lesson),
        (false, Some(version)) => {
            print(&format!("{}: part of the scratchpad since version {version}", lesson.status.name()))
        }
        (false, None) => print(lesson.status.name()),
    }
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
