//! What counts as progress, and what the breaker sees through: talk, paging, white space and near-repeats.

mod play;

use engine::model::Role;
use engine::run::StopReason;
use play::{Play, brief, payloads, plan, report};
use serde_json::{Value, json};

fn call(tool: &str, arguments: Value) -> Value {
    json!({ "tool": tool, "arguments": arguments, "purpose": "x" })
}

fn step(id: &str, status: &str) -> Value {
    json!({ "id": id, "title": format!("Step {id}"), "status": status, "owner": "executor" })
}

/// A run in which the n-th planner call is answered by `planner`, and every executor by `executor`.
fn played(
    iterations: u32,
    mut planner: impl FnMut(usize) -> Value + 'static,
    executor: impl Fn() -> Value + 'static,
) -> Play {
    let mut brief = brief("Find out");
    brief.budgets.max_iterations = iterations;
    let mut plans = 0;
    let mut play = Play::new(brief, move |role, _| {
        Ok(match role {
            Role::HomeworkPlanner => {
                plans += 1;
                let mut answer = planner(plans);
                answer["progress_summary"] = json!(format!("iteration {plans}"));
                answer["remaining_work"] = json!([format!("more {plans}")]);
                answer
            }
            Role::HomeworkExecutor => executor(),
            Role::HomeworkRepair => json!({ "corrected_calls": [] }),
            _ => report(),
        })
    });
    play.go();
    play
}

fn calling(calls: Value) -> Value {
    let mut answer = plan("");
    answer["tool_calls"] = calls;
    answer
}

fn progress(play: &Play) -> Vec<bool> {
    payloads(play, "homework.iteration_completed").iter().map(|done| done["progress"] == true).collect()
}

#[test]
fn h3_an_executor_that_only_talks_is_no_progress() {
    // Given executors that say that they did a step each, and call nothing
    let delegating = |n: usize| {
        let mut answer = plan("");
        answer["plan"]["steps"] =
            (1..=12).map(|id| step(&format!("s{id}"), if id < n { "done" } else { "doing" })).collect();
        answer["executor_tasks"] = json!([{ "branch_id": format!("b{n}"), "step_id": format!("s{n}"), "title": format!("Do {n}"), "objective": "Do it" }]);
        answer
    };
    let play = played(
        12,
        delegating,
        || json!({ "thought": "", "tool_calls": [], "done": true, "summary": "did it", "completed_step_ids": ["s1", "s2", "s3", "s4"] }),
    );
    // Then no iteration is progress, and the run stops for that
    assert_eq!(progress(&play), [false, false, false]);
    assert_eq!(play.run.shared.stop_reason, Some(StopReason::NoProgress));
}

#[test]
fn h3_the_same_documents_under_other_limits_are_one_reading() {
    let play = played(12, |n| calling(json!([call("list_documents", json!({ "limit": n + 5 }))])), || json!({}));
    // Then only the first is progress, and what differs in its limit alone is a repeat
    assert_eq!(progress(&play), [true, false, false]);
    assert_eq!(play.run.shared.stop_reason, Some(StopReason::NoProgress));
    let repeats = payloads(&play, "homework.repeat_detected");
    assert_eq!(repeats[0]["actions"], json!(["list_documents {}"]));
}

#[test]
fn h3_a_reading_that_shows_one_more_document_is_new() {
    let play = played(5, |n| calling(json!([call("list_documents", json!({ "limit": n }))])), || json!({}));
    assert_eq!(progress(&play), [true; 5]);
}

/// Updates of one document with a text after another.
fn writing(texts: &'static [&'static str]) -> Play {
    let update = |text: &str| {
        call("update_document", json!({ "document_id": "0199a86e-8000-7000-8000-000000000001", "content": text }))
    };
    played(texts.len() as u32, move |n| calling(json!([update(texts[n - 1])])), || json!({}))
}

