//! `kill -9` in the middle of a task run.

use super::shop::{Shop, clerk};
use crate::crash::{killed, kills, paid_once};
use crate::home::{Home, Said, of_type};
use std::time::Duration;

#[test]
fn kill_a4_a_task_ends_as_it_would_have_and_reflects_once() {
    let shop = Shop::open(clerk().latency(Duration::from_millis(40)));
    killed(&shop.home, &["--kind", "task", "--agent", "scout"], kills(), check);
}

fn check(home: &Home, id: &str, ended: Said) {
    ended.exits(0);
    let run = home.show(id);
    assert_eq!((&run["status"], &run["iteration"]), (&"completed".into(), &2.into()), "as it would have ended");
    let events = home.events(id);
    let seqs: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>(), "no gap");
    assert_eq!(of_type(&events, "task.step").len(), 4, "no step taken twice");
    let made = of_type(&events, "task.step_result");
    let documents = made.iter().filter(|event| event["payload"]["artifacts"]["created_documents"].is_array());
    assert_eq!(documents.count(), 1, "one document");
    let kept = of_type(&events, "task.scratchpad_updated").len() + of_type(&events, "task.reflected").len();
    assert!(kept >= 1, "it looked back");
    paid_once(home, id, &events);
}
