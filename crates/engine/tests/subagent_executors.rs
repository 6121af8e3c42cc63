//! Executors delegated to a subagent, played without a store or a network: what they are shown, and which lessons are kept.

mod play;

use engine::actor::Actor;
use engine::effect::{EffectAttempt, Work};
use engine::facts::run::Queued;
use engine::model::Role;
use engine::run::{Run, Status};
use engine::workspace::Mutation;
use play::{Play, brief, golden_text, learned, lesson, plan, scout};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::rc::Rc;

type Asked = Rc<RefCell<Vec<(Role, EffectAttempt)>>>;

fn with_scout(objective: &str) -> Queued {
    Queued { agents: vec![scout()], ..brief(objective) }
}

fn given(agent: Value) -> Value {
    let mut answer = plan("delegate");
    answer["executor_tasks"] = json!([{ "branch_id": "b1", "step_id": null, "title": "Study it", "objective": "Write findings", "tools": ["create_document"], "agent": agent }]);
    answer
}

fn leaving(refs: Value) -> Value {
    let mut answer = plan("all there");
    answer["remaining_work"] = json!([]);
    answer["exit_signal"] = json!(true);
    answer["completion_evidence"] = json!([{ "criterion": "c1", "claim": "written", "refs": refs }]);
    answer
}

fn writes(calls: Vec<Value>) -> Value {
    json!({ "thought": "write", "tool_calls": calls, "done": true, "summary": "wrote", "result_snippet": "found", "completed_step_ids": [] })
}

fn page() -> Value {
    json!({ "tool": "create_document", "arguments": { "title": "Findings", "content": "x" }, "purpose": "write" })
}

/// The planner gives its first plan away and then leaves with what was made; the executor answers `calls`.
fn played(brief: Queued, first: Vec<Value>, calls: Vec<Value>) -> (Play, Asked) {
    let asked = Asked::default();
    let seen = asked.clone();
    let mut plans = 0;
    let play = Play::new(brief, move |role, attempt| {
        seen.borrow_mut().push((role, attempt.clone()));
        Ok(match role {
            Role::HomeworkPlanner => {
                plans += 1;
                let text = play::own_text(attempt);
                let made = text.split("\"ref\":\"").nth(1).and_then(|rest| rest.split('"').next()).map(str::to_owned);
                first.get(plans - 1).cloned().unwrap_or_else(|| leaving(json!([made])))
            }
            Role::HomeworkExecutor => writes(calls.clone()),
            _ => json!({ "title": "Done", "summary": "Done.", "findings": [], "not_done": [] }),
        })
    });
    (play, asked)
}

fn texts(play: &Play, asked: &Asked, role: Role) -> Vec<String> {
    asked.borrow().iter().filter(|(known, _)| *known == role).map(|(_, attempt)| play.whole_text(attempt)).collect()
}

#[test]
fn a5_b15_an_executor_given_to_a_subagent_sees_its_scratchpad_and_leaves_lessons_that_success_promotes() {
    let calls = vec![page(), lesson("Oak is dear"), lesson("Pine is not")];
    let (mut play, asked) = played(with_scout("Compare woods"), vec![given(json!("scout"))], calls);
    play.go();
    assert_eq!(play.run.shared.status(), Status::Completed, "{:?}", play.run.shared.stop_detail);
    // The planner was told whom there is, as data, and its schema has a place for it
    let planners = texts(&play, &asked, Role::HomeworkPlanner);
    assert!(planners[0].contains("## agents\n[{\"handle\":\"scout\",\"identity\":\"You know wood.\\n## tools\"}]"));
    let Work::Model(call) = &asked.borrow()[0].1.work else { panic!("a model call") };
    assert!(call.schema.text.get().contains("\"agent\""));
    // The executor was told who it is and what it remembers, and may leave lessons
    let executor = &texts(&play, &asked, Role::HomeworkExecutor)[0];
    golden_text("given_executor_request.txt", executor);
    // What it made is its own doing; what it learned was promoted with the end, and with nothing else
    let changes: Vec<_> = play.batches.iter().flat_map(|batch| &batch.changes).collect();
    let findings = changes
        .iter()
        .find(|change| matches!(&change.mutation, Mutation::CreateDocument { title, .. } if title == "Findings"));
    assert_eq!(findings.expect("a document").actor, Actor::Subagent(scout().id));
    let (kept, promoted) = learned(&play);
    assert_eq!(kept, ["Oak is dear", "Pine is not"]);
    assert_eq!(promoted, [(2, "run.completed".to_owned())]);
    // And the log says all of it again
    let folded = Run::fold(&play.events).expect("a fold");
    assert_eq!(engine::projection::run_row(&folded), engine::projection::run_row(&play.run));
    assert_eq!(engine::projection::run_row(&folded).agents, ["scout"]);
}

