//! Faults of the model provider: rate limits, malformed answers, refused keys, broken streams.

use crate::home::{Home, of_type, said};
use crate::planner::{calling, exit, planned_by, planner_answer};
use serde_json::json;
use simulation::scripted::{Reply, Request, Script, scripts};

/// The first replies are `faults`; after them the run completes.
pub fn after(faults: Vec<Reply>) -> Script {
    planned_by(move |request| match faults.get(request.nth) {
        Some(fault) => fault.clone(),
        None if request.section("artifacts").is_some() => Reply::json(exit(request)),
        None => Reply::json(calling("made it", [("create_document", json!({ "title": "It", "content": "x" }))])),
    })
}

#[test]
fn invariant_40_rate_limits_are_waited_out_and_retry_after_is_a_floor() {
    let home =
        Home::with(after(vec![Reply::status(429, "slow down").header("retry-after", "2"), Reply::status(503, "busy")]));
    let run = home.run("Patience", &[]).exits(0).run();
    let calls = home.asked("homework_planner");
    assert!(calls[1].at - calls[0].at >= 2_000, "Retry-After is a floor");
    let keys: Vec<&str> = calls.iter().map(|call| call.key.as_str()).collect();
    assert!(
        (1..=3).all(|attempt| keys[attempt - 1].ends_with(&format!(".i1.plan:{attempt}"))),
        "each attempt has its own key: {keys:?}"
    );
    assert_eq!(run["metrics"]["llm_calls"].as_u64(), Some(home.model().ledger().len() as u64 - 2));
}

#[test]
fn p7_malformed_truncated_and_prose_wrapped_answers_are_repaired_or_contained() {
    let prose = |request: &Request| {
        let answer = match request.section("artifacts") {
            Some(_) => exit(request),
            None => calling("wrapped", [("create_document", json!({ "title": "It", "content": "x" }))]),
        };
        match request.nth {
            0 => Reply::text("I would rather talk about {the weather}."),
            1 => Reply::text(format!("Sure!\n```json\n{answer}\n```\nAnything else?")),
            _ => Reply::json(answer),
        }
    };
    let home = Home::with(planned_by(prose));
    let run = home.run("Talk", &[]).exits(0).run();
    let calls = home.asked("homework_planner");
    assert!(calls[1].key.ends_with(".i1.plan.fix:1"), "one repair call");
    let messages = calls[1].body["messages"].as_array().expect("messages");
    assert_eq!(messages.len(), 4, "the original, the invalid answer, the errors");
    assert!(messages[2]["content"].to_string().contains("the weather"));
    assert_eq!(run["iteration"], 2);

    let cut = |request: &Request| {
        if request.nth < 2 {
            Reply::text("{\"progress_summary\": \"br").finish("length")
        } else {
            Reply::json(planner_answer("idle"))
        }
    };
    let home = Home::with(planned_by(cut));
    let run = home.run("Truncated", &[]).exits(5).run();
    let events = home.events(run["id"].as_str().expect("an id"));
    assert_eq!(
        of_type(&events, "homework.answer_rejected").len(),
        2,
        "twice invalid: the iteration is recorded without progress"
    );
    assert!(
        events
            .iter()
            .any(|event| event["type"] == "homework.iteration_completed" && event["payload"]["lost"].is_string())
    );
}

#[test]
fn e4_sec_s62_a_refused_key_is_provider_auth_and_appears_nowhere() {
    let secret = "sk-canary-4b2f9c";
    let home = Home::with(Script::default().otherwise(Reply::status(401, format!("bad key {secret}"))))
        .set("OPENAI_API_KEY", secret);
    let said = home.run("No entry", &[]).exits(1);
    let run = said.run();
    assert_eq!((&run["status"], &run["stop_reason"]), (&json!("failed"), &json!("provider_auth")));
    assert!(!said.out.contains(secret) && !said.err.contains(secret), "the key is not printed");
    for file in std::fs::read_dir(home.data()).expect("the data folder").flatten() {
        let bytes = std::fs::read(file.path()).unwrap_or_default();
        assert!(
            !bytes.windows(secret.len()).any(|window| window == secret.as_bytes()),
            "{:?} holds the key",
            file.path()
        );
    }
}

#[test]
fn h4_an_empty_account_is_provider_quota() {
    let body =
        json!({ "error": { "type": "insufficient_quota", "code": "insufficient_quota", "message": "no money" } })
            .to_string();
    let home = Home::with(Script::default().otherwise(Reply::status(429, body)));
    let run = home.run("Broke", &[]).exits(1).run();
    assert_eq!(run["stop_reason"], "provider_quota");
    assert_eq!(home.model().ledger().len(), 1, "never retried");
}

#[test]
fn b13_an_unreachable_provider_parks_the_run_and_it_goes_on_when_it_is_back() {
    let mut faults = vec![Reply::status(503, "down"); 5];
    faults.push(Reply::status(503, "still down"));
    let home = Home::with(after(faults));
    let (child, id) = home.start_run("Wait for it", &[]);
    let parked = home.until("it is parked", || {
        let run = home.show(&id);
        (run["activity"] == "waiting: provider").then_some(run)
    });
    assert_eq!(parked["status"], "running", "a parked run is not given up");
    let events = home.events(&id);
    assert!(!of_type(&events, "run.provider_waiting").is_empty());
    home.pleach(&["cancel", &id]).exits(0);
    assert_eq!(said(child.wait_with_output().expect("it ends")).code, 6);
}

#[test]
fn invariant_41_a_cut_stream_never_becomes_an_answer() {
    let whole = planner_answer("half");
    let home = Home::with(after(vec![
        Reply { cut_after: Some(120), ..Reply::json(whole.clone()) },
        Reply { error_midway: Some("overloaded".into()), ..Reply::json(whole) },
    ]));
    let run = home.run("Cut", &[]).exits(0).run();
    let events = home.events(run["id"].as_str().expect("an id"));
    let lost: Vec<_> = of_type(&events, "effect.finished")
        .into_iter()
        .filter(|event| event["payload"]["outcome"] == "transient")
        .collect();
    assert_eq!(lost.len(), 2);
    assert!(
        run["metrics"]["tokens_presumed"].as_u64() > Some(0),
        "an answer that broke off may have been billed: shown apart"
    );
}

#[test]
fn b4_every_call_has_its_intent_and_its_outcome_in_the_log() {
    let home = Home::with(scripts::complete_in(3));
    let run = home.run("Ledger", &[]).exits(0).run();
    let id = run["id"].as_str().expect("an id");
    let events = home.events(id);
    let key = |event: &&serde_json::Value| {
        format!("{}:{}", event["payload"]["effect"].as_str().unwrap_or_default(), event["payload"]["attempt"])
    };
    let started: Vec<String> = of_type(&events, "effect.started").iter().map(key).collect();
    let finished: Vec<String> = of_type(&events, "effect.finished").iter().map(key).collect();
    let mut asked: Vec<String> = home.model().ledger().into_iter().map(|entry| entry.key).collect();
    asked.sort();
    let mut sorted = started.clone();
    sorted.sort();
    assert_eq!(sorted, asked, "no request without an intent, no intent without a request");
    assert_eq!(started.len(), finished.len());
    let nothing = home.pleach(&["resolve", id, "i1.plan", "happened"]).exits(2);
    assert!(nothing.err.contains("i1.plan"), "{}", nothing.err);
}
