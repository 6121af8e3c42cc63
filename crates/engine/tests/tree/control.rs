//! Commands to a tree: answer, cancel, retry, pause, steer.

use crate::*;
use engine::run::Status;

/// Answers the root's planner with one band of two steps, and performs nothing else.
fn answer_root_planner(play: &mut Play) {
    play.run.take_over(None, play.now);
    let effect = play.run.due(play.now).external[0].clone();
    let attempt = play.run.intend(&effect, play.now).unwrap();
    let reply = engine::effect::ModelReply {
        text: plan(&[&["a", "b"]]).to_string(),
        usage: Default::default(),
        truncated: false,
        provider_request_id: None,
    };
    play.run.outcome(&effect, attempt.number, engine::effect::Outcome::Model(Ok(reply)), None, play.now);
}

#[test]
fn b9_a_question_parks_its_branch_only_and_the_run_waits_when_nothing_else_can_move() {
    let mut asked = 0;
    let mut play = scripted(brief("Ask"), move |role, title, attempt| match (role, title) {
        (Role::TreePlanner, "Ask") => Some(Ok(plan(&[&["a", "b"]]))),
        (Role::TreeExecutor, "Step a") => {
            asked += 1;
            if asked == 1 {
                return Some(Ok(
                    json!({ "question": { "text": "Which colour?", "options": ["red", "blue"], "default": null }, "scratchpad": pad("asking") }),
                ));
            }
            assert!(own_text(attempt).contains("\"answer\":\"blue\""));
            assert!(attempt.effect.0.ends_with(".n1.g1.x.r2"));
            None
        }
        _ => None,
    });
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::WaitingOnUser);
    assert_eq!(status_of(&play, "Step a"), NodeStatus::Blocked);
    assert_eq!(status_of(&play, "Step b"), NodeStatus::Completed, "the other branch went on");
    let question = play.events.iter().find(|event| event.kind() == "run.question_asked").expect("asked");
    assert_eq!(question.node_id, Some(by_title(&play, "Step a")));
    play.now = play.now.plus_ms(86_400_000);
    let before = play.run.shared.metrics.clone();
    play.run
        .command(Command::Answer { question: None, text: "blue".into() }, Actor::Platform, play.now)
        .expect("taken");
    play.commit();
    assert_eq!(play.run.shared.metrics, before, "waiting burns nothing");
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
}

#[test]
fn b9_a_question_with_a_default_is_answered_by_it_when_its_deadline_passes() {
    let mut asked = false;
    let mut play = scripted(brief("Default"), move |role, _, attempt| {
        if role == Role::TreePlanner && !std::mem::replace(&mut asked, true) {
            return Some(Ok(json!({ "mode": "plan", "question": { "text": "Deep or wide?", "default": "deep" } })));
        }
        assert!(
            role != Role::TreePlanner
                || own_text(attempt).contains("\"answer\":\"deep\"") && attempt.effect.0.ends_with(".n0.g1.plan.q2")
        );
        None
    });
    play.go();
    assert_eq!(play.run.shared.status(), Status::WaitingOnUser);
    play.now = play.now.plus_ms(25 * 3_600_000);
    play.run.tick(play.now);
    play.commit();
    play.go();
    check(&play);
    assert_eq!(count(&play, "run.question_expired"), 1);
    assert_eq!(play.run.shared.status(), Status::Completed);
}

#[test]
fn b1_a_canceled_subtree_keeps_its_disposition_refuses_late_results_and_settles_their_money() {
    let mut play = scripted(brief("Cancel"), |role, title, _| {
        (role == Role::TreePlanner && title == "Cancel").then(|| Ok(plan(&[&["a", "b"], &["c"]])))
    });
    play.run.take_over(None, play.now);
    let effect = play.run.due(play.now).external[0].clone();
    let attempt = play.run.intend(&effect, play.now).unwrap();
    let reply = |text: String| {
        engine::effect::Outcome::Model(Ok(engine::effect::ModelReply {
            text,
            usage: engine::effect::Usage { input: 500, cached: 0, output: 50, estimated: false },
            truncated: false,
            provider_request_id: None,
        }))
    };
    play.run.outcome(&effect, attempt.number, reply(plan(&[&["a", "b"], &["c"]]).to_string()), None, play.now);
    let due = play.run.due(play.now).external;
    let (first, second) = (due[0].clone(), due[1].clone());
    let attempt = play.run.intend(&first, play.now).unwrap();
    play.commit();
    node(&mut play, "Step a", NodeCommand::Cancel);
    assert_eq!(payloads(&play, "tree.node_canceled"), [json!({ "disposition": "in_flight_unknown" })]);
    let spent = play.run.shared.ledger.spent.tokens;
    play.run.outcome(&first, attempt.number, reply(done("late").to_string()), None, play.now);
    play.commit();
    assert_eq!(play.run.shared.ledger.spent.tokens, spent + 550, "the late answer is paid for");
    assert_eq!(status_of(&play, "Step a"), NodeStatus::Canceled);
    assert_eq!(count(&play, "tree.node_result"), 0, "and refused as a result");
    assert_eq!(play.run.due(play.now).external, [second], "its sibling goes on");
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
    let report = play.run.shared.report.clone().unwrap();
    assert_eq!(report["not_done"], json!(["Step a: canceled by a person"]));
    assert_eq!(
        payloads(&play, "tree.node_completed").last().unwrap()["outcome"],
        "partial",
        "to the parent it is a failed step"
    );
}

