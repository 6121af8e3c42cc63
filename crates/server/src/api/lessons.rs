//! Routes for lessons: what subagents learned in runs, for their owner. A lesson is pending until a person promotes or
//! dismisses it, or the success of its run promotes it.

use super::agents::owned;
use super::prelude::*;
use super::runs::by_name;
use super::version::write;
use engine::ids::LessonId;
use engine::lessons::LessonStatus;
use engine::task::MAX_SCRATCHPAD_CHARS;
use engine::workspace::Mutation;
use store::Lesson;

pub(super) fn routes() -> Vec<Route> {
    const ONE: &str = "/api/agents/{handle}/lessons/{lesson}";
    vec![
        Route::get("/api/agents/{handle}/lessons", Read, "What it learned in runs, newest first", list)
            .query("status", one_of(LessonStatus::ALL.map(LessonStatus::name)))
            .returns_page(id(), schema())
            .personal(),
        Route::post(ONE, Run, "Promote a pending lesson to the scratchpad, or dismiss it", settle)
            .body(form([("action", one_of(["promote", "dismiss"]))], []))
            .returns(200, schema())
            .errors([409])
            .personal(),
    ]
}

fn schema() -> Schema {
    record! { "Lesson":
        id: id(), agent_id: id(), text: text(), status: one_of(LessonStatus::ALL.map(LessonStatus::name)),
        run_id: nullable(id()), seq: nullable(count()), iteration: nullable(count()), branch_id: nullable(text()),
        node_id: nullable(id()), at: time(), settled_by: nullable(records::author()), settled_at: nullable(time()),
        version: nullable(count()),
    }
}

#[derive(Deserialize)]
struct LessonsQuery {
    status: Option<String>,
    cursor: Option<LessonId>,
    limit: Option<usize>,
}

async fn list(
    Context(app, caller): Context,
    Id(name): Id<String>,
    QueryString(query): QueryString<LessonsQuery>,
) -> PageResult<Lesson> {
    let agent = owned(&app, &caller, &name).await?;
    let limit = page_limit(query.limit, 50);
    let status =
        query.status.map(|word| by_name("status", &word, &LessonStatus::ALL, LessonStatus::name)).transpose()?;
    let found = app.store.lessons(agent.id, status, query.cursor, limit + 1).await?;
    Ok(Json(Page::cut(found, limit, |lesson: &Lesson| lesson.id.to_string())))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LessonAction {
    Promote,
    Dismiss,
}

impl LessonAction {
    fn leads_to(self) -> LessonStatus {
        match self {
            LessonAction::Promote => LessonStatus::Promoted,
            LessonAction::Dismiss => LessonStatus::Dismissed,
        }
    }
}

/// The body of `POST /api/agents/{handle}/lessons/{lesson}`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LessonDecision {
    pub action: LessonAction,
}

/// Repeating a decision returns the lesson as it is; a different decision is a conflict.
async fn settle(
    Context(app, caller): Context,
    Path((name, lesson)): Path<(String, String)>,
    JsonBody(LessonDecision { action }): JsonBody<LessonDecision>,
) -> JsonResult<Lesson> {
    let agent = owned(&app, &caller, &name).await?;
    let lesson: LessonId = lesson.parse().map_err(|_| Problem::not_found("lesson"))?;
    let found = || async { app.store.lesson(agent.id, lesson).await?.ok_or_else(|| Problem::not_found("lesson")) };
    if found().await?.status == LessonStatus::Pending {
        let mutation = match action {
            LessonAction::Promote => Mutation::PromoteLessons { agent: agent.id, lessons: vec![lesson] },
            LessonAction::Dismiss => Mutation::DismissLesson { id: lesson },
        };
        write(&app, &caller, vec![mutation]).await?;
    }
    let now = found().await?;
    match now.status {
        status if status == action.leads_to() => Ok(Json(now)),
        LessonStatus::Pending => Err(scratchpad_full()),
        status => Err(Problem::conflict(
            "lesson_settled",
            format!("the lesson was {} already; nothing was changed", status.name()),
        )),
    }
}

fn scratchpad_full() -> Problem {
    Problem::invalid(
        "scratchpad_full",
        format!(
            "the lesson does not fit into the scratchpad, which holds {MAX_SCRATCHPAD_CHARS} characters; it stays pending. Shorten the scratchpad first"
        ),
    )
}
