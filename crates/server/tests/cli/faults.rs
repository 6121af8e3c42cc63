//! Faults around a run: the database goes away, the provider asks to wait a day, an answer is huge, the money runs out.

use crate::database::Database;
use crate::home::{Home, of_type};
use crate::planner::{calling, exit, planned_as, planned_by, planner_answer};
use crate::provider_faults::after;
use serde_json::{Value, json};
use simulation::scripted::{Reply, Script, scripts};
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// A TCP proxy to the database. Closing it breaks its connections, and new ones are closed at once.
struct Gate {
    address: SocketAddr,
    open: Arc<AtomicBool>,
    carried: Arc<Mutex<Vec<TcpStream>>>,
}

impl Gate {
    fn to(server: SocketAddr) -> Gate {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let gate = Gate {
            address: listener.local_addr().expect("an address"),
            open: Arc::new(AtomicBool::new(true)),
            carried: Arc::default(),
        };
        let (open, carried) = (gate.open.clone(), gate.carried.clone());
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if !open.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(upstream) = TcpStream::connect(server) else { continue };
                for (from, to) in [(&client, &upstream), (&upstream, &client)] {
                    let (Ok(mut from), Ok(mut to)) = (from.try_clone(), to.try_clone()) else { continue };
                    thread::spawn(move || {
                        let _ = io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
                carried.lock().expect("a list").extend([client, upstream]);
            }
        });
        gate
    }

    fn close(&self) {
        self.open.store(false, Ordering::SeqCst);
        for stream in self.carried.lock().expect("a list").drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn open(&self) {
        self.open.store(true, Ordering::SeqCst);
    }
}

/// A gate in front of the server of a database URL, and the URL that leads through it.
fn gated(url: &str) -> (Gate, String) {
    let rest = url.split_once('@').expect("a user in the URL").1;
    let server = rest.split('/').next().expect("an address");
    let gate = Gate::to(server.parse().expect("a loopback address with its port"));
    let way = url.replace(server, &gate.address.to_string());
    (gate, way)
}

/// Kills its process when the test ends, also when it fails.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn asked_once_each(home: &Home) {
    let mut keys: Vec<String> = home.model().ledger().into_iter().map(|entry| entry.key).collect();
    assert!(keys.iter().all(|key| key.ends_with(":1")), "every call was made in one attempt: {keys:?}");
    let asked = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), asked, "no answer was paid for twice");
}

/// Long enough that a worker looks for runs to claim before it renews its leases, as with the ordinary ten seconds.
const LEASE: Duration = Duration::from_secs(3);

#[test]
fn r1_answers_that_come_while_the_database_is_away_longer_than_the_lease_are_paid_once() {
    // Given a worker with short leases, and four runs whose first calls are out
    let database = Database::create();
    let home = Home::with(scripts::complete_in(2).latency(Duration::from_millis(900)));
    let home = home.set("PLEACH_DATABASE_URL", &database.url()).set("PLEACH_LEASE_MS", &LEASE.as_millis().to_string());
    let (gate, url) = gated(&database.url());
    let own = home.folder.path().join("worker").display().to_string();
    let mut worker = home.command(&["worker", "--data-dir", &own]);
    worker.env("PLEACH_DATABASE_URL", url);
    let ids: Vec<String> = (0..4)
        .map(|number| {
            let objective = format!("Hold on {number}");
            let run = home.pleach(&["run", &objective, "--kind", "homework", "--detach", "--json"]).exits(0).run();
            run["id"].as_str().expect("an id").to_owned()
        })
        .collect();
    let _worker = Ending(worker.spawn().expect("a worker"));
    home.until("every run has a call out", || (home.model().ledger().len() >= 4).then_some(()));
    // When the database goes away, the answers arrive, and it stays away for longer than the lease
    gate.close();
    let away_since = Instant::now();
    home.until("the answers were given", || home.model().ledger().iter().all(|entry| entry.delivered).then_some(()));
    thread::sleep((LEASE * 2).saturating_sub(away_since.elapsed()));
    gate.open();
    // Then every run completes, and nothing was asked again
    home.until("all are done", || {
        let runs = home.pleach(&["ls", "--json"]).exits(0).lines();
        runs.iter().all(|run| run["status"] == "completed").then_some(())
    });
    asked_once_each(&home);
    for id in ids {
        let events = home.events(&id);
        let lost =
            of_type(&events, "effect.finished").iter().filter(|event| event["payload"]["outcome"] == "lost").count();
        assert_eq!(lost, 0, "a living process lost its own call");
    }
}

