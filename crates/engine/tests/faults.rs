//! Provider faults and unshown messages, played without a store or a network.

mod play;

use engine::actor::Actor;
use engine::effect::{CallError, CallFailure};
use engine::event::Event;
use engine::model::Role;
use engine::projection;
use engine::run::{Command, Lane, Status};
use engine::time::Timestamp;
use play::{Play, brief, payloads, plan, report};
use serde_json::{Value, json};

const DAY_MS: i64 = 86_400_000;

fn failing(failure: CallFailure, retry_after_ms: Option<i64>) -> CallError {
    CallError { failure, message: format!("{failure:?}"), retry_after_ms, maybe_paid: false }
}

/// A planner that leaves with what it made, after `faults` came instead of its first answers.
fn after(faults: Vec<CallError>) -> Play {
    let mut faults = faults.into_iter();
    Play::new(brief("Compare"), move |role, attempt| match (role, faults.next()) {
        (_, Some(fault)) => Err(fault),
        (Role::HomeworkPlanner, None) => {
            let made = play::own_text(attempt).split("\"ref\":\"").nth(1).map(|rest| rest[..40].to_owned());
            let mut answer = plan("write, then leave");
            answer["tool_calls"] =
                json!([{ "tool": "create_document", "arguments": { "title": "It", "content": "x" }, "purpose": "x" }]);
            if let Some(made) = made {
                let claim = json!({ "criterion": "c1", "claim": "there", "refs": [made] });
                (answer["exit_signal"], answer["remaining_work"]) = (json!(true), json!([]));
                (answer["completion_evidence"], answer["tool_calls"]) = (json!([claim]), json!([]));
            }
            Ok(answer)
        }
        _ => Ok(report()),
    })
}

fn person(play: &Play) -> Actor {
    Actor::Person(play.run.shared.brief.owner)
}

#[test]
fn r6_thousands_of_calls_over_the_limit_are_a_bounded_number_of_events() {
    // Given a planner that asks for twenty thousand calls at once
    let mut brief = brief("Compare");
    brief.budgets.max_iterations = 1;
    let mut play = Play::new(brief, |role, _| {
        Ok(match role {
            Role::HomeworkPlanner => {
                let call = |n: usize| json!({ "tool": "search_documents", "arguments": { "query": format!("q{n}") }, "purpose": "look" });
                let mut answer = plan("everything at once");
                answer["tool_calls"] = (0..20_000).map(call).collect();
                answer
            }
            _ => report(),
        })
    });
    // When it is heard
    play.go();
    // Then thirty-two are refused one by one, one stands for the others, and eight are carried out
    let results = payloads(&play, "homework.tool_call_result");
    assert_eq!(results.len(), 32 + 1 + 8);
    assert!(results[..32].iter().all(|result| result["summary"] == "not run: limit"));
    assert_eq!(results[32]["summary"], "not run: limit; nor were 19959 more calls of this answer");
    assert!(results[33..].iter().all(|result| result["ok"] == true));
    assert_eq!(payloads(&play, "homework.tool_call_requested").len(), results.len());
}

#[test]
fn r10_a_retry_after_of_a_day_is_shown_with_its_end_and_resume_tries_at_once() {
    // Given a provider that wants a day's rest
    let mut play = after(vec![failing(CallFailure::RateLimited, Some(DAY_MS))]);
    play.step(1);
    // Then the run says whom it waits for and until when
    let row = projection::run_row(&play.run);
    let wait = row.provider_wait.expect("a wait");
    assert_eq!((row.status, row.activity.as_str()), (Status::Running, "waiting: provider"));
    assert_eq!((wait.provider.as_str(), wait.until), ("test", play.now.plus_ms(DAY_MS)));
    let told = payloads(&play, "run.provider_waiting");
    assert_eq!(told[0], json!({ "provider": "test", "until": wait.until, "error": "RateLimited" }));
    assert!(play.run.due(play.now).external.is_empty());
    // When a person does not want to wait
    let person = person(&play);
    play.run.command(Command::Resume, person, play.now).expect("it can be shortened");
    play.commit();
    // Then it is tried at once, whoever parked the provider
    assert_eq!(payloads(&play, "run.resumed"), [json!({ "reason": "try_now" })]);
    assert!(play.run.shared.probe_wanted && play.run.due(play.now).external.len() == 1);
    let asked = play.now;
    play.go();
    assert_eq!(play.run.shared.status(), Status::Completed, "{:?}", play.run.shared.stop_detail);
    assert!(play.now.since(asked) < 60_000, "nobody waited for the day to pass");
    assert!(!play.run.shared.probe_wanted);
}

