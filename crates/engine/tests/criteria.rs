//! The verifier and the outcome of a run, played without a store or a network.

mod play;

use engine::criteria::CriterionRecord;
use engine::effect::{CallError, CallFailure};
use engine::facts::Fact;
use engine::facts::evidence::{CriterionDecision, CriterionState, RunOutcome};
use engine::facts::run::Queued;
use engine::facts::{EffectFact, RunFact};
use engine::model::Role;
use engine::run::{Command, Criterion, Kind, Run, Status};
use play::{Play, brief, plan};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::rc::Rc;

const TEXT: &str = "We recommend the second tool, because it restores four times faster.";

fn checked(criteria: &[&str]) -> Queued {
    let success_criteria = Criterion::number(criteria.iter().map(|text| (*text).to_owned()));
    Queued { success_criteria, no_verify: false, ..brief("Compare backup tools") }
}

fn write(title: &str) -> Value {
    json!({ "tool": "create_document", "arguments": { "title": title, "content": TEXT }, "purpose": "write" })
}

fn step(id: &str, status: &str) -> Value {
    json!({ "id": id, "title": format!("Do {id}"), "status": status, "owner": "planner" })
}

/// The references that a request shows, in order.
fn refs(text: &str) -> Vec<String> {
    let parts = text.split("\"ref\":\"").skip(1).filter_map(|rest| rest.split('"').next());
    parts.map(str::to_owned).collect()
}

/// What the planner answers in each iteration: the first writes, every later one leaves.
fn leaving(iteration: usize) -> Value {
    let mut answer = plan(&format!("iteration {iteration}"));
    answer["plan"]["steps"] = json!([step("s1", if iteration == 1 { "doing" } else { "done" })]);
    match iteration {
        1 => answer["tool_calls"] = json!([write("Recommendation")]),
        _ => {
            answer["remaining_work"] = json!([]);
            answer["exit_signal"] = json!(true);
        }
    }
    answer
}

/// The verifier's requests, whole, in order.
type Asked = Rc<RefCell<Vec<String>>>;

/// A run whose planner writes and leaves, with this verifier, which is given the number of its call and the first ref.
fn judged(
    brief: Queued,
    planner: impl Fn(usize) -> Value + 'static,
    verifier: impl Fn(usize, &str) -> Result<Value, CallError> + 'static,
) -> (Play, Asked) {
    let asked = Asked::default();
    let seen = asked.clone();
    let (mut plans, mut calls) = (0, 0);
    let play = Play::new(brief, move |role, attempt| match role {
        Role::HomeworkPlanner => {
            plans += 1;
            Ok(planner(plans))
        }
        Role::Verifier => {
            calls += 1;
            let text = play::own_text(attempt);
            seen.borrow_mut().push(text.clone());
            verifier(calls, refs(&text).first().map_or("", String::as_str))
        }
        _ => Ok(json!({ "title": "Report", "summary": "Words.", "findings": [], "not_done": [] })),
    });
    (play, asked)
}

fn verdict(criterion: &str, quote: Option<(&str, &str)>, verdict: &str) -> Value {
    let quotes: Vec<Value> = quote.iter().map(|(at, text)| json!({ "ref": at, "text": text })).collect();
    json!({ "verdicts": [{ "criterion": criterion, "quotes": quotes, "reason": format!("{verdict}, as it says"), "verdict": verdict }] })
}

fn met(at: &str) -> Value {
    verdict("c1", Some((at, "restores four times faster")), "met")
}

fn criterion(play: &Play) -> &CriterionRecord {
    &play.run.shared.criteria[0]
}

#[test]
fn h1_a_criterion_is_verified_by_a_quote_that_is_in_the_cited_version() {
    // Given a planner that cites nothing and a verifier that quotes what was written
    let (mut play, asked) = judged(checked(&["a recommendation exists"]), leaving, |_, at| Ok(met(at)));
    // When it leaves
    play.go();
    // Then the newest document was cited for it, the quote was found, and the run says so
    assert_eq!(play.run.shared.status(), Status::Completed, "{:?}", play.run.shared.stop_detail);
    assert_eq!(criterion(&play).state, CriterionState::Verified);
    assert_eq!(criterion(&play).evidence[0].quotes, ["restores four times faster"]);
    assert_eq!(criterion(&play).evidence[0].version, Some(1));
    assert_eq!(play.run.shared.outcome(), Some(RunOutcome::Verified));
    assert_eq!(asked.borrow().len(), 1);
    // And its cost is shown apart
    let metrics = &play.run.shared.metrics;
    assert_eq!((metrics.verifier.llm_calls, metrics.llm_calls), (1, 4));
    assert!(metrics.verifier.cost_usd < metrics.cost_usd && metrics.verifier.cost_usd.0 > 0);
}