#[test]
fn h3_white_space_and_texts_that_come_back_are_no_progress() {
    assert_eq!(
        progress(&writing(&["one", "one ", "two", "one  ", " two", "three"])),
        [true, false, true, false, false, true]
    );
}

#[test]
fn h3_a_space_toggled_for_ever_stops_the_run() {
    let toggled = writing(&["one two", "one  two", "one two", "one  two", "one two"]);
    assert_eq!(progress(&toggled), [true, false, false]);
    assert_eq!(toggled.run.shared.stop_reason, Some(StopReason::NoProgress));
}

#[test]
fn h3_m14_an_identical_document_again_is_no_progress() {
    let create = |title: &str, text: &str| call("create_document", json!({ "title": title, "content": text }));
    let documents =
        [("Notes", "all of it"), ("Notes", "all  of it\n"), ("Notes", "more of it"), ("Other", "more of it")];
    let play = played(4, move |n| calling(json!([create(documents[n - 1].0, documents[n - 1].1)])), || json!({}));
    assert_eq!(progress(&play), [true, false, true, true]);
    // And what was made is recorded all the same
    assert_eq!(
        payloads(&play, "homework.iteration_completed")[1]["artifacts"]["created_documents"][0]["title"],
        "Notes"
    );
}

#[test]
fn h3_a_step_counts_with_work_of_any_earlier_iteration_and_only_once() {
    // Given an executor that works on s1 in the first iteration, and a planner that marks it done in the third
    let planner = |n: usize| {
        let mut answer = plan("");
        answer["plan"]["steps"] =
            json!([step("s1", if n < 3 { "doing" } else { "done" }), step("s2", if n < 4 { "doing" } else { "done" })]);
        if n == 1 {
            answer["executor_tasks"] =
                json!([{ "branch_id": "b1", "step_id": "s1", "title": "Look", "objective": "Look" }]);
        }
        answer
    };
    let play = played(
        5,
        planner,
        || json!({ "thought": "", "tool_calls": [call("search_documents", json!({ "query": "x" }))], "done": true, "summary": "looked" }),
    );
    // Then the third iteration is progress; s2, which nobody worked on, is none
    assert_eq!(progress(&play), [true, false, true, false, false]);
    assert_eq!(payloads(&play, "homework.iteration_completed")[2]["progressReasons"], json!(["steps done: 1"]));
}

#[test]
fn h3_the_planners_own_work_is_behind_as_many_steps_as_there_were_results() {
    // Given one document made in the first iteration, and two steps marked done later, one after the other
    let planner = |n: usize| {
        let mut answer = plan("");
        answer["plan"]["steps"] =
            json!([step("s1", if n < 3 { "doing" } else { "done" }), step("s2", if n < 4 { "doing" } else { "done" })]);
        if n == 1 {
            answer["tool_calls"] = json!([call("create_document", json!({ "title": "Notes", "content": "x" }))]);
        }
        answer
    };
    assert_eq!(progress(&played(4, planner, || json!({}))), [true, false, true, false]);
}

#[test]
fn h3_a_set_of_actions_is_the_same_in_other_white_space() {
    // Given a planner that says the same in other white space and another order
    let variants = [
        json!([
            call("search_documents", json!({ "query": "a b", "limit": 5 })),
            call("search_documents", json!({ "query": "c" }))
        ]),
        json!([
            call("search_documents", json!({ "query": "c " })),
            call("search_documents", json!({ "query": " a  b", "limit": 50 }))
        ]),
    ];
    let play = played(9, move |n| calling(variants[n % 2].clone()), || json!({}));
    // Then it is made to replan, its set is not carried out a third time, and the run stops
    assert_eq!(payloads(&play, "homework.replan_forced").len(), 1);
    let planned = payloads(&play, "homework.planned");
    assert_eq!(planned.iter().map(|planned| planned["withheld"] == true).collect::<Vec<_>>(), [false, false, true]);
    assert_eq!(play.run.shared.stop_reason, Some(StopReason::NoProgress));
}
