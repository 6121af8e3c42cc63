//! Nodes delegated to a subagent: what they are shown at every call, and when their lessons are promoted.

use super::*;
use crate::play::{learned, lesson, scout};
use engine::run::Status;
use std::cell::RefCell;
use std::rc::Rc;

fn with_scout(objective: &str) -> Queued {
    Queued { agents: vec![scout()], ..brief(objective) }
}

/// Two steps side by side; the first goes to the scout.
fn shared_out(leaf: bool) -> Value {
    let mut answer = plan(&[&["a", "b"]]);
    answer["plan"]["bands"][0]["steps"][0] = step("a", leaf);
    answer["plan"]["bands"][0]["steps"][0]["agent"] = json!("scout");
    answer
}

fn learns(text: &str) -> Value {
    json!({ "tool_calls": [lesson(text)], "artifacts": [], "result": null, "question": null, "scratchpad": pad("keeps it") })
}

type Seen = Rc<RefCell<Vec<(Role, String, EffectAttempt)>>>;

/// The root shares out; "Step a" keeps a lesson in its first round and is then done, or fails.
fn played(leaf: bool, fails: bool) -> (Play, Seen) {
    let seen = Seen::default();
    let asked = seen.clone();
    let play = scripted(with_scout("Compare woods"), move |role, title, attempt| {
        let before = asked.borrow().iter().filter(|(known, of, _)| (*known, of.as_str()) == (role, title)).count();
        asked.borrow_mut().push((role, title.to_owned(), attempt.clone()));
        match (role, title) {
            (Role::TreePlanner, "Compare woods") => Some(Ok(shared_out(leaf))),
            (Role::TreeExecutor, "Step a") if before == 0 => Some(Ok(learns("Oak is dear"))),
            (Role::TreeExecutor, "Step a") if fails => Some(Ok(json!({ "scratchpad": pad("lost") }))),
            _ => None,
        }
    });
    (play, seen)
}

#[test]
fn a5_b15_a_node_given_to_a_subagent_sees_its_scratchpad_at_every_call_and_success_promotes_its_lesson() {
    let (mut play, seen) = played(false, false);
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
    // Its planner, both rounds of its executor: all saw who it is and what it remembers, read once
    for (role, title, attempt) in seen.borrow().iter() {
        let text = play.whole_text(attempt);
        let given = title == "Step a";
        assert_eq!(text.contains("## your_scratchpad\n{\"handle\":\"scout\",\"scratchpad\":{\"content\":\"notes of an earlier errand\",\"version\":3}}"), given, "{role:?} {title}\n{text}");
        assert_eq!(text.contains("# You are a subagent"), given, "{role:?} {title}");
        assert_eq!(
            text.contains("{\"name\":\"add_lesson\"") || text.contains("\"name\":\"add_lesson\""),
            given && *role == Role::TreeExecutor
        );
        assert_eq!(text.contains("## agents\n"), *role == Role::TreePlanner);
        assert!(!text.contains("\"tool\":\"read_scratchpad\""), "it has a section of its own");
    }
    let read =
        payloads(&play, "tree.tool_call_requested").iter().filter(|call| call["tool"] == "read_scratchpad").count();
    assert_eq!(read, 1);
    let rows = engine::projection::rows(&play.run, &play.events).nodes;
    let agents: Vec<_> = rows.iter().map(|row| (row.title.as_str(), row.agent.as_deref())).collect();
    assert_eq!(agents, [("Compare woods", None), ("Step a", Some("scout")), ("Step b", None)]);
    assert_eq!(learned(&play), (vec!["Oak is dear".to_owned()], vec![(1, "run.completed".to_owned())]));
}

#[test]
fn b15_what_a_node_learned_that_failed_stays_pending_though_the_run_completes() {
    let (mut play, _) = played(true, true);
    play.go();
    check(&play);
    assert_eq!((play.run.shared.status(), status_of(&play, "Step a")), (Status::Completed, NodeStatus::Failed));
    assert_eq!(learned(&play), (vec!["Oak is dear".to_owned()], vec![]));
    // Done over by another node of the same step it is the scout's again, and only what that learned is promoted
    node(&mut play, "Step a", NodeCommand::Retry);
    play.go();
    check(&play);
    let created = payloads(&play, "tree.node_created");
    assert_eq!(created.last().expect("a node")["agent"], "scout");
}

#[test]
fn a5_a_step_for_an_unknown_subagent_gets_one_repair_and_then_fails_its_node() {
    let mut asked = 0;
    let mut play = scripted(with_scout("Compare woods"), move |role, title, attempt| {
        (role == Role::TreePlanner && title == "Compare woods").then(|| {
            asked += 1;
            let mut answer = shared_out(true);
            if asked == 1 {
                answer["plan"]["bands"][0]["steps"][0]["agent"] = json!("nobody");
            } else {
                assert!(own_text(attempt).contains("is not one of this run's agents: scout"));
            }
            Ok(answer)
        })
    });
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
    let mut stubborn = scripted(with_scout("Compare woods"), |role, title, _| {
        (role == Role::TreePlanner && title == "Compare woods").then(|| {
            let mut answer = shared_out(true);
            answer["plan"]["bands"][0]["steps"][0]["agent"] = json!("nobody");
            Ok(answer)
        })
    });
    stubborn.go();
    assert_eq!(stubborn.run.shared.status(), Status::Failed);
}