#[test]
fn h1_the_verifier_sees_the_criterion_and_the_evidence_and_nothing_of_the_worker() {
    let (mut play, asked) = judged(checked(&["a recommendation exists"]), leaving, |_, at| Ok(met(at)));
    play.go();
    let request = &asked.borrow()[0];
    assert!(request.contains("\"text\":\"a recommendation exists\""), "{request}");
    for of_the_worker in
        ["iteration 2", "Do s1", "progress_summary", "## plan", "## scratchpad", "Compare backup tools"]
    {
        assert!(!request.contains(of_the_worker), "{of_the_worker} is the worker's: {request}");
    }
}

#[test]
fn h1_what_the_verifier_refutes_does_not_complete() {
    // Given a verifier that finds the criterion not met
    let (mut play, asked) = judged(checked(&["a 40 page book exists"]), leaving, |_, at| {
        Ok(verdict("c1", Some((at, "We recommend the second tool")), "not_met"))
    });
    // When the planner insists on leaving with the same evidence
    play.go();
    // Then the run does not complete, the reason names criterion and ref, and unchanged evidence is not paid for again
    assert_eq!(play.run.shared.status(), Status::Stopped);
    assert_eq!(play.run.shared.outcome(), Some(RunOutcome::Partial));
    assert_eq!(criterion(&play).state, CriterionState::Refuted);
    assert_eq!(asked.borrow().len(), 1, "a criterion is judged again only when its evidence changed");
    let refused: Vec<String> = play
        .events
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::Homework(engine::facts::HomeworkFact::ExitRefused(fact)) => Some(fact.reasons.join("; ")),
            _ => None,
        })
        .collect();
    assert!(
        refused.len() >= 2
            && refused.iter().all(|why| why.contains("c1") && why.contains("doc:") && why.contains("as it says")),
        "{refused:?}"
    );
}

#[test]
fn h1_new_evidence_is_judged_anew() {
    // Given a verifier that is content only with the second document
    let planner = |iteration| {
        let mut answer = leaving(iteration);
        if iteration == 3 {
            answer["tool_calls"] = json!([write("Second")]);
        }
        answer
    };
    let (mut play, asked) = judged(checked(&["two documents"]), planner, |call, at| {
        Ok(if call == 1 { verdict("c1", None, "not_met") } else { met(at) })
    });
    play.go();
    assert_eq!((play.run.shared.status(), asked.borrow().len()), (Status::Completed, 2));
    assert_eq!(play.run.shared.outcome(), Some(RunOutcome::Verified));
}

#[test]
fn h1_met_without_a_quote_that_is_there_is_asked_once_more_and_then_stays_a_claim() {
    for wrong in ["restores five times faster", "too short", "This criterion was verified by the committee."] {
        let (mut play, asked) = judged(checked(&["a recommendation exists"]), leaving, move |_, at| {
            Ok(verdict("c1", Some((at, wrong)), "met"))
        });
        play.go();
        // Then the second request names the quote, and the run completes without being called verified
        assert_eq!(asked.borrow().len(), 2, "{wrong}");
        assert!(
            asked.borrow()[1].contains("not found word for word") && asked.borrow()[1].contains(wrong),
            "{}",
            asked.borrow()[1]
        );
        assert_eq!(criterion(&play).state, CriterionState::Claimed);
        assert!(criterion(&play).evidence.iter().all(|cited| cited.quotes.is_empty()));
        assert_eq!(play.run.shared.outcome(), Some(RunOutcome::Claimed));
    }
}

#[test]
fn h1_a_quote_under_a_ref_that_was_not_cited_is_dropped() {
    let (mut play, _) = judged(checked(&["a recommendation exists"]), leaving, |_, _| {
        Ok(verdict("c1", Some(("doc:019a0000-0000-7000-8000-000000000000", "restores four times faster")), "met"))
    });
    play.go();
    assert_eq!(criterion(&play).state, CriterionState::Claimed);
}

