//! Models that misbehave, and limits that end the work: everything ends within the guards.

use crate::*;
use engine::effect::Work;
use engine::run::{Status, StopReason};

#[test]
fn t7_a_model_that_always_plans_ends_within_every_guard() {
    for (guard, set) in [
        ("max_depth", (|brief: &mut Queued| brief.budgets.max_depth = 2) as fn(&mut Queued)),
        ("max_nodes", |brief| brief.budgets.max_nodes = 6),
        ("max_tokens", |brief| brief.budgets.max_tokens = Some(60_000)),
    ] {
        let mut brief = brief("For ever");
        brief.budgets.max_cost_usd = None;
        set(&mut brief);
        let mut play = scripted(brief, |role, title, _| {
            (role == Role::TreePlanner).then(|| {
                let mut answer = plan(&[&["a", "b"]]);
                for step in answer["plan"]["bands"][0]["steps"].as_array_mut().unwrap() {
                    step["leaf"] = json!(false);
                    step["title"] = json!(format!("{title}/{}", step["id"].as_str().unwrap()));
                }
                Ok(answer)
            })
        });
        play.go();
        check(&play);
        assert!(play.run.shared.status().is_terminal(), "{guard}");
        let guards = payloads(&play, "tree.guard");
        assert!(guards.iter().any(|fired| fired["guard"] == guard), "{guard}: {guards:?}");
        let said = payloads(&play, "tree.node_status")
            .iter()
            .any(|status| status["message"] == format!("guard:{guard}") && status["status"] == "executing");
        assert!(
            said || play.run.shared.stop_reason == Some(StopReason::BudgetTokens),
            "{guard} forced a leaf and said so"
        );
        if guard == "max_depth" {
            assert!(
                state(&play).nodes.iter().filter(|node| node.depth == 2).all(|node| !play.events.iter().any(|event| {
                    event.node_id == Some(node.id)
                        && event.kind() == "effect.started"
                        && event.payload.contains("tree_planner")
                })),
                "no planner call at max_depth"
            );
        }
    }
}

#[test]
fn t7_a_plan_over_the_limits_gets_one_repair_that_states_them_and_then_the_node_does_the_work_itself() {
    let steps: Vec<Value> = (0..10_000).map(|index| json!({ "id": format!("s{index}"), "title": "x" })).collect();
    let huge = json!({ "mode": "plan", "plan": { "bands": [{ "steps": steps }] } });
    let mut play = scripted(brief("Too much"), move |role, _, attempt| {
        let Work::Model(call) = &attempt.work else { panic!("a model call") };
        if attempt.effect.0.ends_with(".n0.g1.plan.fix") {
            assert_eq!(call.request.messages.len(), 4);
            assert!(own_text(attempt).contains("max_steps_per_band 4"));
        }
        (role == Role::TreePlanner).then(|| Ok(huge.clone()))
    });
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
    assert_eq!(count(&play, "tree.answer_rejected"), 1);
    assert_eq!(payloads(&play, "tree.guard"), [json!({ "guard": "max_steps_per_band", "limit": 4 })]);
    assert_eq!(state(&play).nodes.len(), 1, "a plan is never truncated");
    assert_eq!(count(&play, "tree.plan_created"), 0);
}

#[test]
fn t5_b14_malformed_answers_and_foreign_ids_are_repaired_once_and_then_fail_the_node_with_the_reason() {
    let foreign = "00000000-0000-7000-8000-000000000000";
    let mut twice = plan(&[&["a", "a"]]);
    twice["scratchpad"] = Value::Null;
    let cases: Vec<(&str, Value, &str)> = vec![
        ("planner", twice, "used twice"),
        ("planner", plan(&[&[]]), "has no steps"),
        ("planner", plan(&[]), "no bands"),
        ("planner", json!({ "mode": "plan" }), "no plan"),
        ("planner", json!("words"), "no JSON object"),
        ("executor", json!({ "tool_calls": [], "artifacts": [] }), "neither tool_calls nor result"),
        (
            "executor",
            json!({ "result": { "summary": "x", "primary_artifact_label": foreign } }),
            "not an artifact of this node",
        ),
        (
            "executor",
            json!({ "result": { "summary": "x", "parent_hint": { "hint_type": "read_documents", "artifact_labels": ["someone else's"] } } }),
            "not an artifact of this node",
        ),
        ("executor", json!({ "result": { "summary": " " } }), "summary is empty"),
        (
            "executor",
            json!({ "artifacts": [{ "type": "sculpture", "label": "x" }], "result": { "summary": "x" } }),
            "sculpture",
        ),
    ];
    for (who, bad, why) in cases {
        let (is_planner, bad) = (who == "planner", bad.clone());
        let mut play = scripted(brief("Hostile"), move |role, _, _| {
            ((role == Role::TreePlanner) == is_planner).then(|| Ok(bad.clone()))
        });
        play.go();
        check(&play);
        assert_eq!(play.run.shared.stop_reason, Some(StopReason::Error), "{why}");
        assert_eq!(count(&play, "tree.answer_rejected"), 2);
        let failed = &payloads(&play, "tree.node_failed")[0];
        assert!(failed["error"].as_str().unwrap().contains(why), "{failed} lacks {why}");
        assert_eq!(failed["retryable"], true);
    }
}