#[test]
fn r10_a_retry_after_of_a_day_is_shown_and_resume_shortens_it() {
    // Given a provider that wants to be left alone for a day
    let home = Home::with(after(vec![Reply::status(429, "come back tomorrow").header("retry-after", "86400")]));
    let _up = Ending(home.start(&["up"]));
    let created = home.until("somebody answers", || {
        let said = home.pleach(&["run", "Patience", "--kind", "homework", "--detach", "--json"]);
        (said.code == 0).then(|| said.run())
    });
    let id = created["id"].as_str().expect("an id").to_owned();
    // Then the run, its log, `show` and `ls` say whom it waits for, until when, and what to do
    let run = home.until("it waits", || Some(home.show(&id)).filter(|run| run["activity"] == "waiting: provider"));
    let until = run["provider_wait"]["until"].as_str().expect("a time").to_owned();
    assert_eq!((run["status"].as_str(), run["provider_wait"]["provider"].as_str()), (Some("running"), Some("openai")));
    assert_eq!(of_type(&home.events(&id), "run.provider_waiting")[0]["payload"]["until"], until.as_str());
    // People read times to the second.
    let shown = format!("{} {}", &until[..10], &until[11..19]);
    for command in [&["show", id.as_str()][..], &["ls"]] {
        let said = home.pleach(command).exits(0).out;
        assert!(said.contains(&shown) && said.contains(&format!("pleach resume {id}")), "{said}");
    }
    // When a person resumes it
    let ended = home.pleach(&["resume", &id, "--wait", "--json"]).exits(0).run();
    // Then it is tried at once, and goes on
    assert_eq!(ended["status"], "completed");
    assert!(ended.get("provider_wait").is_none());
}

#[test]
fn r6_an_answer_of_twenty_thousand_calls_is_followed_to_its_end() {
    // Given a planner that asks for twenty thousand calls at once
    let calls: Vec<Value> = (0..20_000)
        .map(|n| json!({ "tool": "search_documents", "arguments": { "query": format!("q{n}") }, "purpose": "" }))
        .collect();
    let home = Home::with(planned_as(move |_| {
        let mut answer = planner_answer("everything at once");
        answer["tool_calls"] = json!(calls);
        answer
    }));
    // When the run is followed
    let said = home.run("Flood", &["--max-iterations", "1"]).exits(4);
    // Then every event is told once, and there are few of them
    let lines = said.lines();
    let seqs: Vec<u64> = lines.iter().filter_map(|line| line["seq"].as_u64()).collect();
    let last = lines.last().expect("a run")["last_seq"].as_u64().expect("a number");
    assert_eq!(seqs, (1..=last).collect::<Vec<_>>());
    assert!(last < 200, "{last} events");
}

#[test]
fn r9_a_tree_whose_steps_exceed_the_budget_stops_with_that_reason() {
    // Given steps that look around, at a price that leaves no room for another round
    let pad = || json!({ "append_markdown": "x", "tail_preview": "x" });
    let priced = |answer: Value| Reply::json(answer).tokens(13_000, 0, 500);
    let script = Script::default()
        .answer("tree_planner", move |_| {
            let step = |id: &str| json!({ "id": id, "title": format!("Step {id}"), "reason": "why not", "success_criteria": [], "deliverable": "document", "leaf": true });
            let plan = json!({ "summary": "two", "bands": [{ "index": 0, "goal": "both", "steps": [step("a"), step("b")] }] });
            priced(json!({ "mode": "plan", "mode_reason": "parts", "leaf_decision": null, "plan": plan, "question": null, "scratchpad": pad() }))
        })
        .answer("tree_executor", move |_| {
            let call = json!({ "tool": "search_documents", "arguments": { "query": "oak" }, "purpose": "look" });
            priced(json!({ "tool_calls": [call], "artifacts": [], "result": null, "question": null, "scratchpad": pad() }))
        })
        .answer("tree_aggregator", move |_| {
            let result = json!({ "kind": "document", "summary": "nothing", "success_assessment": { "met": true, "notes": null },
                "primary_artifact_label": null, "parent_hint": { "hint_type": "read_documents", "artifact_labels": [] } });
            priced(json!({ "synthesis": { "summary": "nothing", "key_findings": [], "gaps": [] }, "artifacts": [], "result": result,
                "next": { "should_replan": false, "reason": null }, "scratchpad": pad() }))
        });
    let home = Home::with(script);
    // When it runs out of tokens with nothing made
    let run = home.tree("No money left", &["--max-tokens", "60000"]).exits(4).run();
    // Then the budget is the reason
    assert_eq!((run["status"].as_str(), run["stop_reason"].as_str()), (Some("stopped"), Some("budget_tokens")));
}

#[test]
fn r11_a_message_is_stored_when_acknowledged_and_reported_when_no_model_saw_it() {
    // Given a run whose last planner call takes its time
    let script = planned_by(|request| match request.section("artifacts").is_some() {
        true => Reply { delay_ms: 1_500, ..Reply::json(exit(request)) },
        false => Reply::json(calling("made it", [("create_document", json!({ "title": "It", "content": "x" }))])),
    });
    let home = Home::with(script);
    let (child, id) = home.start_run("Too late", &[]);
    home.until("the last call is out", || (home.asked("homework_planner").len() == 2).then_some(()));
    // When somebody says something meanwhile
    home.pleach(&["say", &id, "use metric units"]).exits(0);
    // Then it is stored by the time it is acknowledged
    assert_eq!(of_type(&home.events(&id), "run.message_queued")[0]["payload"]["text"], "use metric units");
    // And when the run ends without having shown it, whoever said it is told
    assert_eq!(crate::home::said(child.wait_with_output().expect("it ends")).code, 0);
    let said = "our message \"use metric units\" was never shown to a model";
    assert!(home.pleach(&["report", &id]).exits(0).out.contains(said));
    let events = home.events(&id);
    assert_eq!(of_type(&events, "run.completed")[0]["payload"]["messagesNotShown"], json!(["use metric units"]));
    let inbox = home.pleach(&["inbox", "--all", "--json"]).exits(0).out;
    assert!(inbox.contains("was never shown to a model"), "{inbox}");
}