#[test]
fn h1_a_verifier_that_fails_or_talks_leaves_a_claim_with_the_reason() {
    let talks = |_: usize, _: &str| Ok(json!({ "opinion": "it is fine" }));
    let (mut play, asked) = judged(checked(&["a recommendation exists"]), leaving, talks);
    play.go();
    assert_eq!((asked.borrow().len(), play.run.shared.status()), (2, Status::Completed), "one repair");
    assert!(criterion(&play).reason.as_ref().is_some_and(|why| why.contains("schema")), "{:?}", criterion(&play));
    let fails = |_: usize, _: &str| {
        Err(CallError { failure: CallFailure::Rejected, message: "no".into(), retry_after_ms: None, maybe_paid: false })
    };
    let (mut play, _) = judged(checked(&["a recommendation exists"]), leaving, fails);
    play.go();
    assert_eq!(
        (criterion(&play).state, play.run.shared.outcome()),
        (CriterionState::Claimed, Some(RunOutcome::Claimed))
    );
}

#[test]
fn b3_a_verifier_without_a_valid_key_ends_nothing_and_reopens_nothing() {
    let refused =
        || CallError { failure: CallFailure::Auth, message: "401".into(), retry_after_ms: None, maybe_paid: false };
    // Given a provider that refuses the verifier's key, then the run completes and says that nobody checked
    let (mut play, _) = judged(checked(&["a recommendation exists"]), leaving, move |_, _| Err(refused()));
    play.go();
    assert_eq!((play.run.shared.status(), play.run.shared.outcome()), (Status::Completed, Some(RunOutcome::Claimed)));
    assert!(criterion(&play).reason.as_ref().is_some_and(|why| why.contains("401")), "{:?}", criterion(&play));
    // When it is checked again, then it is as completed as before
    let actor = engine::actor::Actor::Person(play.run.shared.brief.owner);
    let command = Command::Criterion { criterion: None, decision: CriterionDecision::Recheck, note: None };
    play.run.command(command, actor, play.now).unwrap();
    play.go();
    assert_eq!((play.run.shared.status(), criterion(&play).checking), (Status::Completed, false));
}

#[test]
fn b3_a_run_that_is_canceled_in_its_check_is_not_being_checked() {
    let (mut whole, _) = judged(checked(&["a recommendation exists"]), leaving, |_, at| Ok(met(at)));
    whole.go();
    let begun = whole.events.iter().position(|event| event.kind() == "run.evidence_read").expect("a check");
    // Given a run whose criterion is being judged
    let events = whole.events[..=begun].to_vec();
    whole.resume_from(&events);
    assert!(criterion(&whole).checking);
    // When a person cancels it, then nobody is at it any more
    whole.run.command(Command::Cancel, engine::actor::Actor::Person(whole.run.shared.brief.owner), whole.now).unwrap();
    assert_eq!((whole.run.shared.status(), criterion(&whole).checking), (Status::Canceled, false));
}

#[test]
fn h1_unknown_criteria_are_ignored_and_each_criterion_has_its_own_verdict() {
    let (mut play, _) = judged(checked(&["one", "two", "three"]), leaving, |_, at| {
        let quote = json!([{ "ref": at, "text": "restores four times faster" }]);
        Ok(json!({ "verdicts": [
            { "criterion": "c9", "quotes": quote, "reason": "", "verdict": "met" },
            { "criterion": "c1", "quotes": quote, "reason": "", "verdict": "met" },
            { "criterion": "c2", "quotes": [], "reason": "it cannot be seen", "verdict": "cannot_tell" }] }))
    });
    play.go();
    let states: Vec<CriterionState> = play.run.shared.criteria.iter().map(|criterion| criterion.state).collect();
    assert_eq!(states, [CriterionState::Verified, CriterionState::Claimed, CriterionState::Claimed]);
    assert_eq!(play.run.shared.outcome(), Some(RunOutcome::Claimed));
    assert!(
        play.run.shared.stop_detail.as_ref().is_some_and(|why| why.contains("1 of 3")),
        "{:?}",
        play.run.shared.stop_detail
    );
}

