//! The homework rules, played without a store or a network.

mod play;

use engine::effect::{CallError, CallFailure, EffectAttempt, Work};
use engine::facts::run::Queued;
use engine::model::Role;
use engine::run::{Command, Run, Status, StopReason};
use play::{Play, brief, golden_log, plan, rate_limited};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::rc::Rc;

fn search() -> Value {
    json!({ "tool": "search_documents", "arguments": { "query": "backup" }, "purpose": "look" })
}

fn create(title: &str) -> Value {
    json!({ "tool": "create_document", "arguments": { "title": title, "content": "x" }, "purpose": "write" })
}

/// The first reference in a request's `artifacts`.
fn first_made(text: &str) -> String {
    text.split("\"ref\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default().to_owned()
}

/// Three iterations: look and write, delegate, leave with evidence.
fn completing(role: Role, iteration: usize, made: &str) -> Value {
    let mut answer = plan(&format!("iteration {iteration}"));
    match (role, iteration) {
        (Role::HomeworkPlanner, 1) => {
            answer["plan"]["steps"] = json!([{ "id": "s1", "title": "Look around", "status": "doing", "owner": "planner" }, { "id": "s2", "title": "Study", "status": "pending", "owner": "executor" }]);
            answer["tool_calls"] = json!([search(), create("Outline")]);
        }
        (Role::HomeworkPlanner, 2) => {
            answer["plan"]["steps"] = json!([{ "id": "s1", "title": "Look around", "status": "done", "owner": "planner" }, { "id": "s2", "title": "Study", "status": "doing", "owner": "executor" }]);
            answer["tool_calls"] = json!([search()]);
            answer["executor_tasks"] = json!([{ "branch_id": "b1", "step_id": "s2", "title": "Study it", "objective": "Write findings", "tools": ["create_document"] }]);
        }
        (Role::HomeworkPlanner, _) => {
            answer["plan"]["steps"] = json!([{ "id": "s1", "title": "Look around", "status": "done", "owner": "planner" }, { "id": "s2", "title": "Study", "status": "done", "owner": "executor" }]);
            answer["remaining_work"] = json!([]);
            answer["exit_signal"] = json!(true);
            answer["completion_evidence"] = json!([{ "criterion": "c1", "claim": "written", "refs": [made] }]);
        }
        (Role::HomeworkExecutor, _) => {
            return json!({ "thought": "write", "tool_calls": [create("Findings")], "done": true, "summary": "wrote findings", "result_snippet": "found", "completed_step_ids": ["s2"] });
        }
        (Role::HomeworkReport, _) => {
            return json!({ "title": "Done", "summary": "It is done.", "findings": ["one"], "not_done": [] });
        }
        (Role::HomeworkRepair, _) => return json!({ "corrected_calls": [] }),
        (_, _) => unreachable!("not a role of homework"),
    }
    answer
}

/// The attempts a script was given, in order.
type Asked = Rc<RefCell<Vec<EffectAttempt>>>;

/// A play whose planner reads its evidence off the request, like a model would.
fn happy(brief: Queued) -> (Play, Asked) {
    let asked = Asked::default();
    let seen = asked.clone();
    let mut plans = 0;
    let play = Play::new(brief, move |role, attempt| {
        plans += usize::from(role == Role::HomeworkPlanner);
        seen.borrow_mut().push(attempt.clone());
        Ok(completing(role, plans, &first_made(&play::own_text(attempt))))
    });
    (play, asked)
}

/// The planner's requests, whole.
fn planner_requests(play: &Play, asked: &Asked) -> Vec<String> {
    let is_planner =
        |attempt: &&EffectAttempt| matches!(&attempt.work, Work::Model(call) if call.role == Role::HomeworkPlanner);
    asked.borrow().iter().filter(is_planner).map(|attempt| play.whole_text(attempt)).collect()
}

#[test]
fn h3_p3_p6_a_run_plans_delegates_and_completes_on_verified_evidence() {
    let (mut play, _) = happy(brief("Compare backup tools"));
    play.go();
    assert_eq!(play.run.shared.status(), Status::Completed, "{:?}", play.run.shared.stop_detail);
    assert_eq!(play.run.iteration(), 3);
    let report = play.run.shared.report.clone().expect("a report");
    assert_eq!(
        (&report["evidence"][0]["state"], &report["evidence"][0]["verified"]),
        (&json!("claimed"), &json!(null))
    );
    assert!(
        report["evidence"][0]["refs"][0].as_str().is_some_and(|reference| reference.starts_with("doc:")),
        "{report}"
    );
    assert_eq!(report["what_changed"]["created_documents"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        play.kinds().iter().filter(|kind| **kind == "homework.scratchpad_appended").count(),
        3,
        "P4: one entry per iteration"
    );
}

#[test]
fn p1_the_next_planner_call_sees_what_the_tools_returned() {
    let (mut play, asked) = happy(brief("Compare backup tools"));
    play.go();
    let requests = planner_requests(&play, &asked);
    assert!(requests[1].contains("## tool_results\n") && requests[1].contains("Notes on backups"));
    let by_reference = play::own_text(&asked.borrow()[1]);
    assert!(!by_reference.contains("Notes on backups"), "results travel by reference");
    assert!(requests[2].contains("\"result_snippet\":\"found\""));
}

#[test]
fn t1_folding_the_log_gives_the_state_that_wrote_it() {
    let (mut play, _) = happy(brief("Compare backup tools"));
    play.go();
    let folded = Run::fold(&play.events).expect("a fold");
    assert_eq!(engine::projection::run_row(&folded), engine::projection::run_row(&play.run));
    let whole = engine::projection::rows(&folded, &play.events);
    assert_eq!(whole.iterations.len(), 3);
    assert!(whole.iterations.iter().all(|row| row.status == "completed"));
    let mut run = Run::fold(&play.events[..1]).expect("the first event");
    let mut head = play.events[0].hash;
    for event in &play.events[1..] {
        assert_eq!(event.link(head), event.hash, "the chain holds at {}", event.seq);
        head = event.hash;
        run.apply(event);
    }
}

#[test]
fn t12_a_homework_run_is_seen_as_it_stood_after_every_event() {
    let (mut play, _) = happy(brief("Compare backup tools"));
    play.go();
    play::view::check(&play.events);
    let mut view = engine::view::View::from_first_event(&play.events[0]).expect("a view");
    play.events[1..].iter().for_each(|event| view.apply(event));
    let shown: serde_json::Value = serde_json::from_str(&view.to_json(view.seq()).expect("JSON")).expect("an object");
    let rows = engine::projection::rows(&play.run, &play.events).iterations;
    assert_eq!(shown["iterations"], serde_json::json!(rows));
}

#[test]
fn p5_a_planner_that_repeats_itself_is_hinted_made_to_replan_and_stopped_in_the_third_iteration() {
    let requests: Rc<RefCell<Vec<String>>> = Rc::default();
    let seen = requests.clone();
    let mut play = Play::new(brief("Search for this"), move |role, attempt| {
        if role == Role::HomeworkReport {
            return Ok(completing(role, 0, ""));
        }
        seen.borrow_mut().push(play::own_text(attempt));
        let mut answer = plan("searching");
        answer["tool_calls"] = json!([search()]);
        Ok(answer)
    });
    play.go();
    assert_eq!(play.run.shared.stop_reason, Some(StopReason::NoProgress));
    assert_eq!(play.run.iteration(), 3);
    let requests = requests.borrow();
    assert!(!requests[1].contains("## hints\n"));
    assert!(requests[2].contains("Do not repeat the same action; choose a different approach or replan."));
    assert!(requests[2].contains("will not be carried out again"));
    assert_eq!(play.kinds().iter().filter(|kind| **kind == "homework.replan_forced").count(), 1);
    assert_eq!(play.kinds().iter().filter(|kind| **kind == "homework.repeat_detected").count(), 2);
    assert_eq!(
        play.kinds().iter().filter(|kind| **kind == "homework.tool_call_requested").count(),
        2,
        "the third set is not carried out"
    );
}

#[test]
fn h4_an_exit_without_evidence_is_refused_and_the_reasons_come_back() {
    let mut plans = 0;
    let mut play = Play::new(brief("Claim victory"), move |role, _| {
        let mut answer = completing(role, 3, "doc:00000000-0000-7000-8000-000000000000");
        if role == Role::HomeworkPlanner {
            plans += 1;
            answer["plan"]["steps"] = json!([]);
            answer["progress_summary"] = json!(format!("done, I swear {plans}"));
        }
        Ok(answer)
    });
    play.go();
    assert_eq!(play.run.shared.stop_reason, Some(StopReason::NoProgress));
    assert!(play.kinds().contains(&"homework.exit_refused"));
    assert!(!play.kinds().contains(&"run.completed"));
    let entry = play.events.iter().find(|event| event.kind() == "homework.scratchpad_appended").expect("an entry");
    assert!(
        entry.payload.contains("**The planner may not end the run yet**"),
        "the journal says why: {}",
        entry.payload
    );
}

#[test]
fn h5_a_question_waits_without_using_time_or_money_and_the_answer_resumes() {
    let mut asked = false;
    let mut play = Play::new(brief("Ask me"), move |role, attempt| {
        if role == Role::HomeworkPlanner && !std::mem::replace(&mut asked, true) {
            let mut answer = plan("need to know");
            answer["needs_user_input"] = json!(true);
            answer["blocking_questions"] = json!(["Which colour?"]);
            answer["tool_calls"] = json!([create("Draft")]);
            return Ok(answer);
        }
        let text = play::own_text(attempt);
        assert!(role != Role::HomeworkPlanner || text.contains("blue"), "the answer is in the request");
        let mut answer = completing(role, 3, &first_made(&text));
        if role == Role::HomeworkPlanner {
            answer["plan"]["steps"] = json!([]);
        }
        Ok(answer)
    });
    play.go();
    assert_eq!(play.run.shared.status(), Status::WaitingOnUser);
    assert!(play.kinds().contains(&"homework.tool_call_result"), "calls given with the question run first");
    let before = play.run.shared.metrics.clone();
    play.now = play.now.plus_ms(86_400_000);
    let owner = play.run.shared.brief.owner;
    play.run
        .command(Command::Answer { question: None, text: "blue".into() }, engine::actor::Actor::Person(owner), play.now)
        .expect("accepted");
    play.commit();
    assert_eq!(play.run.shared.metrics, before, "a day of waiting costs nothing");
    play.go();
    assert_eq!(play.run.shared.status(), Status::Completed, "{:?}", play.run.shared.stop_detail);
}

#[test]
fn h4_each_budget_stops_with_its_own_reason_and_continue_goes_on() {
    for (reason, set) in [
        (StopReason::MaxIterations, (|brief: &mut Queued| brief.budgets.max_iterations = 2) as fn(&mut Queued)),
        (StopReason::BudgetTokens, |brief| brief.budgets.max_tokens = Some(32_000)),
        (StopReason::BudgetCost, |brief| brief.budgets.max_cost_usd = Some(engine::money::Usd::from_dollars(0.15))),
        (StopReason::BudgetWallClock, |brief| brief.budgets.max_wall_ms = Some(4_000)),
    ] {
        let mut brief = brief("Work for ever");
        set(&mut brief);
        let mut plans = 0;
        let mut play = Play::new(brief, move |role, _| {
            plans += 1;
            let mut answer = completing(role, 9, "");
            if role == Role::HomeworkPlanner {
                answer = plan(&format!("working {plans}"));
                answer["tool_calls"] = json!([create(&format!("Part {plans}"))]);
            }
            Ok(answer)
        });
        play.go();
        assert_eq!(play.run.shared.stop_reason, Some(reason), "{:?}", play.run.shared.stop_detail);
        assert_eq!(play.run.shared.status(), Status::Stopped);
        let spent = play.run.shared.ledger;
        assert!(play.run.shared.budgets.max_tokens.is_none_or(|limit| spent.spent.tokens <= limit));
        let raised = engine::budget::BudgetPatch {
            max_iterations: Some(40),
            max_tokens: Some(Some(200_000)),
            max_cost_usd: Some(engine::money::Usd(9_000_000)),
            max_wall_ms: Some(60_000),
            ..Default::default()
        };
        let before = play.run.iteration();
        let refused = play.run.command(Command::Resume, engine::actor::Actor::Platform, play.now);
        assert!(refused.is_err(), "{reason:?}: continuing without raising the limit would stop at once");
        play.run
            .command(Command::Continue { budgets: raised, message: None }, engine::actor::Actor::Platform, play.now)
            .expect("continues");
        play.commit();
        assert_eq!(play.run.shared.status(), Status::Running);
        assert_eq!(play.run.iteration(), before + 1);
    }
}

#[test]
fn p7_an_answer_that_does_not_fit_is_asked_for_once_more_and_then_contained() {
    let mut answers =
        vec![json!("not an object"), json!({ "progress_summary": "x", "needs_user_input": true })].into_iter();
    let mut play = Play::new(brief("Fumble"), move |role, attempt| {
        if role == Role::HomeworkPlanner && attempt.effect.0.contains("fix") {
            let engine::effect::Work::Model(call) = &attempt.work else { panic!("a model call") };
            assert_eq!(call.request.messages.len(), 4, "system, sections, the invalid answer, the errors");
        }
        Ok(answers.next().unwrap_or_else(|| completing(role, 9, "")))
    });
    play.go();
    assert_eq!(play.kinds().iter().filter(|kind| **kind == "homework.answer_rejected").count(), 2);
    assert!(play.run.iteration() > 1, "the run goes on");
}

#[test]
fn h3_a_failed_call_gets_one_repair_of_at_most_two_calls() {
    let mut plans = 0;
    let mut play = Play::new(brief("Repair"), move |role, attempt| match role {
        Role::HomeworkPlanner => {
            plans += 1;
            let mut answer = plan(&format!("try {plans}"));
            if plans == 1 {
                answer["tool_calls"] = json!([{ "tool": "no_such_tool", "arguments": {}, "purpose": "x" }, search()]);
            }
            Ok(answer)
        }
        Role::HomeworkRepair => {
            assert!(attempt.effect.0.ends_with(".i1.repair"));
            Ok(
                json!({ "corrected_calls": [{ "for_call_id": attempt.effect.0.replace("repair", "t0"), "tool": "create_document", "arguments": { "title": "Repaired", "content": "x" } }] }),
            )
        }
        _ => Ok(completing(role, 9, "")),
    });
    play.go();
    assert_eq!(play.kinds().iter().filter(|kind| **kind == "homework.repair_attempted").count(), 1);
    let report = play.run.shared.report.clone().expect("a report");
    assert_eq!(report["what_changed"]["created_documents"][0]["title"], "Repaired");
}

#[test]
fn invariant_40_transient_failures_are_retried_six_times_and_then_the_run_fails_and_can_go_on() {
    let mut failures = 0;
    let mut play = Play::new(brief("Rate limits"), move |role, attempt| {
        failures += 1;
        if failures <= 6 {
            assert_eq!(attempt.number, failures);
            return Err(rate_limited());
        }
        assert!(
            attempt.number == 7 || role != Role::HomeworkPlanner || !attempt.effect.0.ends_with(".i1.plan"),
            "a continued run does not reuse an attempt's number"
        );
        Ok(completing(role, 9, ""))
    });
    play.go();
    assert_eq!(play.run.shared.stop_reason, Some(StopReason::Error));
    assert_eq!(play.run.shared.status(), Status::Failed);
    play.run.command(Command::Resume, engine::actor::Actor::Platform, play.now).expect("a failed run may go on");
    play.commit();
    play.go();
    assert!(play.run.iteration() >= 2);
}

#[test]
fn a_refused_key_fails_the_run_as_provider_auth_at_once() {
    let mut play = Play::new(brief("No key"), |_, _| {
        Err(CallError {
            failure: CallFailure::Auth,
            message: "401 from test".into(),
            retry_after_ms: None,
            maybe_paid: false,
        })
    });
    play.go();
    assert_eq!(play.run.shared.stop_reason, Some(StopReason::ProviderAuth));
    assert_eq!(play.run.shared.metrics.llm_calls, 0);
}

#[test]
fn the_third_planner_request_is_golden() {
    let (mut play, asked) = happy(brief("Compare backup tools and recommend one"));
    play.run
        .command(
            Command::Say { text: "Prefer open source".into(), node: None, lane: engine::run::Lane::Steer },
            engine::actor::Actor::Platform,
            play.now,
        )
        .expect("queued");
    play.go();
    let third = planner_requests(&play, &asked).swap_remove(2);
    play::golden_text("planner_request_3.txt", &third);
}

/// The log of a run that an earlier version wrote: every later version must fold it to the same end.
#[test]
fn invariant_5_the_golden_log_folds_for_ever() {
    let events = golden_log("homework_log.jsonl", || {
        let (mut play, _) = happy(brief("Compare backup tools and recommend one"));
        play.go();
        play
    });
    let run = Run::fold(&events).expect("a run");
    assert_eq!((run.shared.status(), run.iteration()), (Status::Completed, 3));
    assert_eq!(run.shared.metrics.llm_calls, 5);
    assert_eq!(run.shared.report.as_ref().map(|report| report["title"].clone()), Some(json!("Done")));
}