#[test]
fn t8_when_every_step_fails_the_later_bands_are_skipped_and_the_run_fails_whatever_the_model_claims() {
    let mut play = scripted(brief("All fail"), |role, title, _| match (role, title) {
        (Role::TreePlanner, _) => Some(Ok(plan(&[&["a", "b"], &["c"]]))),
        (Role::TreeExecutor, _) => Some(Ok(json!({}))),
        _ => None,
    });
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Failed);
    assert_eq!(play.run.shared.stop_reason, Some(StopReason::Error));
    assert!(play.run.shared.stop_detail.as_ref().unwrap().contains("all 2 steps failed"));
    assert!(payloads(&play, "tree.step_status").contains(&json!({ "stepId": "c", "status": "skipped" })));
    assert_eq!(count(&play, "tree.node_aggregated"), 1);
}

#[test]
fn b2_a_budget_that_ends_yields_a_partial_result_paid_from_the_reserve_and_continue_takes_it_up() {
    let mut small = brief("Little money");
    small.budgets.max_cost_usd = None;
    small.budgets.max_tokens = Some(60_000);
    let mut play = scripted(small, |role, title, _| {
        (role == Role::TreePlanner && title == "Little money").then(|| Ok(plan(&[&["a", "b"], &["c", "d"], &["e"]])))
    });
    let expensive = engine::effect::Usage { input: 9_000, cached: 0, output: 1_000, estimated: false };
    play.usage = expensive;
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Stopped, "{:?}", play.run.shared.stop_detail);
    assert_eq!(play.run.shared.stop_reason, Some(StopReason::BudgetTokens));
    assert!(play.run.shared.ledger.spent.tokens <= 60_000);
    let root = &state(&play).nodes[0];
    assert_eq!(root.status, NodeStatus::Completed);
    let report = play.run.shared.report.clone().unwrap();
    assert!(!report["not_done"].as_array().unwrap().is_empty());
    assert!(!report["result"]["documentIds"].as_array().unwrap().is_empty());
    let raised = engine::budget::BudgetPatch { max_tokens: Some(Some(400_000)), ..Default::default() };
    play.run.command(Command::Continue { budgets: raised, message: None }, Actor::Platform, play.now).expect("goes on");
    play.commit();
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed, "{:?}", play.run.shared.stop_detail);
}

#[test]
fn a_crash_at_any_point_changes_nothing_in_the_end_but_attempts() {
    let make = || {
        scripted(brief("Crash"), |role, title, _| {
            (role == Role::TreePlanner && title == "Crash").then(|| Ok(plan(&[&["a", "b"], &["c"]])))
        })
    };
    let mut whole = make();
    whole.go();
    let cuts = whole.batches.iter().filter_map(|batch| batch.events.last()).map(|event| event.seq as usize);
    for cut in cuts {
        let mut play = make();
        play.resume_from(&whole.events[..cut]);
        play.go();
        check(&play);
        assert_eq!(play.run.shared.status(), Status::Completed, "cut at {cut}");
        assert_eq!(state(&play).nodes.len(), 4, "cut at {cut}");
        assert_eq!(count(&play, "tree.artifact_created"), 4, "cut at {cut}");
    }
}

#[test]
fn r9_a_tree_that_a_budget_ends_before_anything_was_made_is_stopped_by_that_budget() {
    // Given steps that look around, at a price that leaves no room for another round
    let mut small = brief("No money left");
    small.budgets.max_cost_usd = None;
    small.budgets.max_tokens = Some(60_000);
    let mut play = scripted(small, |role, title, _| match role {
        Role::TreePlanner if title == "No money left" => Some(Ok(plan(&[&["a", "b"], &["c"]]))),
        Role::TreeExecutor => Some(Ok(looks())),
        _ => None,
    });
    play.usage = engine::effect::Usage { input: 13_000, cached: 0, output: 500, estimated: false };
    // When they are cut short, and the root sums up nothing
    play.go();
    check(&play);
    // Then the limit is what ended the run, and not an error of the tree
    assert_eq!(count(&play, "tree.node_aggregated"), 1, "the root was asked for its sum, from the reserve");
    assert_eq!(play.run.shared.status(), Status::Stopped, "{:?}", play.run.shared.stop_detail);
    assert_eq!(play.run.shared.stop_reason, Some(StopReason::BudgetTokens));
}

/// A round without a result.
fn looks() -> Value {
    let call = json!({ "tool": "search_documents", "arguments": { "query": "oak" }, "purpose": "look" });
    json!({ "tool_calls": [call], "artifacts": [], "result": null, "question": null, "scratchpad": pad("looked") })
}