#[test]
fn b1_canceling_the_run_cancels_every_node_and_nothing_follows() {
    let mut play = scripted(brief("Cancel all"), |role, title, _| {
        (role == Role::TreePlanner && title == "Cancel all").then(|| Ok(plan(&[&["a", "b"], &["c"]])))
    });
    play.run.take_over(None, play.now);
    let effect = play.run.due(play.now).external[0].clone();
    play.run.intend(&effect, play.now).unwrap();
    play.commit();
    node(&mut play, "Cancel all", NodeCommand::Cancel);
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Canceled);
    assert_eq!(play.kinds().last(), Some(&"run.canceled"));
    assert_eq!(play.run.shared.ledger.open, 0);
}

#[test]
fn b1_retry_makes_a_new_node_reopens_every_ancestor_and_keeps_finished_siblings() {
    let mut failures = 0;
    let mut play = scripted(brief("Retry"), move |role, title, _| match (role, title) {
        (Role::TreePlanner, "Retry") => {
            let mut answer = plan(&[&["a", "b"]]);
            answer["plan"]["bands"][0]["steps"][0]["leaf"] = json!(false);
            Some(Ok(answer))
        }
        (Role::TreePlanner, "Step a") => Some(Ok(plan(&[&["deep", "fine"]]))),
        (Role::TreeExecutor, "Step deep") if failures < 2 => {
            failures += 1;
            Some(Ok(json!({})))
        }
        _ => None,
    });
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
    let (old, nodes) = (by_title(&play, "Step deep"), state(&play).nodes.len());
    node(&mut play, "Step deep", NodeCommand::Retry);
    assert_eq!(play.run.shared.status(), Status::Running);
    assert_eq!(payloads(&play, "run.resumed"), [json!({ "reason": "retry" })]);
    assert_eq!(payloads(&play, "tree.node_reopened").len(), 2);
    let new = by_title(&play, "Step deep");
    assert_ne!(old, new);
    assert_eq!(state(&play).node(new).unwrap().retry_of, Some(old));
    assert_eq!(state(&play).node(old).unwrap().status, NodeStatus::Failed, "the old one stays as it ended");
    assert_eq!(status_of(&play, "Step a"), NodeStatus::Waiting);
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
    assert_eq!(state(&play).nodes.len(), nodes + 1, "siblings are kept");
    assert_eq!(count(&play, "tree.node_aggregated"), 4, "both ancestors aggregate again");
    assert_eq!(play.run.shared.report.clone().unwrap()["not_done"], json!([]));
    assert!(play.kinds().iter().rev().take(2).any(|kind| *kind == "run.completed"));
    let refused = play
        .run
        .command(Command::Node { node: old, order: NodeCommand::Retry }, Actor::Platform, play.now)
        .unwrap_err();
    assert_eq!(refused.slug, "not_current");
}

#[test]
fn b1_a_paused_subtree_starts_nothing_and_goes_on_where_it_was() {
    let mut play = scripted(brief("Pause"), |role, title, _| {
        (role == Role::TreePlanner && title == "Pause").then(|| Ok(plan(&[&["a", "b"]])))
    });
    answer_root_planner(&mut play);
    play.commit();
    node(&mut play, "Step a", NodeCommand::Pause);
    play.go();
    assert_eq!(
        (status_of(&play, "Step a"), status_of(&play, "Step b")),
        (NodeStatus::Executing, NodeStatus::Completed)
    );
    assert_eq!(
        play.run.shared.status(),
        Status::Paused,
        "nothing but the paused branch is left, and waiting burns no time"
    );
    let before = play.run.shared.metrics.running_ms;
    play.now = play.now.plus_ms(3_600_000);
    node(&mut play, "Step a", NodeCommand::Resume);
    assert_eq!(play.run.shared.metrics.running_ms, before);
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
}

#[test]
fn b8_a_message_to_a_node_is_shown_to_it_and_those_below_with_a_receipt() {
    let mut play = scripted(brief("Steer"), |role, title, attempt| {
        let text = own_text(attempt);
        assert_eq!(text.contains("Mind the gap"), title == "Step a", "{title}");
        (role == Role::TreePlanner && title == "Steer").then(|| Ok(plan(&[&["a", "b"]])))
    });
    answer_root_planner(&mut play);
    let a = by_title(&play, "Step a");
    play.run
        .command(
            Command::Say { text: "Mind the gap".into(), node: Some(a), lane: engine::run::Lane::Steer },
            Actor::Platform,
            play.now,
        )
        .expect("queued");
    play.commit();
    play.go();
    check(&play);
    let delivered = play.events.iter().find(|event| event.kind() == "run.message_delivered").expect("a receipt");
    assert_eq!(delivered.node_id, Some(a));
}