#[test]
fn r10_a_long_wait_is_shown_though_another_call_was_made_since() {
    // Given a log in which a call waits for a day, and another one was made and answered after it was told
    let mut play = after(vec![failing(CallFailure::RateLimited, Some(DAY_MS))]);
    play.step(1);
    let told = play.events.iter().position(|event| event.kind() == "run.provider_waiting").expect("told");
    let events: Vec<Event> = play.events[..told].to_vec();
    // When it is folded without that event
    play.resume_from(&events);
    // Then the wait is known all the same, from the call itself
    let wait = play.run.shared.waits_for_provider().expect("a wait");
    assert_eq!((wait.provider.as_str(), wait.until), ("test", play.now.plus_ms(DAY_MS)));
    assert_eq!(play.run.activity(), "waiting: provider");
}

#[test]
fn r10_a_call_that_this_machine_could_not_make_is_no_attempt_of_the_provider() {
    // Given more failures of our own than attempts are allowed
    let mut play = after((0..10).map(|_| failing(CallFailure::Local, None)).collect());
    // When the run goes on
    play.go();
    // Then it completes, each of them waited a while, and none was counted or paid
    assert_eq!(play.run.shared.status(), Status::Completed, "{:?}", play.run.shared.stop_detail);
    let finished = payloads(&play, "effect.finished");
    let local: Vec<&Value> = finished.iter().filter(|fact| fact["error"] == "Local").collect();
    assert_eq!(local.len(), 10);
    for fact in local {
        assert_eq!((fact["outcome"].as_str(), &fact["counted"]), (Some("transient"), &Value::Null));
        assert!(fact["retryAt"].is_string() && fact["settled"]["tokensIn"] == 0, "{fact}");
    }
}

#[test]
fn r11_messages_that_no_call_was_shown_are_reported_when_the_run_ends() {
    for how in [Command::Cancel, Command::Pause] {
        // Given a run whose only call is out
        let mut play = after(Vec::new());
        play.step(0);
        let effect = play.run.due(play.now).external[0].clone();
        let attempt = play.run.intend(&effect, play.now).expect("a call");
        play.commit();
        // When a person says something, and the run ends before another call is made
        let person = person(&play);
        let words = Command::Say { text: "use  metric\nunits".into(), node: None, lane: Lane::Steer };
        play.run.command(words, person, play.now).expect("said");
        play.commit();
        let canceled = how == Command::Cancel;
        if canceled {
            play.run.command(how, person, play.now).expect("canceled");
        } else {
            play.run.outcome(
                &effect,
                attempt.number,
                engine::effect::Outcome::Model(Err(failing(CallFailure::Auth, None))),
                None,
                play.now,
            );
        }
        play.commit();
        // Then the event that ends it, the report and the notification say so
        let end = if canceled { "run.canceled" } else { "run.failed" };
        assert_eq!(payloads(&play, end)[0]["messagesNotShown"], json!(["use metric units"]));
        let report = play.run.shared.report.clone().expect("a report");
        let said = "your message \"use metric units\" was never shown to a model";
        assert!(engine::report::markdown(&report).to_lowercase().contains(said));
        let notified = projection::rows(&play.run, &play.events).notifications;
        assert!(notified.last().expect("a notification").body.contains(said), "{notified:?}");
    }
}

#[test]
fn r11_messages_that_were_shown_are_not_reported() {
    let mut play = after(Vec::new());
    let person = person(&play);
    let words = Command::Say { text: "use metric units".into(), node: None, lane: Lane::Steer };
    play.run.command(words, person, Timestamp(play.now.0)).expect("said");
    play.commit();
    play.go();
    assert_eq!(play.run.shared.status(), Status::Completed, "{:?}", play.run.shared.stop_detail);
    assert!(payloads(&play, "run.completed")[0].get("messagesNotShown").is_none());
    assert!(play.run.shared.report.clone().expect("a report").get("messages_not_shown").is_none());
}
