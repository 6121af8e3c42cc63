//! The run's criteria are judged by what the root made, before the root completes.

use crate::*;
use engine::facts::evidence::{CriterionState, RunOutcome};
use engine::run::{Criterion, Status};
use std::cell::RefCell;
use std::rc::Rc;

fn checked(criteria: &[&str]) -> Queued {
    let success_criteria = Criterion::number(criteria.iter().map(|text| (*text).to_owned()));
    Queued { success_criteria, no_verify: false, ..brief("Grow") }
}

fn refs(request: &str) -> Vec<String> {
    request.split("\"ref\":\"").skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}

fn verdict(at: &str, quote: &str, verdict: &str) -> Value {
    json!({ "verdicts": [{ "criterion": "c1", "quotes": [{ "ref": at, "text": quote }], "reason": "as it says", "verdict": verdict }] })
}

/// A tree of two steps whose verifier gives these verdicts, call by call, on the quote that the first ref holds.
fn judged(brief: Queued, verdicts: &'static [&'static str]) -> (Play, Rc<RefCell<Vec<String>>>) {
    let asked: Rc<RefCell<Vec<String>>> = Rc::default();
    let seen = asked.clone();
    let play = scripted(brief, move |role, title, attempt| match role {
        Role::TreePlanner if title == "Grow" => Some(Ok(plan(&[&["a", "b"]]))),
        Role::Verifier => {
            let request = own_text(attempt);
            let (number, first) = (seen.borrow().len(), refs(&request).first().cloned().unwrap_or_default());
            seen.borrow_mut().push(request);
            let quote = if verdicts[number] == "met" { "# All\n\nTogether." } else { "nothing of it" };
            Some(Ok(verdict(&first, quote, verdicts[number])))
        }
        _ => None,
    });
    (play, asked)
}

#[test]
fn t1_a_trees_criteria_are_verified_before_the_run_completes() {
    let (mut play, asked) = judged(checked(&["all together"]), &["met"]);
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed, "{:?}", play.run.shared.stop_detail);
    assert_eq!(play.run.shared.criteria[0].state, CriterionState::Verified);
    assert_eq!(play.run.shared.outcome(), Some(RunOutcome::Verified));
    // The root's main document comes first, then what its children handed up; nobody's words about it are shown.
    let request = &asked.borrow()[0];
    assert_eq!(refs(request).len(), 3, "{request}");
    assert!(request.contains("About synthesis") && !request.contains("synthesis together"), "{request}");
    let kinds = play.kinds();
    let at = |kind: &str| kinds.iter().position(|known| *known == kind).expect(kind);
    assert!(
        at("run.criterion_checked")
            < kinds.iter().rposition(|kind| *kind == "tree.node_completed").expect("the root's")
    );
}

#[test]
fn t1_what_is_refuted_is_a_reason_to_plan_again_while_the_root_may() {
    let (mut play, asked) = judged(checked(&["all together"]), &["not_met", "met"]);
    play.go();
    check(&play);
    assert_eq!((play.run.shared.status(), asked.borrow().len()), (Status::Completed, 2));
    let replans = payloads(&play, "tree.replan_requested");
    assert!(
        replans[0]["reason"].as_str().is_some_and(|why| why.contains("c1") && why.contains("as it says")),
        "{replans:?}"
    );
    assert_eq!(play.run.shared.outcome(), Some(RunOutcome::Verified));
}

#[test]
fn t1_what_stays_refuted_is_reported_and_never_looks_like_success() {
    let (mut play, asked) = judged(checked(&["all together"]), &["not_met", "not_met"]);
    play.go();
    check(&play);
    assert_eq!((play.run.shared.status(), asked.borrow().len()), (Status::Completed, 2), "one replan is allowed");
    assert_eq!(play.run.shared.criteria[0].state, CriterionState::Refuted);
    assert_eq!(play.run.shared.outcome(), Some(RunOutcome::Partial));
    let root = payloads(&play, "tree.node_completed").pop().expect("the root's");
    assert_eq!(root["outcome"], "partial");
}

#[test]
fn t1_a_root_that_works_alone_is_judged_too_and_may_then_plan() {
    let mut planned = 0;
    let mut calls = 0;
    let mut play = scripted(checked(&["all together"]), move |role, title, attempt| match role {
        Role::TreePlanner if title == "Grow" => {
            planned += 1;
            Some(Ok(if planned == 1 { execute() } else { plan(&[&["a"]]) }))
        }
        Role::Verifier => {
            calls += 1;
            let first = refs(&own_text(attempt)).first().cloned().unwrap_or_default();
            Some(Ok(verdict(&first, "# All\n\nTogether.", if calls == 1 { "not_met" } else { "met" })))
        }
        _ => None,
    });
    play.go();
    check(&play);
    assert_eq!((play.run.shared.status(), play.run.shared.outcome()), (Status::Completed, Some(RunOutcome::Verified)));
}

#[test]
fn t2_a_root_with_failed_steps_is_partial_whatever_is_verified() {
    let mut play = scripted(checked(&["all together"]), |role, title, attempt| match role {
        Role::TreePlanner if title == "Grow" => Some(Ok(plan(&[&["a", "b"]]))),
        Role::TreeExecutor if title == "Step b" => Some(Ok(json!({ "nonsense": 1 }))),
        Role::Verifier => {
            let first = refs(&own_text(attempt)).first().cloned().unwrap_or_default();
            Some(Ok(verdict(&first, "# All\n\nTogether.", "met")))
        }
        _ => None,
    });
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
    assert_eq!(play.run.shared.criteria[0].state, CriterionState::Verified);
    assert_eq!(play.run.shared.outcome(), Some(RunOutcome::Partial));
}

#[test]
fn t1_a_kill_at_any_commit_of_a_checked_tree_ends_the_same_and_pays_once() {
    let (mut whole, _) = judged(checked(&["all together"]), &["met"]);
    whole.go();
    let ends: Vec<usize> =
        whole.batches.iter().filter_map(|batch| batch.events.last()).map(|event| event.seq as usize).collect();
    for end in ends.into_iter().filter(|end| *end + 30 > whole.events.len()) {
        let (mut play, asked) = judged(checked(&["all together"]), &["met", "met"]);
        play.blobs = whole.blobs.clone();
        play.resume_from(&whole.events[..end]);
        let before = |batch: &&engine::batch::Batch| batch.events.last().is_some_and(|event| event.seq as usize <= end);
        play.batches = whole.batches.iter().filter(before).cloned().collect();
        let paid = whole.events[..end].iter().any(|event| event.kind() == "run.verdicts_given");
        play.go();
        assert_eq!(play.run.shared.outcome(), Some(RunOutcome::Verified), "from {end}");
        assert!(!paid || asked.borrow().is_empty(), "from {end}");
    }
}
