//! Numbers of a homework run: what is counted, what adds up, and what advice they give.

mod play;

use engine::actor::Actor;
use engine::budget::BudgetPatch;
use engine::facts::run::Queued;
use engine::metrics::Metrics;
use engine::model::Role;
use engine::money::Usd;
use engine::projection;
use engine::run::{Command, Remedy, Status, StopReason};
use play::{Play, asking, brief, payloads, plan, report};
use serde_json::{Value, json};

fn create(title: &str) -> Value {
    json!({ "tool": "create_document", "arguments": { "title": title, "content": "x" }, "purpose": "write" })
}

/// A planner that writes and delegates in every iteration, and never ends.
fn working(brief: Queued) -> Play {
    let (play, _) = asking(brief, |role, n, _| match role {
        Role::HomeworkPlanner => {
            let mut answer = plan(&format!("iteration {n}"));
            answer["plan"]["steps"] = json!([{ "id": "s1", "title": "Study", "status": "doing", "owner": "executor" }]);
            answer["tool_calls"] = json!([create(&format!("Notes {n}"))]);
            answer["executor_tasks"] = json!([{ "branch_id": "b1", "step_id": "s1", "title": format!("Study {n}"), "objective": "Write", "tools": ["create_document"] }]);
            answer
        }
        Role::HomeworkExecutor => {
            json!({ "thought": "", "tool_calls": [create(&format!("Finding {n}"))], "done": true, "summary": "wrote it", "result_snippet": "found it" })
        }
        _ => report(),
    });
    play
}

#[test]
fn h9_a_planner_call_without_room_is_no_iteration() {
    // Given a budget that holds one iteration and the wrap-up, and no second planner call
    let mut brief = brief("Work");
    brief.budgets.max_tokens = Some(45_000);
    let mut play = working(brief);
    play.usage.input = 10_000;
    // When it stops there
    play.go();
    // Then it had one iteration, one row and one entry, a warning, and its report
    assert_eq!(play.run.shared.stop_reason, Some(StopReason::BudgetTokens), "{:?}", play.run.shared.stop_detail);
    assert_eq!((play.run.iteration(), projection::rows(&play.run, &play.events).iterations.len()), (1, 1));
    for (kind, count) in [
        ("homework.iteration_started", 1),
        ("homework.scratchpad_appended", 1),
        ("homework.limit_reached", 1),
        ("run.budget_warning", 1),
        ("run.report_created", 1),
    ] {
        assert_eq!(payloads(&play, kind).len(), count, "{kind}");
    }
    assert_eq!(play.run.shared.report.as_ref().map(|report| &report["prose_by"]), Some(&json!("model")));
}

#[test]
fn h9_calls_over_the_limit_are_not_counted() {
    let mut brief = brief("Work");
    brief.budgets.max_iterations = 1;
    let (mut play, _) = asking(brief, |role, _, _| {
        let mut answer = plan("everything at once");
        answer["tool_calls"] = (0..10).map(|n| create(&format!("Notes {n}"))).collect();
        if role == Role::HomeworkPlanner { answer } else { report() }
    });
    play.go();
    assert_eq!(payloads(&play, "homework.tool_call_result").len(), 10);
    assert_eq!(play.run.shared.metrics.tool_calls, 8);
}

/// Goes on to the end, and dies with every third call in flight.
fn go_with_kills(play: &mut Play) {
    play.step(0);
    for turn in 0..500 {
        play.now = play.now.plus_ms(700);
        let due = play.run.due(play.now);
        if let Some(effect) = due.inline.first() {
            play.perform(effect);
        } else if let Some(effect) = due.external.first() {
            let attempt = play.run.intend(effect, play.now).expect("room");
            play.commit();
            play.now = play.now.plus_ms(300);
            if turn % 3 == 2 {
                let events = play.events.clone();
                play.resume_from(&events);
                play.step(0);
            } else {
                play.land(&attempt);
            }
        } else {
            return;
        }
    }
    panic!("the run does not come to rest");
}

