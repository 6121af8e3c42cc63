//! Lessons: stored as pending with their origin, promoted or dismissed once, and never lost to a concurrent change of
//! the scratchpad.

use crate::agents::{agent, write};
use crate::played::{dumps, played, replied, sql};
use crate::world::{World, brief, document, fresh, run_id};
use engine::actor::Actor;
use engine::effect::{EffectAttempt, Outcome, ToolOutcome, ToolOutput, Work};
use engine::facts::run::{Agent, Queued};
use engine::ids::{ActorId, LessonId};
use engine::lessons::LessonStatus;
use engine::model::Role;
use engine::run::{Kind, Run, Status};
use engine::workspace::Mutation;
use runtime::agents::AgentRecord;
use runtime::ports::{AppendError, Library};
use serde_json::{Value, json};
use store::Lesson;

crate::promises!(on [sqlite = Sqlite, inline = Inline, postgres = Postgres]: [
    b15_a_lesson_is_pending_with_where_it_comes_from_and_settled_once,
    b15_a_verified_success_promotes_in_the_commit_that_ends_the_run,
    b15_what_a_stopped_run_learned_stays_pending,
    b15_what_does_not_fit_stays_pending,
    b15_a_promotion_loses_no_concurrent_change,
]);

mod sql_only {
    crate::promises!(on [sqlite = Sqlite, inline = Inline, postgres = Postgres]: [rebuilding_leaves_lessons_as_they_are]);
    use super::rebuilding_leaves_lessons_as_they_are;
}

fn add(agent: ActorId, text: &str) -> (LessonId, Mutation) {
    let id = fresh();
    let lesson = Mutation::AddLesson { id, agent, text: text.into(), iteration: None, branch_id: None, node_id: None };
    (id, lesson)
}

async fn added(world: &World, agent: &AgentRecord, text: &str) -> LessonId {
    let (id, lesson) = add(agent.id, text);
    world.change(lesson).await.unwrap();
    id
}

async fn promote(world: &World, agent: &AgentRecord, lesson: LessonId) -> Result<(), AppendError> {
    world.change(Mutation::PromoteLessons { agent: agent.id, lessons: vec![lesson] }).await
}

async fn lesson(world: &World, agent: &AgentRecord, id: LessonId) -> Lesson {
    world.store.lesson(agent.id, id).await.unwrap().expect("a lesson")
}

async fn pad(world: &World, agent: &AgentRecord) -> (i64, String) {
    world.store.scratchpad(agent.id).await.unwrap().map_or((0, String::new()), |pad| (pad.version, pad.content))
}

/// A homework run whose one executor is the agent. The agent adds a lesson, and the run ends with or without evidence.
async fn learns(world: &World, scout: &AgentRecord, text: &str, succeeds: bool) -> Run {
    let helper =
        Agent { id: scout.id, handle: scout.handle.clone(), identity: scout.identity.clone(), max_steps: None };
    let mut brief = Queued { kind: Kind::Homework, agents: vec![helper], ..brief(world.me, &[]) };
    brief.budgets.no_progress_limit = 1;
    let (mut plans, agent, text) = (0, scout.id, text.to_owned());
    played(world, brief, move |job| match &job.work {
        Work::Check(work) => panic!("no criteria are checked here: {work:?}"),
        Work::Tool(call) => Outcome::Tool(tool(job, call.agent.expect("the agent's"), agent, &text)),
        Work::Model(call) => replied(match call.role {
            Role::HomeworkPlanner => {
                plans += 1;
                planned(plans, succeeds)
            }
            Role::HomeworkExecutor => json!({"thought": "", "done": true, "summary": "done", "tool_calls": [
                {"tool": "add_lesson", "arguments": {"text": text}, "purpose": ""},
                {"tool": "create_document", "arguments": {}, "purpose": ""}]}),
            _ => json!({"title": "T", "summary": "S", "findings": [], "not_done": []}),
        }),
    })
    .await
}

fn planned(plans: u32, succeeds: bool) -> Value {
    let gives = json!([{"branch_id": "b", "step_id": null, "title": "Study", "objective": "Look", "tools": [], "agent": "scout"}]);
    let leaves = plans > 1 && succeeds;
    json!({
        "progress_summary": "s", "plan": {"steps": []}, "tool_calls": [], "executor_tasks": if plans == 1 { gives } else { json!([]) },
        "remaining_work": if leaves { json!([]) } else { json!(["more"]) },
        "completion_evidence": if leaves { json!([{"criterion": null, "claim": "written", "refs": []}]) } else { json!([]) },
        "exit_signal": leaves, "needs_user_input": false, "blocking_questions": [], "next_action_hint": "execute",
        "confidence": "high", "branch_rollup": null,
    })
}

