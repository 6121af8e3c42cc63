//! `kill -9` while a tree grows: it ends as without the kill, and no stored answer is requested again.

use super::scripts::*;
use crate::crash::{killed, kills, paid_once};
use crate::database::Database;
use crate::home::{Home, Said, of_type};
use serde_json::Value;
use simulation::scripted::Script;
use std::collections::BTreeMap;
use std::time::Duration;

fn script() -> Script {
    let bands: [&[Value]; 2] =
        [&[step("Alpha work"), planned(step("Beta work")), step("Bad work")], &[step("Omega work")]];
    grows(&bands, |request| match (request.role.as_str(), request.node()) {
        ("tree_planner", "Beta work") => Some(plan(&[&[step("Left half"), step("Right half")]])),
        ("tree_executor", "Bad work") => Some(nonsense()),
        _ => None,
    })
    .latency(Duration::from_millis(25))
}

#[test]
fn kill_tree_b13_at_random_and_it_ends_as_it_would_have_on_sqlite() {
    let home = Home::with(script());
    killed(&home, &["--kind", "tree"], kills(), check);
}

#[test]
fn kill_tree_b13_at_random_and_it_ends_as_it_would_have_on_postgres() {
    let database = Database::create();
    let home = Home::with(script()).set("PLEACH_DATABASE_URL", &database.url()).set("PLEACH_LEASE_MS", "1500");
    killed(&home, &["--kind", "tree"], kills(), check);
}

/// Everything about the end but ids and times.
fn ended_as(home: &Home, id: &str) -> BTreeMap<String, (String, String, u64)> {
    let events = home.events(id);
    let mut ends = BTreeMap::new();
    for (number, created) in of_type(&events, "tree.node_created").iter().enumerate() {
        let node = show_node(home, id, &format!("n{number}"));
        let word = |name: &str| node[name].as_str().unwrap_or_default().to_owned();
        let title = created["payload"]["title"].as_str().unwrap_or_default().to_owned();
        let made = node["artifacts"].as_array().map_or(0, Vec::len) as u64;
        let known = ends.insert(title, (word("status"), word("outcome"), made));
        assert_eq!(known, None, "one node for each step");
    }
    ends
}

fn check(home: &Home, id: &str, ended: Said) {
    ended.exits(0);
    let end = |status: &str, outcome: &str, made| (status.to_owned(), outcome.to_owned(), made);
    let objective = home.show(id)["objective"].as_str().unwrap_or_default().to_owned();
    let expected = BTreeMap::from([
        (objective, end("completed", "partial", 1)),
        ("Alpha work".into(), end("completed", "success", 1)),
        ("Beta work".into(), end("completed", "success", 1)),
        ("Bad work".into(), end("failed", "", 0)),
        ("Left half".into(), end("completed", "success", 1)),
        ("Right half".into(), end("completed", "success", 1)),
        ("Omega work".into(), end("completed", "success", 1)),
    ]);
    assert_eq!(ended_as(home, id), expected, "as it would have ended");
    let events = home.events(id);
    assert_eq!(of_type(&events, "tree.run_started").len(), 1);
    assert_eq!(of_type(&events, "tree.node_aggregated").len(), 2, "summed up once each");
    paid_once(home, id, &events);
}
