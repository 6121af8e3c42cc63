//! A long log is read in pages and does not cost the server memory. `PLEACH_HISTORY=1000000` makes it longer.

use crate::home::Home;
use crate::live_server::LiveServer;
use engine::budget::BudgetPatch;
use engine::event::Event;
use engine::ids::RunId;
use engine::projection;
use engine::run::{Command, Run};
use engine::time::Timestamp;
use reqwest::Method;
use runtime::ports::{Append, Log};
use runtime::views;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

/// Committed together while the history is made.
const TOGETHER: u64 = 1_000;

fn wanted() -> u64 {
    std::env::var("PLEACH_HISTORY").ok().and_then(|number| number.parse().ok()).unwrap_or(100_000)
}

/// A run that somebody paused and whose limits were changed until its log had `length` events.
pub fn long_run(home: &Home, length: u64) -> RunId {
    let run = home.pleach(&["run", "Remember everything", "--detach", "--json"]).exits(0).run();
    let name = run["id"].as_str().expect("an id");
    home.pleach(&["pause", name]).exits(0);
    let id: RunId = name.parse().expect("an id");
    home.runtime.block_on(async {
        let path = home.data().join("pleach.db");
        let store =
            store::open(path.to_str().expect("a path"), store::Options::default()).await.expect("alone with it");
        let begun: Vec<Event> =
            store.events(id, 0, 10).await.unwrap().into_iter().map(|event| event.decode()).collect();
        let (actor, mut run) = (begun[0].actor, Run::fold(&begun).expect("a run"));
        run.take_batch();
        while run.shared.last_seq < length {
            for _ in 0..TOGETHER.min(length - run.shared.last_seq) {
                let changed = run.shared.last_seq as u32;
                let patch = BudgetPatch { max_iterations: Some(1_000 + changed % 2), ..BudgetPatch::default() };
                let now = Timestamp(begun[0].at.0 + i64::from(changed));
                run.command(Command::SetBudgets(patch), actor, now).expect("allowed");
            }
            let batch = run.take_batch();
            let rows = projection::rows(&run, &batch.events);
            store.append(Append { batch, rows, fence: None, claim_for: None }).await.expect("stored");
        }
        // As whoever drives a run keeps them on the way.
        views::view_at(store.as_ref(), id, length).await.expect("folded").expect("that far");
    });
    id
}

/// How long until the first piece of the answer.
fn first_byte(owner: &LiveServer, path: &str) -> Duration {
    let asked = Instant::now();
    let mut answer = owner.send(Method::GET, path, None, &[]);
    assert_eq!(answer.status(), 200, "{path}");
    owner.home.runtime.block_on(answer.chunk()).expect("a piece").expect("not empty");
    asked.elapsed()
}

/// The kilobytes this process holds at most since it began.
fn peak_kb(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    line.and_then(|number| number.trim().parse().ok()).expect("a number")
}

#[test]
fn sec_s80_t14_a_log_of_a_hundred_thousand_events_is_read_in_pages_without_much_memory() {
    let (home, length) = (Home::bare(), wanted());
    let run = long_run(&home, length);
    let owner = LiveServer::up(home);
    let path = |rest: &str| format!("/api/runs/{run}{rest}");
    // The fastest of three tries each, since other load on the machine only adds time.
    owner.get("/api/runs");
    let before = peak_kb(owner.pid());
    for asked in ["", "/snapshot", "/events", "/stream"] {
        let took = (0..3).map(|_| first_byte(&owner, &path(asked))).min().expect("three");
        assert!(took < Duration::from_millis(200), "the first byte of {asked:?} took {took:?}");
    }
    // The whole stream, each event once.
    let mut frames = owner.stream(&path("/stream"), None);
    for seq in 1..=length {
        let frame = owner.next(&mut frames, Duration::from_secs(20)).expect("an event");
        assert_eq!(frame.id, seq.to_string());
    }
    drop(frames);
    // Asking for everything at once gets a page.
    let page = owner.get(&path(&format!("/events?limit={length}")));
    let events = page["items"].as_array().expect("a list");
    assert!(events.len() <= 1_000 && page["next_cursor"].is_string(), "{} events in one page", events.len());
    // The command that writes it all out.
    let mut exported = owner.home.start(&["log", &run.to_string(), "--json"]);
    let lines = BufReader::new(exported.stdout.take().expect("its output")).lines();
    let last = lines.map(|line| line.expect("text")).last().expect("a line");
    assert_eq!(serde_json::from_str::<Value>(&last).expect("JSON")["seq"], length);
    assert!(exported.wait().expect("an end").success());
    let grown = peak_kb(owner.pid()) - before;
    assert!(grown <= 50 * 1_024, "the server grew by {grown} KB");
}
