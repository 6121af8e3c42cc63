//! Wrong, half right or false answers of homework roles are contained, reported and not believed.

mod play;

use engine::effect::EffectAttempt;
use engine::facts::run::Queued;
use engine::model::Role;
use engine::run::{Status, StopReason};
use play::{Play, brief, own_text, payloads, plan, report};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::rc::Rc;

fn create(title: &str) -> Value {
    json!({ "tool": "create_document", "arguments": { "title": title, "content": "x" }, "purpose": "write" })
}

/// A create_document the workspace refuses: it has no title.
fn refused() -> Value {
    json!({ "tool": "create_document", "arguments": { "name": "Findings" }, "purpose": "write" })
}

fn step(id: &str, status: &str) -> Value {
    json!({ "id": id, "title": format!("Step {id}"), "status": status, "owner": "executor" })
}

fn delegating(tools: Value) -> Value {
    let mut answer = plan("delegate");
    answer["plan"]["steps"] = json!([step("s1", "doing")]);
    answer["executor_tasks"] =
        json!([{ "branch_id": "b1", "step_id": "s1", "title": "Study", "objective": "Write", "tools": tools }]);
    answer
}

/// The planner's requests, in their own words, as the play goes on.
type Requests = Rc<RefCell<Vec<String>>>;

fn playing(brief: Queued, mut script: impl FnMut(Role, usize, &EffectAttempt) -> Value + 'static) -> (Play, Requests) {
    let requests = Requests::default();
    let seen = requests.clone();
    let mut counts = std::collections::BTreeMap::new();
    let play = Play::new(brief, move |role, attempt| {
        if role == Role::HomeworkPlanner {
            seen.borrow_mut().push(own_text(attempt));
        }
        let count = counts.entry(role).and_modify(|count| *count += 1).or_insert(1usize);
        Ok(script(role, *count, attempt))
    });
    (play, requests)
}

#[test]
fn h3_an_executor_is_not_done_while_its_calls_fail() {
    // Given an executor that says done with a call that fails, every time
    let mut brief = brief("Study");
    brief.budgets.max_iterations = 1;
    let (mut play, _) = playing(brief, |role, _, _| match role {
        Role::HomeworkPlanner => delegating(json!(["create_document"])),
        Role::HomeworkExecutor => {
            json!({ "thought": "", "tool_calls": [refused()], "done": true, "summary": "wrote it", "completed_step_ids": ["s1"] })
        }
        _ => report(),
    });
    // When the iteration is over
    play.go();
    // Then it was asked again until its rounds were used, failed with the reason, and moved nothing
    let finished = &payloads(&play, "homework.executor_finished")[0];
    assert_eq!((&finished["ok"], &finished["rounds"]), (&json!(false), &json!(4)), "{finished}");
    assert!(finished["error"].as_str().is_some_and(|error| error.contains("create_document, failed")), "{finished}");
    assert_eq!(payloads(&play, "homework.iteration_completed")[0]["progress"], false);
    assert!(payloads(&play, "homework.plan_updated").iter().all(|plan| plan["steps"][0]["status"] == "doing"));
}

#[test]
fn p3_an_executor_that_only_thinks_uses_its_rounds_up() {
    // Given an executor that neither calls a tool nor is done
    let mut brief = brief("Study");
    brief.budgets.max_iterations = 1;
    let (mut play, _) = playing(brief, |role, _, _| match role {
        Role::HomeworkPlanner => delegating(json!(["create_document"])),
        Role::HomeworkExecutor => json!({ "thought": "hm", "tool_calls": [], "done": false }),
        _ => report(),
    });
    // When the iteration is over
    play.go();
    // Then it was called four times, and its branch has failed for that
    let finished = &payloads(&play, "homework.executor_finished")[0];
    assert_eq!((&finished["ok"], &finished["rounds"]), (&json!(false), &json!(4)), "{finished}");
    assert!(finished["error"].as_str().is_some_and(|error| error.contains("not done after 4 rounds")), "{finished}");
}

#[test]
fn h4_a_step_done_by_what_the_iteration_before_made_is_progress_once() {
    // Given a planner that writes in its first iteration, says so in the second, and then says it again
    let mut brief = brief("Write");
    brief.budgets.max_iterations = 3;
    let (mut play, _) = playing(brief, |role, n, _| match role {
        Role::HomeworkPlanner => {
            let mut answer = plan(&format!("iteration {n}"));
            let status = if n == 1 { "doing" } else { "done" };
            answer["plan"]["steps"] = json!([{ "id": "s1", "title": "Write", "status": status, "owner": "planner" }]);
            answer["tool_calls"] = if n == 1 { json!([create("Notes")]) } else { json!([]) };
            answer["remaining_work"] = json!([format!("something {n}")]);
            answer
        }
        _ => report(),
    });
    play.go();
    let moved: Vec<Value> =
        payloads(&play, "homework.iteration_completed").iter().map(|done| done["progress"].clone()).collect();
    assert_eq!(moved, [json!(true), json!(true), json!(false)]);
}