fn tool(job: &EffectAttempt, by: ActorId, agent: ActorId, text: &str) -> ToolOutcome {
    assert_eq!(by, agent);
    let Work::Tool(call) = &job.work else { panic!("a tool") };
    let output = |content: Value| ToolOutput { content, summary: "seen".into(), read: true };
    match call.tool.as_str() {
        "read_scratchpad" => {
            ToolOutcome { result: Ok(output(json!({"version": 0, "content": ""}))), mutations: vec![] }
        }
        "add_lesson" => {
            let (id, _) = add(agent, text);
            let lesson = Mutation::AddLesson {
                id,
                agent,
                text: text.into(),
                iteration: call.props["iteration"].as_u64().map(|iteration| iteration as u32),
                branch_id: call.props["branch_id"].as_str().map(str::to_owned),
                node_id: None,
            };
            ToolOutcome { result: Ok(ToolOutput { read: false, ..output(json!({})) }), mutations: vec![lesson] }
        }
        _ => {
            let (_, page) = document(job.run.home_project, "Findings", "x");
            ToolOutcome { result: Ok(ToolOutput { read: false, ..output(json!({})) }), mutations: vec![page] }
        }
    }
}

async fn b15_a_lesson_is_pending_with_where_it_comes_from_and_settled_once(world: World) {
    let (scout, other) = (agent(&world, "scout").await, agent(&world, "other").await);
    let (first, second) = (added(&world, &scout, "Oak is dear").await, added(&world, &scout, "Pine is not").await);
    let found = world.store.lessons(scout.id, None, None, 10).await.unwrap();
    assert_eq!(found.iter().map(|lesson| lesson.id).collect::<Vec<_>>(), [second, first]);
    assert_eq!((found[1].status, found[1].text.as_str()), (LessonStatus::Pending, "Oak is dear"));
    assert_eq!(world.store.lessons(scout.id, None, Some(second), 10).await.unwrap().len(), 1);
    assert_eq!(world.store.pending_lessons(scout.id).await.unwrap(), 2);
    // For another agent the lesson does not exist, and cannot be promoted
    assert_eq!(world.store.lesson(other.id, first).await.unwrap(), None);
    world.change(Mutation::PromoteLessons { agent: other.id, lessons: vec![first] }).await.unwrap();
    assert_eq!((pad(&world, &other).await.0, lesson(&world, &scout, first).await.status), (0, LessonStatus::Pending));
    // A promoted lesson is part of a version, and promoting it again does nothing
    world.change(write(scout.id, "# Notes", 0)).await.unwrap();
    promote(&world, &scout, first).await.unwrap();
    promote(&world, &scout, first).await.unwrap();
    world.change(Mutation::DismissLesson { id: first }).await.unwrap();
    assert_eq!(pad(&world, &scout).await, (2, "# Notes\n\n## Lessons\n\n- Oak is dear\n".to_owned()));
    let kept = lesson(&world, &scout, first).await;
    assert_eq!((kept.status, kept.version, kept.settled_by), (LessonStatus::Promoted, Some(2), Some(world.actor())));
    // A dismissed lesson cannot be promoted any more
    world.change(Mutation::DismissLesson { id: second }).await.unwrap();
    promote(&world, &scout, second).await.unwrap();
    let kept = lesson(&world, &scout, second).await;
    assert_eq!((kept.status, kept.version, pad(&world, &scout).await.0), (LessonStatus::Dismissed, None, 2));
    let pending = world.store.lessons(scout.id, Some(LessonStatus::Pending), None, 10).await.unwrap();
    assert!(pending.is_empty() && world.store.pending_lessons(scout.id).await.unwrap() == 0);
    // Adding a lesson with a used id conflicts
    let (agent, text) = (scout.id, "x".to_owned());
    let again = Mutation::AddLesson { id: first, agent, text, iteration: None, branch_id: None, node_id: None };
    assert_eq!(world.change(again).await, Err(AppendError::Conflict(first.0)));
}

