//! Task runs, played without a store or a network: every end is followed by one reflection.

mod play;

use engine::actor::Actor;
use engine::budget::BudgetPatch;
use engine::effect::{CallError, CallFailure, EffectAttempt};
use engine::facts::run::{Agent, Queued};
use engine::ids::{ActorId, derive};
use engine::model::Role;
use engine::run::{Command, Kind, Run, Status, StopReason};
use engine::workspace::Mutation;
use play::{Play, START};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::rc::Rc;

fn task_brief(max_steps: Option<u32>) -> Queued {
    let id = ActorId(derive(START, &[b"agent"]));
    let agent = Agent { id, handle: "scout".into(), identity: "You are tidy.".into(), max_steps };
    Queued { kind: Kind::Task, agent: Some(agent), ..play::brief("Write the opening hours down") }
}

fn navigate(path: &str) -> Value {
    json!({ "action": "navigate", "path": path, "thought": "look" })
}

fn done() -> Value {
    json!({ "action": "done", "message": "The hours are written down." })
}

type Asked = Rc<RefCell<Vec<(Role, EffectAttempt)>>>;

/// The agent takes `steps` in turn, the last of them for ever, and then reflects.
fn scripted_task(brief: Queued, steps: Vec<Value>, reflection: Result<Value, CallError>) -> (Play, Asked) {
    let asked = Asked::default();
    let seen = asked.clone();
    let mut taken = 0;
    let play = Play::new(brief, move |role, attempt| {
        seen.borrow_mut().push((role, attempt.clone()));
        if role == Role::AgentReflection {
            return reflection.clone();
        }
        taken += 1;
        Ok(steps[(taken - 1).min(steps.len() - 1)].clone())
    });
    (play, asked)
}

/// Opens a page, creates a document and is done.
fn writes_a_document() -> (Play, Asked) {
    let steps = vec![
        navigate("/projects/1"),
        json!({ "action": "execute", "action_name": "create_document", "params": { "title": "Hours" } }),
        done(),
    ];
    scripted_task(task_brief(None), steps, remember("keep the hours in one document"))
}

fn reflections(asked: &Asked) -> usize {
    asked.borrow().iter().filter(|(role, _)| *role == Role::AgentReflection).count()
}

fn written(play: &Play) -> Vec<String> {
    let changes = play.batches.iter().flat_map(|batch| &batch.changes);
    changes
        .filter_map(|change| match &change.mutation {
            Mutation::WriteScratchpad { content, based_on: 3, .. } => Some(content.clone()),
            _ => None,
        })
        .collect()
}

fn remember(text: &str) -> Result<Value, CallError> {
    Ok(json!({ "scratchpad": text }))
}

fn count(play: &Play, kind: &str) -> usize {
    play.kinds().iter().filter(|known| **known == kind).count()
}

#[test]
fn a4_a_task_that_is_done_begins_at_whoami_and_reflects_before_it_ends() {
    // Given an agent that opens a page, acts on it and is done
    let (mut play, asked) = writes_a_document();
    // When it runs
    play.go();
    // Then it completed, after one reflection that saw the conversation and the old notes, and the new notes are kept
    assert_eq!((play.run.shared.status(), reflections(&asked)), (Status::Completed, 1));
    assert_eq!(written(&play), ["keep the hours in one document"]);
    let kinds = play.kinds();
    let at = |kind: &str| kinds.iter().position(|known| *known == kind).expect(kind);
    assert!(at("task.step") < at("task.ended") && at("task.ended") < at("task.scratchpad_updated"));
    assert!(at("task.scratchpad_updated") < at("run.completed"));
    let first = play.events.iter().find(|event| event.kind() == "task.step").expect("a first step");
    assert!(first.payload.contains("\"/whoami\""), "{}", first.payload);
    let (_, reflection) = asked.borrow().iter().find(|(role, _)| *role == Role::AgentReflection).cloned().expect("one");
    let text = play.whole_text(&reflection);
    for seen in [
        "notes of an earlier errand",
        "The hours are written down.",
        "# /projects/1",
        "## outcome\n\"completed\"",
        "## step_count\n2",
    ] {
        assert!(text.contains(seen), "{seen} is missing in {text}");
    }
    assert_eq!(play.run.shared.report.as_ref().expect("a report")["steps"], 2);
}