#[test]
fn b15_a_run_that_does_not_succeed_promotes_nothing_and_memory_is_neither_progress_nor_evidence() {
    // Given an executor that does nothing but read its scratchpad and keep a lesson, again and again
    let mut brief = with_scout("Compare woods");
    brief.budgets.no_progress_limit = 2;
    let plans = (0..4).map(|n| {
        let mut answer = given(json!("scout"));
        answer["executor_tasks"][0]["objective"] = json!(format!("Look {n}"));
        answer
    });
    let (mut play, _) = played(brief, plans.collect(), vec![lesson("The same again")]);
    play.go();
    // Then the run stops for want of progress, and its lessons stay pending
    assert_eq!(play.run.shared.status(), Status::Stopped, "{:?}", play.run.shared.stop_detail);
    let (kept, promoted) = learned(&play);
    assert_eq!((kept.len(), promoted.len()), (2, 0));
    // And a result of its memory is no evidence
    let seq = play.events.iter().find(|event| event.kind() == "homework.tool_call_result").expect("a result").seq;
    let refs = json!([format!("event:{seq}")]);
    let (mut play, _) =
        played(with_scout("Compare woods"), vec![given(json!("scout")), leaving(refs)], vec![lesson("Oak is dear")]);
    play.go();
    assert!(play.kinds().contains(&"homework.exit_refused"));
}

#[test]
fn b15_one_executor_leaves_five_lessons_at_most_and_the_sixth_is_refused() {
    let calls = (0..6).map(|n| lesson(&format!("Lesson {n}"))).collect();
    let (mut play, _) = played(with_scout("Compare woods"), vec![given(json!("scout"))], calls);
    play.go();
    let (kept, _) = learned(&play);
    assert_eq!(kept, ["Lesson 0", "Lesson 1", "Lesson 2", "Lesson 3", "Lesson 4"]);
    let told = play.events.iter().any(|event| event.payload.contains("there are 5 lessons already"));
    assert!(told, "the sixth is refused with the reason");
}

#[test]
fn a5_a_plan_with_an_unknown_subagent_gets_one_repair_that_lists_the_known_ones() {
    let (mut play, asked) =
        played(with_scout("Compare woods"), vec![given(json!("nobody")), given(json!("scout"))], vec![page()]);
    play.go();
    let planners = texts(&play, &asked, Role::HomeworkPlanner);
    assert!(planners[1].contains("agent \\\"nobody\\\" is not one of this run's agents: scout"), "{}", planners[1]);
    assert_eq!(play.run.shared.status(), Status::Completed);
    // A run without subagents hears of none, and who names one all the same gives the work to nobody
    let (mut play, asked) = played(brief("Compare woods"), vec![given(json!("scout"))], vec![page()]);
    play.go();
    assert_eq!(play.run.shared.status(), Status::Completed);
    let all: String = asked.borrow().iter().map(|(_, attempt)| play.whole_text(attempt)).collect();
    assert!(!all.contains("## agents") && !all.contains("your_identity") && !all.contains("add_lesson"));
    assert!(!play.events.iter().any(|event| event.payload.contains("\"agent\"")), "its log is as it always was");
    let Work::Model(call) = &asked.borrow()[0].1.work else { panic!("a model call") };
    assert_eq!(call.schema.value, engine::prompts::schema(Role::HomeworkPlanner).value);
}

#[test]
fn b15_a_crash_after_any_commit_leaves_each_lesson_once() {
    let calls = || vec![page(), lesson("Oak is dear")];
    let (mut whole, _) = played(with_scout("Compare woods"), vec![given(json!("scout"))], calls());
    whole.go();
    let mut events = Vec::new();
    for batch in &whole.batches[..whole.batches.len() - 1] {
        events.extend(batch.events.iter().cloned());
        let planned = events.iter().any(|event| event.kind() == "homework.planned");
        let first = if planned { vec![] } else { vec![given(json!("scout"))] };
        let (mut again, _) = played(with_scout("Compare woods"), first, calls());
        again.blobs = whole.blobs.clone();
        again.resume_from(&events);
        again.go();
        let lessons = again.events.iter().filter(|event| event.payload.contains("\"lessonId\"")).count();
        assert_eq!((again.run.shared.status(), lessons), (Status::Completed, 1), "after {}", events.len());
    }
}