#[test]
fn h1_without_verification_a_criterion_stays_claimed() {
    let brief = Queued { no_verify: true, ..checked(&["a recommendation exists"]) };
    let (mut play, asked) = judged(brief, leaving, |_, at| Ok(met(at)));
    play.go();
    assert_eq!((asked.borrow().len(), play.run.shared.outcome()), (0, Some(RunOutcome::Claimed)));
    assert!(!criterion(&play).evidence.is_empty(), "P6: what was made is cited");
}

#[test]
fn h1_a_kill_at_any_event_pays_the_verifier_once() {
    // Given a whole run with a check
    let (mut whole, _) = judged(checked(&["a recommendation exists"]), leaving, |_, at| Ok(met(at)));
    whole.go();
    // When a process dies after each of its commits and another goes on
    let mut seqs: Vec<usize> =
        whole.batches.iter().filter_map(|batch| batch.events.last()).map(|event| event.seq as usize).collect();
    seqs.dedup();
    for seq in seqs {
        let (mut play, asked) = judged(checked(&["a recommendation exists"]), move |_| leaving(2), |_, at| Ok(met(at)));
        play.blobs = whole.blobs.clone();
        play.resume_from(&whole.events[..seq]);
        play.batches = whole
            .batches
            .iter()
            .filter(|batch| batch.events.last().is_some_and(|event| event.seq as usize <= seq))
            .cloned()
            .collect();
        let paid = whole.events[..seq].iter().any(|event| matches!(&event.fact, Fact::Run(RunFact::VerdictsGiven(_))));
        play.go();
        // Then an answer that is stored is not asked for again
        assert!(play.run.shared.status().is_terminal(), "from {seq}");
        assert!(!paid || asked.borrow().is_empty(), "from {seq}");
        assert_eq!(
            engine::projection::run_row(&Run::fold(&play.events).unwrap()),
            engine::projection::run_row(&play.run)
        );
    }
}

#[test]
fn b3_a_persons_word_beats_a_check_and_changes_the_outcome_of_an_ended_run() {
    let (mut play, asked) = judged(checked(&["a recommendation exists"]), leaving, |_, at| Ok(met(at)));
    play.go();
    let actor = engine::actor::Actor::Person(play.run.shared.brief.owner);
    let say = |play: &mut Play, decision, note: Option<&str>| {
        let command = Command::Criterion { criterion: Some("c1".into()), decision, note: note.map(str::to_owned) };
        play.run.command(command, actor, play.now).map_err(|refusal| refusal.slug)
    };
    // When a person rejects it, then it is rejected and the run partial, and still completed
    say(&mut play, CriterionDecision::Reject, Some("I cannot find it")).unwrap();
    assert_eq!(
        (criterion(&play).state, play.run.shared.outcome()),
        (CriterionState::Rejected, Some(RunOutcome::Partial))
    );
    assert_eq!(
        (criterion(&play).reason.as_deref(), play.run.shared.status()),
        (Some("I cannot find it"), Status::Completed)
    );
    // When it is checked again, one call is made and its verdict counts
    say(&mut play, CriterionDecision::Recheck, None).unwrap();
    assert!(criterion(&play).checking);
    assert_eq!(say(&mut play, CriterionDecision::Recheck, None), Err("already_checking"));
    play.go();
    assert_eq!((criterion(&play).state, asked.borrow().len()), (CriterionState::Verified, 2));
    assert_eq!((play.run.shared.outcome(), play.run.shared.status()), (Some(RunOutcome::Verified), Status::Completed));
    say(&mut play, CriterionDecision::Accept, None).unwrap();
    assert_eq!(play.run.shared.outcome(), Some(RunOutcome::Verified));
}

#[test]
fn b3_a_recheck_sees_the_text_as_it_is_now() {
    let (mut play, _) = judged(checked(&["a recommendation exists"]), leaving, |_, at| Ok(met(at)));
    play.go();
    // Given a person removed the passage
    let reference = criterion(&play).evidence[0].reference.clone();
    play.edited.insert(reference, vec!["Nothing here any more.".into()]);
    let actor = engine::actor::Actor::Person(play.run.shared.brief.owner);
    let command = Command::Criterion { criterion: None, decision: CriterionDecision::Recheck, note: None };
    play.run.command(command, actor, play.now).unwrap();
    play.go();
    // Then the same quote no longer verifies it, and the version that was looked at is the new one
    assert_eq!((criterion(&play).state, criterion(&play).evidence[0].version), (CriterionState::Claimed, Some(2)));
    assert_eq!(play.run.shared.outcome(), Some(RunOutcome::Claimed));
}

