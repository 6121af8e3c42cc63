//! Continuing a stopped or failed tree, retrying a step, and what the report says of it.

use crate::*;
use engine::budget::BudgetPatch;
use engine::effect::{CallError, CallFailure};
use engine::run::{Lane, Remedy, Status, StopReason};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

fn unauthorized() -> CallError {
    CallError { failure: CallFailure::Auth, message: "401 from test".into(), retry_after_ms: None, maybe_paid: false }
}

/// A plan of two bands whose first fails whole while `works` is false.
fn shaky(works: Rc<Cell<bool>>) -> Play {
    let mut play = scripted(brief("Shaky"), move |role, title, _| match (role, title) {
        (Role::TreePlanner, _) => Some(Ok(plan(&[&["a", "b"], &["c"]]))),
        (Role::TreeExecutor, "Step a" | "Step b") if !works.get() => Some(Ok(json!({}))),
        _ => None,
    });
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Failed);
    play
}

#[test]
fn t8_b1_a_retry_runs_the_bands_that_were_skipped() {
    let works = Rc::new(Cell::new(false));
    let mut play = shaky(works.clone());
    works.set(true);
    node(&mut play, "Step a", NodeCommand::Retry);
    play.go();
    check(&play);
    assert_eq!(status_of(&play, "Step c"), NodeStatus::Completed, "the later band runs now");
    assert_eq!(play.run.shared.status(), Status::Completed);
    assert_eq!(not_done(&play).as_array().map(Vec::len), Some(1), "b alone was not retried: {}", not_done(&play));
}

#[test]
fn t8_b2_a_failed_run_that_is_continued_does_all_of_it() {
    let works = Rc::new(Cell::new(false));
    let mut play = shaky(works.clone());
    works.set(true);
    go_on(&mut play, BudgetPatch::default());
    assert_eq!(play.run.shared.status(), Status::Completed);
    assert_eq!(not_done(&play), json!([]));
    assert_eq!(count(&play, "tree.plan_created"), 1, "by the plan it had");
}

#[test]
fn b2_steps_that_a_budget_skipped_run_when_it_is_raised_and_nothing_finished_is_done_again() {
    let mut small = brief("Little money");
    small.budgets.max_cost_usd = None;
    small.budgets.max_tokens = Some(60_000);
    let mut play = scripted(small, |role, title, _| {
        (role == Role::TreePlanner && title == "Little money").then(|| Ok(plan(&[&["a", "b"], &["c", "d"], &["e"]])))
    });
    play.usage = engine::effect::Usage { input: 9_000, cached: 0, output: 1_000, estimated: false };
    play.go();
    assert_eq!(play.run.shared.status(), Status::Stopped);
    let before = payloads(&play, "tree.node_completed").len();
    go_on(&mut play, BudgetPatch { max_tokens: Some(Some(400_000)), ..BudgetPatch::default() });
    assert_eq!(play.run.shared.status(), Status::Completed, "{:?}", play.run.shared.stop_detail);
    assert_eq!(not_done(&play), json!([]));
    assert_eq!(status_of(&play, "Step e"), NodeStatus::Completed);
    assert_eq!(count(&play, "tree.plan_created"), 1);
    assert_eq!(state(&play).nodes.len(), 6, "one node for each step, and the root");
    assert!(before >= 2);
}

