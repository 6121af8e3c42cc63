//! `kill -9` at random moments, and what must not change.

use crate::home::{Home, Said, of_type, said};
use serde_json::{Value, json};
use simulation::scripted::{Reply, scripts};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::time::Duration;

/// How many kills each database gets; `PLEACH_KILLS` sets more.
pub fn kills() -> usize {
    std::env::var("PLEACH_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(20)
}

#[test]
fn kill_h1_b13_at_random_and_a_run_ends_as_it_would_have_on_sqlite() {
    let mut home = Home::with(scripts::complete_in(5).latency(Duration::from_millis(25)));
    home.environment.retain(|(name, _)| name != "PLEACH_DATABASE_URL");
    killed_at_random(&home, kills());
}

pub fn killed_at_random(home: &Home, kills: usize) {
    killed(home, &["--kind", "homework"], kills, check);
}

/// Starts runs and kills whoever drives them; checks every run that ended.
pub fn killed(home: &Home, how: &[&str], kills: usize, check: fn(&Home, &str, Said)) {
    let mut dice = Dice(0x5eed);
    let mut killed = 0;
    while killed < kills {
        let objective = format!("Survive {killed}");
        let mut child = home
            .command(&[&["run", &objective, "--wait", "--json"], how].concat())
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        std::thread::sleep(Duration::from_millis(20 + dice.below(450)));
        child.kill().expect("killed");
        child.wait().expect("reaped");
        killed += 1;
        let Some(id) = newest(home, &objective) else { continue };
        while killed < kills && dice.below(2) == 0 {
            let mut child = home.command(&["watch", &id, "--json"]).stdout(Stdio::null()).spawn().expect("it starts");
            std::thread::sleep(Duration::from_millis(20 + dice.below(300)));
            child.kill().expect("killed");
            child.wait().expect("reaped");
            killed += 1;
        }
        let ended = home.pleach(&["watch", &id, "--json"]);
        check(home, &id, ended);
    }
}

fn newest(home: &Home, objective: &str) -> Option<String> {
    let listed = home.pleach(&["ls", "--json"]).exits(0).lines();
    listed.iter().find(|run| run["objective"] == objective).and_then(|run| run["id"].as_str().map(str::to_owned))
}

fn check(home: &Home, id: &str, ended: Said) {
    ended.exits(0);
    let run = home.show(id);
    assert_eq!((&run["status"], &run["iteration"]), (&"completed".into(), &5.into()), "as it would have ended");
    let events = home.events(id);
    let seqs: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>(), "no gap");
    let entries: Vec<&Value> =
        of_type(&events, "homework.scratchpad_appended").iter().map(|event| &event["payload"]["entryKey"]).collect();
    assert_eq!(entries.len(), 5, "no iteration written twice");
    assert_eq!(of_type(&events, "homework.run_started").len(), 1, "S2: one workspace");
    paid_once(home, id, &events);
}

/// From the model server's own log: an effect is never requested again after its answer was stored.
pub fn paid_once(home: &Home, id: &str, events: &[Value]) {
    let stored: BTreeSet<String> = of_type(events, "effect.finished")
        .iter()
        .filter(|event| event["payload"]["outcome"] == "ok")
        .map(|event| {
            format!("{}:{}", event["payload"]["effect"].as_str().unwrap_or_default(), event["payload"]["attempt"])
        })
        .collect();
    let lost = of_type(events, "effect.finished").iter().filter(|event| event["payload"]["outcome"] == "lost").count();
    let mut asked: BTreeMap<String, usize> = BTreeMap::new();
    for entry in home
        .model()
        .ledger()
        .iter()
        .filter(|entry| entry.body.to_string().contains(id) || entry.body.to_string().contains("Survive"))
    {
        if entry.body.to_string().contains(&format!("\\\"{}\\\"", objective_of(events))) {
            *asked.entry(entry.key.clone()).or_default() += 1;
        }
    }
    for (key, times) in &asked {
        assert_eq!(*times, 1, "{key} was asked {times} times");
    }
    for key in &stored {
        let (effect, attempt) = key.rsplit_once(':').expect("effect:attempt");
        let later = format!("{effect}:{}", attempt.parse::<u32>().expect("a number") + 1);
        assert!(!asked.contains_key(&later), "{effect} was paid again after its answer was stored");
    }
    assert!(asked.len() <= stored.len() + lost, "every call is stored or known as lost");
}

