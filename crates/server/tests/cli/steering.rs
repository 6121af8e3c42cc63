//! A second terminal: answers, steering, pause, cancel.

use crate::home::{Home, of_type, said, user_text};
use crate::planner::{calling, creates_documents, exit, planned_as, planned_by, planner_answer};
use serde_json::json;
use simulation::scripted::{Reply, Request, Script};
use std::time::{Duration, Instant};

/// Asks once, then exits.
fn asking() -> Script {
    planned_as(|request| {
        if request.section("questions").is_some() {
            return exit(request);
        }
        let mut answer = calling("I need to know", [("create_document", json!({ "title": "Draft", "content": "x" }))]);
        answer["needs_user_input"] = json!(true);
        answer["blocking_questions"] = json!(["Which colour should it have?"]);
        answer
    })
}

/// Works slowly and never exits.
fn slow() -> Script {
    planned_by(|request| Reply::json(creates_documents(request)).delay_ms(400))
}

#[test]
fn h5_a_question_is_waited_for_without_burning_budget_and_its_answer_resumes() {
    let home = Home::with(asking());
    let run = home.run("Paint it", &[]).exits(3).run();
    assert_eq!((&run["status"], &run["stop_reason"]), (&json!("waiting_on_user"), &json!("user_input")));
    assert_eq!(run["questions"][0]["text"], "Which colour should it have?");
    assert_eq!(run["questions"][0]["answer"], json!(null));
    let id = run["id"].as_str().expect("an id");
    // Time itself is what must not be counted.
    std::thread::sleep(Duration::from_millis(1_200));
    assert_eq!(home.show(id)["metrics"], run["metrics"], "waiting costs nothing");
    let calls = home.model().ledger().len();
    let run = home.pleach(&["answer", id, "blue", "--json"]).exits(0).run();
    assert_eq!((&run["status"], &run["questions"][0]["answer"]), (&json!("completed"), &json!("blue")));
    assert!(user_text(&home.asked("homework_planner")[1]).contains("blue"));
    assert!(home.model().ledger().len() > calls);
    assert!(run["metrics"]["running_ms"].as_i64().is_some_and(|ms| ms < 60_000));
    let again = home.pleach(&["answer", id, "red"]).exits(2);
    assert!(again.err.contains("no open question") || again.err.contains("answered"), "{}", again.err);
}

#[test]
fn h5_several_questions_must_be_named() {
    let two = |request: &Request| {
        if request.section("questions").is_some() {
            let mut answer = exit(request);
            answer["tool_calls"] = json!([{ "tool": "create_task", "arguments": { "title": "T" }, "purpose": "x" }]);
            return answer;
        }
        let mut answer = planner_answer("two things");
        answer["needs_user_input"] = json!(true);
        answer["blocking_questions"] = json!(["One?", "Two?"]);
        answer
    };
    let home = Home::with(planned_as(two));
    let run = home.run("Ask twice", &[]).exits(3).run();
    let id = run["id"].as_str().expect("an id");
    let unclear = home.pleach(&["answer", id, "yes"]).exits(2);
    assert!(unclear.err.contains("One?") && unclear.err.contains("Two?"), "the list: {}", unclear.err);
    let first = run["questions"][0]["id"].as_str().expect("an id");
    let second = run["questions"][1]["id"].as_str().expect("an id");
    home.pleach(&["answer", id, "1", "--question", first]).exits(3);
    home.pleach(&["answer", id, "2", "--question", second]).exits(0);
}

#[test]
fn h2_a_second_terminal_cancels_and_no_new_call_starts() {
    let home = Home::with(slow());
    let (child, id) = home.start_run("Slowly", &[]);
    home.until("the second call", || (home.model().ledger().len() >= 2).then_some(()));
    let asked_at = Instant::now();
    let run = home.pleach(&["cancel", &id, "--json"]).exits(0).run();
    assert!(asked_at.elapsed() < Duration::from_secs(2), "terminal within two seconds");
    assert_eq!((&run["status"], &run["stop_reason"]), (&json!("canceled"), &json!("canceled")));
    let calls = home.model().ledger().len();
    let driver = said(child.wait_with_output().expect("it ends"));
    assert_eq!(driver.code, 6, "{driver:?}");
    // Its driver has ended, so nobody is left who could call.
    assert_eq!(home.model().ledger().len(), calls, "no call after the cancel");
    assert_eq!(home.show(&id)["report"]["status"], "canceled", "a report at every end");
}