#[test]
fn a4_error_and_max_steps_reflect_once_and_end_with_their_own_reason() {
    let gives_up = vec![json!({ "action": "error", "message": "no such project" })];
    for (brief, steps, status, reason) in [
        (task_brief(None), gives_up, Status::Failed, StopReason::Error),
        (task_brief(Some(3)), vec![navigate("/whoami")], Status::Stopped, StopReason::MaxSteps),
    ] {
        let (mut play, asked) = scripted_task(brief, steps, remember("learned"));
        play.go();
        assert_eq!((play.run.shared.status(), play.run.shared.stop_reason), (status, Some(reason)));
        assert_eq!((reflections(&asked), written(&play).len()), (1, 1), "{reason:?}");
    }
}

#[test]
fn a4_answers_that_never_fit_are_an_exception_and_reflect_once() {
    // Given an agent that cannot say what it wants, even when asked again
    let (mut play, asked) = scripted_task(task_brief(None), vec![json!({ "action": "navigate" })], remember("learned"));
    play.go();
    assert_eq!(play.run.shared.status(), Status::Failed);
    assert_eq!((count(&play, "task.answer_rejected"), reflections(&asked)), (1, 1));
}

#[test]
fn a4_the_first_cancel_reflects_and_the_second_does_not() {
    let person = Actor::Person(task_brief(None).owner);
    // Given a task in the middle
    let (mut play, asked) = scripted_task(task_brief(None), vec![navigate("/whoami")], remember("was interrupted"));
    play.step(4);
    // When it is canceled once
    play.run.command(Command::Cancel, person, play.now).expect("canceled");
    play.commit();
    play.go();
    // Then it looked back, took no further step, and is canceled
    assert_eq!((play.run.shared.status(), reflections(&asked)), (Status::Canceled, 1));
    assert_eq!(written(&play), ["was interrupted"]);

    // Given another one, canceled twice
    let (mut play, asked) = scripted_task(task_brief(None), vec![navigate("/whoami")], remember("never asked"));
    play.step(4);
    for _ in 0..2 {
        play.run.command(Command::Cancel, person, play.now).expect("canceled");
        play.commit();
    }
    // Then it ended at once, and says that nothing was learned
    assert_eq!((play.run.shared.status(), reflections(&asked)), (Status::Canceled, 0));
    assert_eq!(count(&play, "task.scratchpad_update_failed"), 1);
}

#[test]
fn a4_nothing_to_add_keeps_the_scratchpad_and_too_much_is_cut_and_says_so() {
    for keeps in [json!({ "scratchpad": null }), json!({ "scratchpad": "" }), json!({})] {
        let (mut play, _) = scripted_task(task_brief(None), vec![done()], Ok(keeps));
        play.go();
        assert_eq!((play.run.shared.status(), written(&play).len()), (Status::Completed, 0));
    }
    let (mut play, _) = scripted_task(task_brief(None), vec![done()], remember(&"ä".repeat(10_001)));
    play.go();
    assert_eq!(written(&play)[0].chars().count(), 10_000);
    let updated = play.events.iter().find(|event| event.kind() == "task.scratchpad_updated").expect("an update");
    assert!(updated.payload.contains("\"cutFrom\":10001"), "{}", updated.payload);
}

#[test]
fn a4_a_reflection_that_fails_never_changes_the_outcome() {
    let failed = CallError {
        failure: CallFailure::Unreachable,
        message: "connection refused".into(),
        retry_after_ms: None,
        maybe_paid: false,
    };
    for reflection in [Err(failed), Ok(json!("no object at all"))] {
        let (mut play, asked) = scripted_task(task_brief(None), vec![done()], reflection);
        play.go();
        assert_eq!((play.run.shared.status(), reflections(&asked)), (Status::Completed, 1));
        assert_eq!(count(&play, "task.scratchpad_update_failed"), 1);
    }
}