fn objective_of(events: &[Value]) -> String {
    events[0]["payload"]["objective"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn b13_sigterm_ends_the_process_within_ten_seconds_and_the_next_one_continues() {
    let home = Home::with(scripts::complete_in(4).latency(Duration::from_millis(300)));
    let (child, id) = home.start_run("Stop softly", &[]);
    home.until("it works", || (!home.model().ledger().is_empty()).then_some(()));
    let asked = std::time::Instant::now();
    let pid = child.id().to_string();
    std::process::Command::new("kill").args(["-TERM", &pid]).status().expect("kill");
    said(child.wait_with_output().expect("it ends"));
    assert!(asked.elapsed() < Duration::from_secs(10));
    home.pleach(&["watch", &id, "--json"]).exits(0);
    let lost = home.events(&id).iter().filter(|event| event["payload"]["outcome"] == "lost").count();
    assert_eq!(lost, 0, "calls in flight were let finish");
}

#[test]
fn h3_time_without_a_driver_does_not_count_when_a_pause_ends_it() {
    let home = Home::with(scripts::complete_in(4).latency(Duration::from_millis(300)));
    let (mut child, id) = home.start_run("Rest in between", &[]);
    home.until("it works", || (!home.model().ledger().is_empty()).then_some(()));
    child.kill().and_then(|()| child.wait()).expect("killed");
    let worked = |run: &Value| run["metrics"]["running_ms"].as_u64().expect("a time");
    let before = worked(&home.show(&id));
    // Time itself is what must not be counted.
    std::thread::sleep(Duration::from_secs(4));
    home.pleach(&["pause", &id]).exits(0);
    let paused = home.show(&id);
    assert_eq!(paused["status"], "paused");
    assert!(worked(&paused) < before + 3_000, "{before} ms, then {}", worked(&paused));
    home.pleach(&["resume", &id, "--wait"]).exits(0);
}

/// Seeded random numbers: the same moments in every run of the test.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// The moments around the verifier's answer: before it, while it is written, after it and before the run is over.
#[test]
fn kill_p5_around_the_verifiers_answer_and_the_criterion_is_verified_and_paid_once() {
    let mut dice = Dice(0xc4ec);
    for killed in 0..kills() / 2 {
        let home = Home::with(
            scripts::complete_in(2)
                .answer("verifier", |request| {
                    let quote = "What is asked and how it will be answered.";
                    let frames = request.lines("evidence");
                    let brief = frames.iter().find(|frame| frame["text"].as_str().is_some_and(|text| text == quote));
                    let reference = brief.map(|frame| frame["ref"].clone()).unwrap_or_default();
                    Reply::json(json!({"verdicts": [
                        {"criterion": "c1", "quotes": [{"ref": reference, "text": quote}], "reason": "It says so.", "verdict": "met"},
                    ]}))
                })
                .latency(Duration::from_millis(20)),
        );
        let (mut child, id) = home.start_run(&format!("Survive {killed}"), &["--success", "There is a brief"]);
        let asked = || home.model().ledger().iter().any(|entry| entry.role == "verifier");
        home.until("the verifier is asked", || asked().then_some(()));
        std::thread::sleep(Duration::from_millis(dice.below(60)));
        child.kill().and_then(|()| child.wait()).expect("killed");
        home.pleach(&["watch", &id, "--json"]).exits(0);
        let run = home.show(&id);
        assert_eq!((&run["status"], &run["outcome"]), (&json!("completed"), &json!("verified")), "{run}");
        let events = home.events(&id);
        paid_once(&home, &id, &events);
        assert_eq!(of_type(&events, "run.criterion_checked").len(), 1, "it is judged once");
        let stored: u64 = of_type(&events, "effect.finished")
            .iter()
            .filter(|event| event["payload"]["effect"].as_str().is_some_and(|effect| effect.contains(".v1.a1")))
            .filter(|event| event["payload"]["outcome"] == "ok" && event["payload"]["settled"].is_object())
            .map(|event| event["payload"]["settled"]["tokensIn"].as_u64().unwrap_or(0))
            .sum();
        assert_eq!(run["metrics"]["verifier"]["llm_calls"], 1, "one answer");
        assert!(run["metrics"]["verifier"]["tokens_in"].as_u64() >= Some(stored) && stored > 0, "{}", run["metrics"]);
    }
}