#[test]
fn h9_iterations_the_report_call_and_lost_attempts_add_up_to_the_run_after_kills() {
    // Given a run whose process dies again and again
    let mut brief = brief("Work");
    brief.budgets.max_iterations = 5;
    let mut play = working(brief);
    go_with_kills(&mut play);
    assert_eq!(play.run.shared.stop_reason, Some(StopReason::MaxIterations), "{:?}", play.run.shared.stop_detail);
    // When the rows of its iterations and what no iteration used are added
    let rows = projection::rows(&play.run, &play.events);
    let total = rows.run.metrics;
    assert!(total.tokens_presumed > 0, "calls were lost");
    let outside = *total.outside_iterations.clone().expect("the report call");
    let mut sum = outside.clone();
    for row in &rows.iterations {
        sum.add(&serde_json::from_value::<Metrics>(row.metrics.clone()).expect("metrics"));
    }
    // Then that is the run's total, to the last token, and what was outside is the report's
    let whole = Metrics {
        cost_known: sum.cost_known,
        no_progress_streak: sum.no_progress_streak,
        outside_iterations: None,
        ..total
    };
    assert_eq!(sum, whole);
    let of_report = |fact: &&Value| fact["effect"].as_str().is_some_and(|effect| effect.ends_with(".report"));
    let finished = payloads(&play, "effect.finished");
    let settled: f64 = finished.iter().filter(of_report).filter_map(|fact| fact["settled"]["costUsd"].as_f64()).sum();
    assert_eq!(outside.cost_usd, Usd::from_dollars(settled));
    assert_eq!(outside.llm_calls, 1);
}

#[test]
fn h10_advice_names_only_limits_that_are_too_low_and_obeying_it_helps() {
    for (tokens, cost) in [(None, Some(0.2)), (Some(60_000), None), (Some(60_000), Some(50.0))] {
        // Given a run that stopped on one of its limits
        let mut brief = brief("Work");
        brief.budgets.max_tokens = tokens;
        brief.budgets.max_cost_usd = cost.map(Usd::from_dollars);
        let mut play = working(brief);
        play.usage.input = 8_000;
        play.go();
        assert_eq!(play.run.shared.status(), Status::Stopped);
        let before = play.run.iteration();
        // When it is told to go on without more room
        let refused = play.run.command(Command::Resume, Actor::Platform, play.now).expect_err("no room");
        let Some(Remedy::RaiseSpending { cost: dollars, tokens: raised, .. }) = refused.remedy else {
            panic!("{refused:?}")
        };
        // Then only the limit that stopped it is named, and with that it works another iteration
        assert_eq!((dollars.is_some(), raised.is_some()), (tokens.is_none(), tokens.is_some()));
        let budgets = BudgetPatch { max_cost_usd: dollars, max_tokens: raised.map(Some), ..Default::default() };
        play.run.command(Command::Continue { budgets, message: None }, Actor::Platform, play.now).expect("obeyed");
        play.commit();
        play.go();
        assert!(play.run.iteration() > before, "{:?}", play.run.shared.stop_detail);
    }
}

#[test]
fn h12_the_workspace_document_is_known_before_the_run_starts() {
    let mut play = working(brief("Work"));
    let known = projection::run_row(&play.run).workspace_document_id;
    assert!(known.is_some());
    play.step(0);
    assert_eq!(projection::run_row(&play.run).workspace_document_id, known);
    assert_eq!(payloads(&play, "homework.run_started")[0]["workspaceDocumentId"], json!(known));
}

#[test]
fn h12_a_step_is_touched_by_the_executors_that_work_on_it() {
    let mut brief = brief("Work");
    brief.budgets.max_iterations = 2;
    let mut play = working(brief);
    play.go();
    let plan = projection::run_row(&play.run).plan;
    assert_eq!(plan["steps"][0]["iteration_last_touched"], 2, "{plan}");
}

#[test]
fn h12_the_row_of_an_iteration_has_the_results_of_tools_and_executors() {
    let mut brief = brief("Work");
    brief.budgets.max_iterations = 1;
    let mut play = working(brief);
    play.go();
    let row = projection::rows(&play.run, &play.events).iterations.remove(0);
    let (tool, executor) = (&row.artifacts["tool_results"][0], &row.artifacts["executor_results"][0]);
    assert_eq!((&tool["name"], &tool["ok"]), (&json!("create_document \"Notes 1\""), &json!(true)));
    assert!(tool["event"].is_u64() && tool["summary"] == "created Notes 1", "{tool}");
    assert_eq!(executor, &json!({ "branch_id": "b1", "name": "Study 1", "ok": true, "summary": "found it" }));
}