#[test]
fn a4_a_provider_that_takes_no_key_skips_the_reflection() {
    let refused =
        CallError { failure: CallFailure::Auth, message: "401".into(), retry_after_ms: None, maybe_paid: false };
    let asked = Rc::new(RefCell::new(0));
    let calls = asked.clone();
    let mut play = Play::new(task_brief(None), move |_, _| {
        *calls.borrow_mut() += 1;
        Err(refused.clone())
    });
    play.go();
    assert_eq!((play.run.shared.stop_reason, *asked.borrow()), (Some(StopReason::ProviderAuth), 1));
    assert_eq!(count(&play, "task.scratchpad_update_failed"), 1);
}

#[test]
fn a_task_that_ran_out_of_steps_continues_and_reflects_again() {
    let (mut play, asked) =
        scripted_task(task_brief(Some(2)), vec![navigate("/whoami"), navigate("/whoami"), done()], remember("notes"));
    play.go();
    assert_eq!(play.run.shared.stop_reason, Some(StopReason::MaxSteps));
    let go_on = Command::Continue { budgets: BudgetPatch::default(), message: None };
    play.run.command(go_on, Actor::Person(task_brief(None).owner), play.now).expect("continued");
    play.commit();
    play.go();
    assert_eq!((play.run.shared.status(), reflections(&asked)), (Status::Completed, 2));
}

#[test]
fn a_task_killed_after_any_commit_ends_as_it_would_have() {
    let play_from = |events: &[engine::event::Event], blobs: &std::collections::HashMap<_, _>| {
        let taken = events.iter().filter(|event| event.kind() == "task.step").count();
        let steps = [navigate("/projects/1"), done()];
        let rest: Vec<Value> = steps.into_iter().skip(taken.saturating_sub(1)).collect();
        let (mut play, asked) =
            scripted_task(task_brief(None), if rest.is_empty() { vec![done()] } else { rest }, remember("learned"));
        play.blobs = blobs.clone();
        play.resume_from(events);
        play.go();
        (play, asked)
    };
    let (mut whole, _) = scripted_task(task_brief(None), vec![navigate("/projects/1"), done()], remember("learned"));
    whole.go();
    let ends = whole.batches.iter().filter_map(|batch| batch.events.last().map(|event| event.seq as usize));
    for cut in ends.filter(|end| *end < whole.events.len()) {
        let (play, _) = play_from(&whole.events[..cut], &whole.blobs);
        assert_eq!(play.run.shared.status(), Status::Completed, "cut at {cut}");
        assert_eq!(count(&play, "task.step"), 3, "cut at {cut}");
        assert_eq!(count(&play, "task.scratchpad_updated"), 1, "cut at {cut}");
        assert!(Run::fold(&play.events).is_some());
    }
}

#[test]
fn the_view_of_a_task_is_its_fold() {
    let steps = vec![navigate("/projects/1"), json!({ "action": "error", "message": "no" })];
    let (mut play, _) = scripted_task(task_brief(None), steps, remember("learned"));
    play.go();
    play::view::check(&play.events);
    let mut view = engine::view::View::from_first_event(&play.events[0]).expect("a view");
    play.events[1..].iter().for_each(|event| view.apply(event));
    let shown: Vec<u32> = view.steps().expect("steps").iter().map(|row| row.step).collect();
    assert_eq!(shown, [0, 1, 2]);
}

#[test]
fn a_scratchpad_that_moved_meanwhile_is_left_alone() {
    // Given a task whose scratchpad somebody writes while its agent reflects
    let (mut play, _) = scripted_task(task_brief(None), vec![done()], remember("mine"));
    play.deny("write_scratchpad", "the scratchpad was changed meanwhile");
    play.go();
    // Then the outcome stands and says so, and nothing was written
    assert_eq!((play.run.shared.status(), written(&play).len()), (Status::Completed, 0));
    assert_eq!((count(&play, "task.reflected"), count(&play, "task.scratchpad_update_failed")), (1, 1));
}

#[test]
fn the_reflection_request_is_golden() {
    let (mut play, asked) = writes_a_document();
    play.go();
    for (role, name) in [(Role::AgentStep, "agent_step_request.txt"), (Role::AgentReflection, "reflection_request.txt")]
    {
        let (_, last) = asked.borrow().iter().rfind(|(known, _)| *known == role).cloned().expect("a request");
        play::golden_text(name, &play.whole_text(&last));
    }
}