/// The first call of a run is out, and has not come back.
fn called_out(objective: &str) -> (Play, engine::effect::EffectId, u32) {
    let mut play = scripted(brief(objective), |_, _, _| None);
    play.run.take_over(None, play.now);
    let effect = play.run.due(play.now).external[0].clone();
    let attempt = play.run.intend(&effect, play.now).expect("there is room").number;
    play.commit();
    (play, effect, attempt)
}

#[test]
fn b1_a_paused_node_whose_call_fails_brings_the_run_to_rest_at_once() {
    let (mut play, effect, attempt) = called_out("Fails while paused");
    node(&mut play, "Fails while paused", NodeCommand::Pause);
    assert_eq!(play.run.shared.status(), Status::Running, "a call is still out");
    let error = engine::effect::CallError {
        failure: engine::effect::CallFailure::Unreachable,
        message: "refused".into(),
        retry_after_ms: None,
        maybe_paid: false,
    };
    let parked = engine::run::Parked { provider: "fake".into(), until: play.now.plus_ms(15_000) };
    play.run.outcome(&effect, attempt, engine::effect::Outcome::Model(Err(error)), Some(parked), play.now);
    play.commit();
    assert_eq!(play.run.shared.status(), Status::Paused, "nothing can move but by resuming the node");
    play.now = play.now.plus_ms(20_000);
    node(&mut play, "Fails while paused", NodeCommand::Resume);
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
}

#[test]
fn b2_commands_sent_while_no_driver_works_add_no_working_time() {
    let (mut play, effect, _) = called_out("Left alone");
    let died = play.now;
    play.now = play.now.plus_ms(3_600_000);
    node(&mut play, "Left alone", NodeCommand::Pause);
    node(&mut play, "Left alone", NodeCommand::Resume);
    play.run.take_over(Some(died.plus_ms(10_000)), play.now);
    play.commit();
    assert_eq!(play.run.shared.metrics.running_ms, 10_000, "up to the last sign of life of whoever drove it");
    assert_eq!(play.run.due(play.now).external, [effect]);
}

#[test]
fn b1_a_step_retried_before_a_band_starts_ends_before_that_band() {
    // given: a node paused between its new plan and the first band of it
    let mut sums = 0;
    let mut play = scripted(brief("Again"), move |role, title, _| match (role, title) {
        (Role::TreePlanner, "Again") => Some(Ok(plan(&[&["a"]]))),
        (Role::TreeAggregator, _) if sums == 0 => {
            sums += 1;
            let mut answer = summed("synthesis");
            answer["next"] = json!({ "should_replan": true, "reason": "more" });
            Some(Ok(answer))
        }
        _ => None,
    });
    while count(&play, "tree.replan_requested") == 0 {
        play.step(1);
    }
    let effect = play.run.due(play.now).external[0].clone();
    let attempt = play.run.intend(&effect, play.now).expect("there is room").number;
    play.commit();
    node(&mut play, "Again", NodeCommand::Pause);
    let reply = engine::effect::ModelReply {
        text: plan(&[&["a"], &["d"]]).to_string(),
        usage: Default::default(),
        truncated: false,
        provider_request_id: None,
    };
    play.run.outcome(&effect, attempt, engine::effect::Outcome::Model(Ok(reply)), None, play.now);
    play.commit();
    // when: a step of the old plan is retried, and the node goes on
    node(&mut play, "Step a", NodeCommand::Retry);
    node(&mut play, "Again", NodeCommand::Resume);
    // then: the new band waits for it
    assert_eq!(status_of(&play, "Again"), NodeStatus::Waiting);
    assert_eq!(payloads(&play, "tree.node_created").len(), 3, "the root, a, and a again");
    play.go();
    check(&play);
    assert_eq!(status_of(&play, "Step d"), NodeStatus::Completed);
}

#[test]
fn t16_another_pause_resumes_nothing_and_a_refused_resume_names_the_nodes() {
    // given: a run whose only branch left is paused
    let mut play = scripted(brief("Hold"), |role, title, _| {
        (role == Role::TreePlanner && title == "Hold").then(|| Ok(plan(&[&["a", "b"]])))
    });
    answer_root_planner(&mut play);
    play.commit();
    node(&mut play, "Step a", NodeCommand::Pause);
    play.go();
    assert_eq!(play.run.shared.status(), Status::Paused);
    assert_eq!(play.run.activity(), engine::run::PAUSED_AT_NODES);
    // when: a second node is paused
    node(&mut play, "Hold", NodeCommand::Pause);
    // then: nothing was resumed by it, and both are named to whoever resumes the run
    assert_eq!(count(&play, "run.resumed"), 0);
    assert_eq!(play.run.shared.status(), Status::Paused);
    let refused = play.run.command(Command::Resume, Actor::Platform, play.now).expect_err("its nodes are paused");
    let nodes = vec![by_title(&play, "Hold"), by_title(&play, "Step a")];
    assert_eq!(refused.remedy, Some(engine::run::Remedy::ResumeNodes { run: play.run.shared.id, nodes }));
    for title in ["Hold", "Step a"] {
        node(&mut play, title, NodeCommand::Resume);
    }
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
}