#[test]
fn b3_what_cannot_be_decided_is_refused_with_what_can() {
    let (mut play, _) = judged(checked(&["a recommendation exists"]), leaving, |_, at| Ok(met(at)));
    let actor = engine::actor::Actor::Person(play.run.shared.brief.owner);
    let mut refused = |criterion: Option<&str>, decision| {
        let command = Command::Criterion { criterion: criterion.map(str::to_owned), decision, note: None };
        play.run.command(command, actor, play.now).unwrap_err()
    };
    let unknown = refused(Some("c7"), CriterionDecision::Accept);
    assert!(unknown.slug == "criterion_not_found" && unknown.message.contains("c1"), "{unknown:?}");
    assert_eq!(refused(Some("c1"), CriterionDecision::Recheck).slug, "run_not_ended");
    assert_eq!(refused(None, CriterionDecision::Accept).slug, "criterion_not_found");
}

#[test]
fn h1_a_step_whose_executor_failed_is_not_done() {
    // Given an executor of s1 that never finishes, and a planner that marks s1 done and leaves
    let planner = |iteration: usize| {
        let mut answer = leaving(iteration);
        if iteration == 1 {
            answer["executor_tasks"] =
                json!([{ "branch_id": "b1", "step_id": "s1", "title": "Do it", "objective": "x", "tools": [] }]);
        }
        answer
    };
    let mut plans = 0;
    let mut play = Play::new(Queued { success_criteria: Vec::new(), ..checked(&[]) }, move |role, _| match role {
        Role::HomeworkPlanner => {
            plans += 1;
            Ok(planner(plans))
        }
        Role::HomeworkExecutor => Ok(json!({ "nonsense": true })),
        _ => Ok(json!({ "title": "Report", "summary": "Words.", "findings": [], "not_done": [] })),
    });
    play.go();
    // Then the exit is refused with that reason, and the run that ends is not a success
    let refused = play.events.iter().find_map(|event| match &event.fact {
        Fact::Homework(engine::facts::HomeworkFact::ExitRefused(fact)) => Some(fact.reasons.join("; ")),
        _ => None,
    });
    assert!(
        refused.as_ref().is_some_and(|why| why.contains("s1") && why.contains("b1") && why.contains("failed")),
        "{refused:?}"
    );
    assert_eq!((play.run.shared.status(), play.run.shared.outcome()), (Status::Stopped, Some(RunOutcome::Partial)));
}

#[test]
fn h1_a_failed_step_is_not_made_good_by_its_branch_at_another_step() {
    // Given branch b1 failed at s1, then only talks about s2, and a planner that calls both done and leaves
    let planner = |iteration: usize| {
        let mut answer = leaving(iteration);
        let status = if iteration == 1 { "doing" } else { "done" };
        answer["plan"]["steps"] = json!([step("s1", status), step("s2", status)]);
        answer["exit_signal"] = json!(iteration > 2);
        let at = ["", "s1", "s2"].get(iteration).copied().unwrap_or_default();
        let task = json!({ "branch_id": "b1", "step_id": at, "title": "Do it", "objective": at, "tools": [] });
        answer["executor_tasks"] = if at.is_empty() { json!([]) } else { json!([task]) };
        answer
    };
    let (mut plans, mut rounds) = (0, 0);
    let mut play = Play::new(Queued { success_criteria: Vec::new(), ..checked(&[]) }, move |role, _| match role {
        Role::HomeworkPlanner => {
            plans += 1;
            Ok(planner(plans))
        }
        Role::HomeworkExecutor => {
            rounds += 1;
            let talk = json!({ "thought": "", "tool_calls": [], "done": true, "summary": "done", "result_snippet": null, "completed_step_ids": [] });
            Ok(if rounds > 2 { talk } else { json!({ "nonsense": true }) })
        }
        _ => Ok(json!({ "title": "Report", "summary": "Words.", "findings": [], "not_done": [] })),
    });
    play.go();
    // Then s1 is as failed as it was
    assert_eq!(play.run.shared.status(), Status::Stopped, "{:?}", play.run.shared.stop_detail);
    assert!(play.kinds().contains(&"homework.exit_refused"), "{:?}", play.kinds());
}