async fn b15_a_verified_success_promotes_in_the_commit_that_ends_the_run(world: World) {
    let scout = agent(&world, "scout").await;
    world.change(write(scout.id, "# Notes", 0)).await.unwrap();
    let run = learns(&world, &scout, "Oak is dear", true).await;
    assert_eq!(run.shared.status(), Status::Completed, "{:?}", run.shared.stop_detail);
    let found = world.store.lessons(scout.id, None, None, 10).await.unwrap();
    let [kept] = found.as_slice() else { panic!("one lesson, not {found:?}") };
    assert_eq!((kept.run_id, kept.iteration, kept.branch_id.as_deref()), (Some(run_id(&run)), Some(1), Some("b")));
    assert_eq!((kept.status, kept.version, kept.settled_by), (LessonStatus::Promoted, Some(2), Some(Actor::Platform)));
    let newest = world.store.scratchpad(scout.id).await.unwrap().expect("a version");
    assert_eq!((newest.run_id, newest.seq), (Some(run_id(&run)), Some(run.shared.last_seq)));
    assert_eq!(newest.content, format!("# Notes\n\n## Lessons\n\n- Oak is dear (run {})\n", run_id(&run)));
    let row = world.store.run(&world.mine(), run_id(&run)).await.unwrap().expect("a row");
    assert_eq!(row.agents, ["scout"]);
}

async fn b15_what_a_stopped_run_learned_stays_pending(world: World) {
    let scout = agent(&world, "scout").await;
    let run = learns(&world, &scout, "Oak is dear", false).await;
    assert_eq!(run.shared.status(), Status::Stopped);
    let found = world.store.lessons(scout.id, None, None, 10).await.unwrap();
    assert_eq!((found.len(), found[0].status, pad(&world, &scout).await.0), (1, LessonStatus::Pending, 0));
    // And the owner of the agent promotes it
    promote(&world, &scout, found[0].id).await.unwrap();
    assert!(pad(&world, &scout).await.1.contains("- Oak is dear (run "));
}

async fn b15_what_does_not_fit_stays_pending(world: World) {
    let scout = agent(&world, "scout").await;
    world.change(write(scout.id, &"ä".repeat(9_800), 0)).await.unwrap();
    let (long, short) = (added(&world, &scout, &"x".repeat(900)).await, added(&world, &scout, "short").await);
    world.change(Mutation::PromoteLessons { agent: scout.id, lessons: vec![long, short] }).await.unwrap();
    assert_eq!(lesson(&world, &scout, long).await.status, LessonStatus::Pending);
    assert_eq!(lesson(&world, &scout, short).await.status, LessonStatus::Promoted);
    let newest = world.store.scratchpad(scout.id).await.unwrap().expect("a version");
    assert!(newest.version == 2 && newest.characters <= 10_000, "{}", newest.characters);
}

async fn b15_a_promotion_loses_no_concurrent_change(world: World) {
    let scout = agent(&world, "scout").await;
    let mut lessons = Vec::new();
    for n in 0..4 {
        lessons.push(added(&world, &scout, &format!("Lesson {n}")).await);
    }
    // When four lessons are promoted at the same time, each of them twice
    let promoting = lessons.iter().chain(&lessons).map(|id| {
        let (world, scout, id) = (world.clone(), scout.clone(), *id);
        tokio::spawn(async move {
            for _ in 0..20 {
                if promote(&world, &scout, id).await.is_ok() {
                    return;
                }
            }
            panic!("it was never its turn");
        })
    });
    for done in promoting.collect::<Vec<_>>() {
        done.await.unwrap();
    }
    // Then the scratchpad has each once, and every version contains the one before it
    let (version, content) = pad(&world, &scout).await;
    assert_eq!(version, 4);
    for n in 0..4 {
        assert_eq!(content.matches(&format!("- Lesson {n}\n")).count(), 1, "{content}");
    }
}

async fn rebuilding_leaves_lessons_as_they_are(world: World) {
    const TABLES: [&str; 4] = ["homework_runs", "agent_lessons", "agent_scratchpads", "homework_run_iterations"];
    let scout = agent(&world, "scout").await;
    learns(&world, &scout, "Oak is dear", true).await;
    learns(&world, &scout, "Pine is not", false).await;
    let before = dumps(&world, &TABLES).await;
    sql(&world).rebuild().await.unwrap();
    assert_eq!(dumps(&world, &TABLES).await, before);
    assert!(before.iter().all(|rows| !rows.is_empty()));
}