#[test]
fn h3_a_correction_that_names_no_call_is_for_the_only_one_that_failed() {
    let mut brief = brief("Repair");
    brief.budgets.max_iterations = 1;
    let (mut play, _) = playing(brief, |role, _, _| match role {
        Role::HomeworkPlanner => {
            let mut answer = plan("iteration 1");
            answer["tool_calls"] = json!([refused()]);
            answer
        }
        Role::HomeworkRepair => {
            let mut call = create("Notes");
            call["for_call_id"] = json!("1");
            json!({ "corrected_calls": [call] })
        }
        _ => report(),
    });
    play.go();
    assert_eq!(payloads(&play, "homework.repair_attempted")[0]["corrected"], 1);
    let made = &payloads(&play, "homework.iteration_completed")[0]["artifacts"]["created_documents"];
    assert_eq!(made.as_array().map(Vec::len), Some(1), "{made}");
}

#[test]
fn h3_an_executor_that_corrects_its_failed_call_is_done() {
    let mut brief = brief("Study");
    brief.budgets.max_iterations = 1;
    let (mut play, _) = playing(brief, |role, n, _| match role {
        Role::HomeworkPlanner => delegating(json!(["create_document"])),
        Role::HomeworkExecutor => {
            let call = if n == 1 { refused() } else { create("Findings") };
            json!({ "thought": "", "tool_calls": [call], "done": true, "summary": "wrote it", "completed_step_ids": ["s1"] })
        }
        _ => report(),
    });
    play.go();
    let finished = &payloads(&play, "homework.executor_finished")[0];
    assert_eq!((&finished["ok"], &finished["rounds"]), (&json!(true), &json!(2)), "{finished}");
    assert_eq!(finished["completedStepIds"], json!(["s1"]));
}

#[test]
fn p1_an_iteration_without_a_usable_answer_keeps_earlier_results() {
    // Given a planner that looks, and then twice answers nonsense
    let mut brief = brief("Look");
    brief.budgets.max_iterations = 3;
    let (mut play, requests) = playing(brief, |role, n, _| match (role, n) {
        (Role::HomeworkPlanner, 1 | 4) => {
            let mut answer = plan(&format!("iteration {n}"));
            answer["tool_calls"] = json!([create(&format!("Notes {n}"))]);
            answer["remaining_work"] = json!(["Write it up"]);
            answer
        }
        (Role::HomeworkPlanner, _) => json!({ "plan": 7 }),
        _ => report(),
    });
    // When the iteration after the nonsense begins
    play.go();
    // Then it is shown the error, and still the results and the remaining work of the one before
    let after = &requests.borrow()[3];
    assert!(after.contains("\"planner_error\":\"") && after.contains("\"results_of_iteration\":1"), "{after}");
    assert!(
        after.contains("## tool_results\n") && after.contains("## remaining_work_last\n[\"Write it up\"]"),
        "{after}"
    );
}

#[test]
fn h7_work_that_was_known_to_remain_is_in_the_report_of_a_run_that_ran_out() {
    // Given a run whose second planner call no longer fits its tokens
    let mut brief = brief("Look");
    brief.budgets.max_tokens = Some(36_000);
    let (mut play, _) = playing(brief, |role, n, _| match role {
        Role::HomeworkPlanner => {
            let mut answer = plan(&format!("iteration {n}"));
            answer["tool_calls"] = json!([create(&format!("Notes {n}"))]);
            answer["remaining_work"] = json!(["Write it up"]);
            answer
        }
        _ => report(),
    });
    play.usage.input = 6_000;
    play.go();
    // Then what remained is not forgotten
    assert_eq!(play.run.shared.stop_reason, Some(StopReason::BudgetTokens));
    assert_eq!(play.run.shared.report.as_ref().map(|report| &report["not_done"]), Some(&json!(["Write it up"])));
}