#[test]
fn h1_dropped_steps_without_criteria_are_partial_and_with_new_steps_are_not() {
    let run = |second: Value| {
        let planner = move |iteration: usize| {
            let mut answer = leaving(iteration.max(1));
            answer["plan"]["steps"] = match iteration {
                1 => json!([step("s1", "doing"), step("s2", "pending"), step("s3", "pending")]),
                _ => second.clone(),
            };
            answer["exit_signal"] = json!(iteration >= 3);
            answer
        };
        let brief = Queued { success_criteria: Vec::new(), ..checked(&[]) };
        let (mut play, _) = judged(brief, planner, |_, at| Ok(met(at)));
        play.go();
        assert_eq!(play.run.shared.status(), Status::Completed, "{:?}", play.run.shared.stop_detail);
        play.run.shared.outcome()
    };
    assert_eq!(run(json!([step("s1", "done")])), Some(RunOutcome::Partial));
    assert_eq!(run(json!([step("s1", "done"), step("s9", "done")])), Some(RunOutcome::Claimed));
    assert_eq!(run(json!([step("s1", "done"), step("s2", "done"), step("s3", "done")])), Some(RunOutcome::Claimed));
}

#[test]
fn h1_a_run_that_made_nothing_and_did_not_complete_comes_to_nothing() {
    let (mut play, _) = judged(checked(&["a recommendation exists"]), |_| plan("thinking"), |_, at| Ok(met(at)));
    play.go();
    assert_eq!((play.run.shared.status(), play.run.shared.outcome()), (Status::Stopped, Some(RunOutcome::Nothing)));
    assert_eq!(criterion(&play).state, CriterionState::Open);
}

#[test]
fn b3_a_check_without_room_in_the_budget_leaves_a_claim_and_the_exit_proceeds() {
    // Given a budget that is used up when the planner leaves
    let mut brief = checked(&["a recommendation exists"]);
    brief.budgets.max_tokens = Some(60_000);
    let (mut play, asked) = judged(brief, leaving, |_, at| Ok(met(at)));
    play.usage.input = 21_000;
    play.go();
    assert_eq!(play.run.shared.status(), Status::Completed, "{:?}", play.run.shared.stop_detail);
    assert!(asked.borrow().is_empty(), "there was no room for the verifier");
    assert!(
        criterion(&play).reason.as_ref().is_some_and(|why| why.contains("budget_tokens")),
        "{:?}",
        criterion(&play)
    );
}

#[test]
fn b3_room_is_kept_for_the_verifier() {
    // Given a limit that has room for a second planner call, or for the verifier
    let planner_calls = |no_verify: bool| {
        let mut brief = Queued { no_verify, ..checked(&["a recommendation exists"]) };
        brief.budgets.max_tokens = Some(80_000);
        let (mut play, _) = judged(brief, |_| leaving(1), |_, at| Ok(met(at)));
        play.usage.input = 45_000;
        play.go();
        let is_plan = |effect: &str| effect.ends_with(".plan");
        play.events
            .iter()
            .filter(
                |event| matches!(&event.fact, Fact::Effect(EffectFact::Started(started)) if is_plan(&started.effect.0)),
            )
            .count()
    };
    // Then the planner leaves it to the verifier
    assert_eq!((planner_calls(false), planner_calls(true)), (1, 2));
}

#[test]
fn m11_a_tasks_done_is_checked_too() {
    let mut brief = checked(&["a haiku of three lines"]);
    brief.kind = Kind::Task;
    brief.agent = Some(play::scout());
    let mut play = Play::new(brief, |role, _| {
        Ok(match role {
            Role::AgentStep => json!({ "action": "done", "message": "I wrote it" }),
            _ => json!({ "scratchpad": null }),
        })
    });
    play.deny("open_page", "closed");
    play.deny("read_scratchpad", "closed");
    play.go();
    // Then a task that made nothing is not called a success on its own word
    assert_eq!((play.run.shared.status(), play.run.shared.outcome()), (Status::Completed, Some(RunOutcome::Partial)));
}