#[test]
fn b1_a_failed_run_leaves_no_node_running_and_continues_where_they_were() {
    let broken = Rc::new(Cell::new(true));
    let fails = broken.clone();
    let mut play = scripted(brief("No key"), move |role, title, _| match (role, title) {
        (Role::TreePlanner, "No key") => {
            let mut answer = plan(&[&["a", "m"], &["z"]]);
            answer["plan"]["bands"][0]["steps"][1]["leaf"] = json!(false);
            Some(Ok(answer))
        }
        (Role::TreePlanner, _) => Some(Ok(plan(&[&["x", "y"]]))),
        (Role::TreeExecutor, "Step y") if fails.get() => Some(Err(unauthorized())),
        _ => None,
    });
    play.go();
    check(&play);
    assert_eq!(play.run.shared.stop_reason, Some(StopReason::ProviderAuth));
    assert!(state(&play).nodes.iter().all(|node| node.status.is_terminal()), "nobody is at work in a failed run");
    let lines = not_done(&play).to_string();
    assert!(lines.contains("Step y: not finished: 401 from test") && lines.contains("Step z: skipped"), "{lines}");
    let nodes = state(&play).nodes.len();
    broken.set(false);
    go_on(&mut play, BudgetPatch::default());
    assert_eq!(play.run.shared.status(), Status::Completed, "{:?}", play.run.shared.stop_detail);
    assert_eq!(not_done(&play), json!([]));
    assert_eq!(state(&play).nodes.len(), nodes + 1, "the same nodes, and the one for the band that had not begun");
    assert_eq!(count(&play, "tree.plan_created"), 2);
}

#[test]
fn b9_a_question_of_a_run_that_fails_is_withdrawn_and_may_be_asked_again() {
    let broken = Rc::new(Cell::new(true));
    let fails = broken.clone();
    let mut play = scripted(brief("Asks"), move |role, title, attempt| match (role, title) {
        (Role::TreePlanner, _) => Some(Ok(plan(&[&["a", "b"]]))),
        (Role::TreeExecutor, "Step a") if !own_text(attempt).contains("\"answer\":\"red\"") => {
            Some(Ok(json!({ "question": { "text": "Which colour?" } })))
        }
        (Role::TreeExecutor, "Step b") if fails.get() => Some(Err(unauthorized())),
        _ => None,
    });
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Failed);
    assert_eq!(play.run.shared.open_questions().count(), 0);
    broken.set(false);
    go_on(&mut play, BudgetPatch::default());
    assert_eq!(play.run.shared.status(), Status::WaitingOnUser);
    let answer = Command::Answer { question: None, text: "red".into() };
    play.run.command(answer, Actor::Platform, play.now).expect("taken");
    play.commit();
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
}

#[test]
fn b9_canceling_a_node_withdraws_its_question_and_answers_nothing() {
    let seen: Rc<RefCell<Vec<String>>> = Rc::default();
    let requests = seen.clone();
    let mut play = scripted(brief("Withdraw"), move |role, title, attempt| match (role, title) {
        (Role::TreePlanner, _) => Some(Ok(plan(&[&["a", "b"]]))),
        (Role::TreeExecutor, "Step a") => Some(Ok(json!({ "question": { "text": "Which colour?" } }))),
        (Role::TreeAggregator, _) => {
            requests.borrow_mut().push(own_text(attempt));
            None
        }
        _ => None,
    });
    play.go();
    assert_eq!(play.run.shared.status(), Status::WaitingOnUser);
    node(&mut play, "Step a", NodeCommand::Cancel);
    play.go();
    check(&play);
    assert_eq!(payloads(&play, "run.resumed"), [json!({ "reason": "withdrawn" })]);
    assert_eq!(payloads(&play, "run.question_expired")[0]["withdrawn"], true);
    assert!(!seen.borrow()[0].contains("Which colour?"), "no model is told of an answer");
    assert_eq!(json!(play.run.shared.questions[0])["closed"], "withdrawn");
}

#[test]
fn b9_a_default_that_is_taken_is_marked_as_one() {
    let mut play = scripted(brief("Patience"), |role, _, attempt| {
        let text = own_text(attempt);
        assert!(!text.contains("## questions") || text.contains("\"closed\":\"default\""), "{text}");
        (role == Role::TreePlanner && !text.contains("## questions"))
            .then(|| Ok(json!({ "question": { "text": "Deep or wide?", "default": "deep" } })))
    });
    play.go();
    play.now = play.now.plus_ms(25 * 3_600_000);
    play.run.tick(play.now);
    play.commit();
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
    assert_eq!(json!(play.run.shared.questions[0])["closed"], "default");
}