#[test]
fn h3_the_planner_is_shown_which_tools_of_a_task_do_not_exist() {
    for (tools, runs) in [(json!(["create_document", "telepathy"]), true), (json!(["telepathy"]), false)] {
        // Given a task with a tool nobody has
        let mut brief = brief("Study");
        brief.budgets.max_iterations = 2;
        let (mut play, requests) = playing(brief, move |role, n, _| match (role, n) {
            (Role::HomeworkPlanner, 1) => delegating(tools.clone()),
            (Role::HomeworkPlanner, _) => plan("look"),
            (Role::HomeworkExecutor, _) => {
                json!({ "thought": "", "tool_calls": [create("F")], "done": true, "summary": "wrote" })
            }
            _ => report(),
        });
        // When the next planner call is made
        play.go();
        // Then it is told which tool is unknown and which are valid; the task ran only with what is left
        let second = &requests.borrow()[1];
        assert!(second.contains("unknown tools: telepathy; valid: search_documents, create_document"), "{second}");
        assert_eq!(play.kinds().contains(&"homework.executor_started"), runs);
        assert_eq!(payloads(&play, "homework.executor_finished")[0]["ok"], runs);
    }
}

#[test]
fn h4_a_pending_step_left_out_of_the_last_plan_still_blocks_the_exit() {
    // Given a plan of two steps, and an exit that names only the one that is done
    let mut brief = brief("Leave");
    (brief.success_criteria, brief.budgets.max_iterations) = (Vec::new(), 2);
    let (mut play, _) = playing(brief, |role, n, _| match (role, n) {
        (Role::HomeworkPlanner, 1) => {
            let mut answer = plan("one");
            answer["plan"]["steps"] = json!([step("s1", "doing"), step("s2", "pending")]);
            answer["tool_calls"] = json!([create("Half")]);
            answer
        }
        (Role::HomeworkPlanner, _) => {
            let mut answer = plan("out");
            answer["plan"]["steps"] = json!([step("s1", "done")]);
            (answer["remaining_work"], answer["exit_signal"]) = (json!([]), json!(true));
            answer
        }
        _ => report(),
    });
    // When it wants out
    play.go();
    // Then the exit is refused for the step, which is still in the plan and in what is not done
    assert_ne!(play.run.shared.status(), Status::Completed);
    assert_eq!(payloads(&play, "homework.exit_refused")[0]["reasons"], json!(["step s2 is still pending"]));
    let not_done = play.run.shared.report.as_ref().map(|report| report["not_done"].to_string()).unwrap_or_default();
    assert!(not_done.contains("Step s2"), "{not_done}");
}

#[test]
fn p7_a_repair_request_lists_every_error_with_its_path() {
    // Given an answer with three mistakes
    let (mut play, requests) = playing(brief("Look"), |role, _, _| match role {
        Role::HomeworkPlanner => {
            let mut answer = plan("wrong");
            answer["plan"]["steps"] = json!([step("s1", "finished")]);
            answer["tool_calls"] = json!([{ "tool": 5, "arguments": {}, "purpose": "x" }]);
            answer["exit_signal"] = json!("no");
            answer
        }
        _ => report(),
    });
    // When its repair is asked for, then the request names the three places
    play.step(2);
    let repair = &requests.borrow()[1];
    for place in [
        "plan.steps[0].status: expected one of pending",
        "tool_calls[0].tool: expected string",
        "exit_signal: expected boolean",
    ] {
        assert!(repair.contains(place), "{place}: {repair}");
    }
}

#[test]
fn p7_arguments_given_as_a_text_of_json_are_arguments() {
    let (mut play, _) = playing(brief("Write"), |role, _, _| {
        let mut answer = plan("write");
        answer["tool_calls"] =
            json!([{ "tool": "create_document", "arguments": r#"{"title":"Notes","content":"x"}"#, "purpose": "x" }]);
        if role == Role::HomeworkPlanner { answer } else { report() }
    });
    play.step(3);
    assert_eq!(payloads(&play, "homework.tool_call_requested")[0]["arguments"]["title"], "Notes");
    assert_eq!(payloads(&play, "homework.tool_call_result")[0]["ok"], true);
}

#[test]
fn h3_a_repair_knows_what_the_calls_are_for_and_which_ids_exist() {
    let repairs: Requests = Requests::default();
    let seen = repairs.clone();
    let (mut play, _) = playing(brief("Compare tools"), move |role, n, attempt| match role {
        Role::HomeworkPlanner => {
            let mut answer = plan(&format!("try {n}"));
            answer["tool_calls"] = if n == 1 { json!([create("Notes")]) } else { json!([refused()]) };
            answer
        }
        Role::HomeworkRepair => {
            seen.borrow_mut().push(own_text(attempt));
            json!({ "corrected_calls": [] })
        }
        _ => report(),
    });
    play.go();
    let repair = &repairs.borrow()[0];
    assert!(repair.contains("## objective\n\"Compare tools\"") && repair.contains("\"title\":\"Notes\""), "{repair}");
}