#[test]
fn h2_b8_a_message_reaches_the_next_planner_call_and_its_delivery_is_logged() {
    let home = Home::with(slow());
    let (child, id) = home.start_run("Slowly", &["--max-iterations", "4"]);
    home.until("the first call", || (!home.model().ledger().is_empty()).then_some(()));
    home.pleach(&["say", &id, "prefer short sentences"]).exits(0);
    assert_eq!(said(child.wait_with_output().expect("it ends")).code, 4);
    let shown = home
        .asked("homework_planner")
        .iter()
        .filter(|entry| user_text(entry).contains("prefer short sentences"))
        .count();
    assert!(shown >= 1, "the message is in a request");
    let events = home.events(&id);
    assert_eq!(of_type(&events, "run.message_queued").len(), 1);
    assert_eq!(of_type(&events, "run.message_delivered").len(), 1);
}

#[test]
fn h2_pause_lets_the_call_in_flight_finish_and_resume_goes_on() {
    let home = Home::with(slow());
    let (child, id) = home.start_run("Slowly", &["--max-iterations", "3"]);
    home.until("the first call", || (!home.model().ledger().is_empty()).then_some(()));
    let paused = home.pleach(&["pause", &id, "--json"]).exits(0).run();
    assert_eq!(paused["status"], "paused");
    said(child.wait_with_output().expect("a paused run is nobody's to drive"));
    let before = home.show(&id)["metrics"].clone();
    // Time itself is what must not be counted.
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(home.show(&id)["metrics"], before, "paused time is not working time");
    home.pleach(&["resume", &id]).exits(4);
    let keys: Vec<String> = home.asked("homework_planner").into_iter().map(|entry| entry.key).collect();
    let mut unique = keys.clone();
    unique.dedup();
    assert_eq!(keys, unique, "the call that was in flight is not repeated");
}

#[test]
fn h2_h5_pausing_under_two_executors_keeps_their_answers() {
    let home = Home::with(simulation::scripted::scripts::complete_in(3).latency(Duration::from_millis(400)));
    let (child, id) = home.start_run("Pause in the middle", &[]);
    home.until("both executors are asked", || (home.asked("homework_executor").len() == 2).then_some(()));
    assert_eq!(home.pleach(&["pause", &id, "--json"]).exits(0).run()["status"], "paused");
    said(child.wait_with_output().expect("a paused run is nobody's to drive"));
    home.pleach(&["resume", &id]).exits(0);
    let mut keys: Vec<String> = home.model().ledger().into_iter().map(|entry| entry.key).collect();
    let asked = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), asked, "no call is made twice");
    assert!(keys.iter().all(|key| key.ends_with(":1")), "and none is given up: {keys:?}");
}

#[test]
fn h2_detach_records_the_run_and_another_command_drives_it() {
    let home = Home::with(asking());
    let run = home.pleach(&["run", "Later", "--kind", "homework", "--detach", "--json"]).exits(0).run();
    assert_eq!(run["status"], "queued");
    assert_eq!(home.model().ledger().len(), 0);
    home.pleach(&["watch", run["id"].as_str().expect("an id"), "--json"]).exits(3);
}

#[test]
fn h2_cancel_and_pause_of_a_run_nobody_drives_take_effect_at_once() {
    let home = Home::with(asking());
    let detach = || home.pleach(&["run", "Later", "--kind", "homework", "--detach", "--json"]).exits(0).id();
    let (first, second) = (detach(), detach());
    assert_eq!(home.pleach(&["cancel", &first, "--json"]).exits(0).run()["status"], "canceled");
    assert_eq!(home.pleach(&["pause", &second, "--json"]).exits(0).run()["status"], "paused");
    assert_eq!(home.model().ledger().len(), 0);
}

#[test]
fn h7_questions_and_ends_leave_a_notification() {
    use engine::workspace::Scope;
    let home = Home::with(asking());
    let id = home.run("Notify", &[]).exits(3).id();
    home.pleach(&["answer", &id, "blue"]).exits(0);
    let store = home.store();
    let notes = home.runtime.block_on(store.notifications(&Scope::Platform, 50)).expect("notifications");
    let mut kinds: Vec<&str> = notes.iter().map(|note| note.kind.as_str()).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["completed", "question", "waiting"]);
}