#[test]
fn b1_the_report_names_what_fell_short_and_nothing_of_what_was_replaced() {
    let unmet = json!({ "met": false, "notes": "no sources" });
    let mut play = scripted(brief("Unmet"), move |role, _, _| {
        (role == Role::TreeExecutor).then(|| {
            let mut answer = done("paper");
            answer["result"]["success_assessment"] = unmet.clone();
            Ok(answer)
        })
    });
    play.go();
    check(&play);
    assert_eq!(not_done(&play), json!(["Unmet: no sources"]));

    let mut play = scripted(brief("Replaced"), |role, title, _| match (role, title) {
        (Role::TreePlanner, "Replaced") => {
            let mut answer = plan(&[&["m", "n"]]);
            answer["plan"]["bands"][0]["steps"][0]["leaf"] = json!(false);
            Some(Ok(answer))
        }
        (Role::TreePlanner, _) => Some(Ok(plan(&[&["x"], &["y"]]))),
        _ => None,
    });
    play.step(3);
    node(&mut play, "Step m", NodeCommand::Cancel);
    play.step(0);
    node(&mut play, "Step m", NodeCommand::Retry);
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
    assert_eq!(not_done(&play), json!([]), "what was canceled was done by another");
}

#[test]
fn b1_a_retried_node_is_shown_why_the_first_one_failed() {
    let failures = Rc::new(Cell::new(0));
    let mut play = scripted(brief("Told"), move |role, title, attempt| match (role, title) {
        (Role::TreePlanner, _) => Some(Ok(plan(&[&["a", "b"]]))),
        (Role::TreeExecutor, "Step a") if failures.get() < 2 => {
            failures.set(failures.get() + 1);
            Some(Ok(json!({})))
        }
        (Role::TreeExecutor, "Step a") => {
            let text = own_text(attempt);
            assert!(text.contains("## retry_of\n") && text.contains("did not fit the schema"), "{text}");
            None
        }
        _ => None,
    });
    play.go();
    node(&mut play, "Step a", NodeCommand::Retry);
    play.go();
    check(&play);
    assert_eq!(not_done(&play), json!([]));
}

#[test]
fn b8_a_message_to_a_node_that_has_ended_is_refused_and_says_what_can_be_done() {
    let mut play = scripted(brief("Too late"), |role, title, _| match (role, title) {
        (Role::TreePlanner, _) => Some(Ok(plan(&[&["a", "b"]]))),
        (Role::TreeExecutor, "Step b") => Some(Ok(json!({ "question": { "text": "Which?" } }))),
        _ => None,
    });
    play.go();
    let (ended, live) = (by_title(&play, "Step a"), by_title(&play, "Step b"));
    let say = |node| Command::Say { text: "late".into(), node: Some(node), lane: Lane::Steer };
    let refused = play.run.command(say(ended), Actor::Platform, play.now).unwrap_err();
    assert_eq!(refused.slug, "node_ended");
    assert!(refused.message.contains("is completed"), "{}", refused.message);
    assert!(matches!(refused.remedy, Some(Remedy::RetryNode { node, .. }) if node == ended), "{:?}", refused.remedy);
    play.run.command(say(live), Actor::Platform, play.now).expect("queued");
}

#[test]
fn t4_a_node_that_is_opened_again_still_has_its_notes() {
    let seen: Rc<RefCell<String>> = Rc::default();
    let request = seen.clone();
    let mut play = scripted(brief("Notes"), move |role, _, attempt| match role {
        Role::TreePlanner => {
            let mut answer = plan(&[&["a"]]);
            answer["scratchpad"] = json!({ "append_markdown": "The whole long thought.", "tail_preview": "thought" });
            Some(Ok(answer))
        }
        Role::TreeAggregator => {
            *request.borrow_mut() = own_text(attempt);
            None
        }
        _ => None,
    });
    play.go();
    node(&mut play, "Step a", NodeCommand::Retry);
    play.go();
    check(&play);
    assert!(seen.borrow().contains("The whole long thought."), "{}", seen.borrow());
}
