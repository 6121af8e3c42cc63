//! How commands show a tree, and their errors for nodes and limits that are not valid.

use super::scripts::*;
use crate::home::Home;

#[test]
fn show_draws_the_tree_with_marks_roles_bands_and_what_was_made() {
    let home = Home::with(grows(&[&[step("Good one"), step("Bad one")], &[step("Then this")]], |request| {
        (request.node() == "Bad one").then(nonsense)
    }));
    let run = home.tree("Look at it", &[]).exits(0).run();
    let id = run["id"].as_str().expect("an id");
    let shown = home.pleach(&["show", id]).exits(0).out;
    for line in [
        "◐ E n0 Look at it",
        "├─ ✓ E n1 Good one",
        "├─ ✗ E n2 Bad one",
        "└─ ✓ E n3 Then this",
        "band 2",
        "On synthesis",
    ] {
        assert!(shown.contains(line), "{line} is not in\n{shown}");
    }
    let node = home.pleach(&["show", id, "--node", "n2"]).exits(0).out;
    for line in
        ["n2 Bad one", "failed", "did not fit the schema", &format!("pleach retry {id} --node n2"), "it is written"]
    {
        assert!(node.contains(line), "{line} is not in\n{node}");
    }
    let log = home.pleach(&["log", id]).exits(0).out;
    assert!(log.contains("✗ n2 Bad one:") && log.contains("n0 planned 3 steps in 2 bands"), "{log}");
}

#[test]
fn t7_every_line_of_the_log_says_something_and_names_its_node() {
    // Given a tree in which most things happened that can
    let home = Home::bare();
    let run = home.tree("Move a small bakery", &[]).exits(0).id();
    // When its log is read, whole and from the middle
    for (after, least) in [("0", 60), ("40", 20)] {
        let log = home.pleach(&["log", &run, "--after", after]).exits(0).out;
        assert!(log.lines().count() > least, "{log}");
        let events = home.events(&run);
        for line in log.lines() {
            // Then every line has a sentence behind its type, and one that belongs to a node calls it by its number
            let seq: usize = line.split_whitespace().next().and_then(|seq| seq.parse().ok()).expect("a seq");
            let event = &events[seq - 1];
            let (_, said) = line.split_once(event["type"].as_str().expect("a type")).expect("its type");
            assert!(!said.trim().is_empty(), "{line}");
            let number = said
                .split(|c: char| !c.is_alphanumeric())
                .any(|word| word.strip_prefix('n').is_some_and(|digits| digits.parse::<u32>().is_ok()));
            assert!(number || event["nodeId"].is_null(), "{line}");
        }
    }
}

#[test]
fn u17_people_read_words_and_times_to_the_second() {
    // Given a tree whose only node does it itself, and one that asks
    let home = Home::with(grows(&[&[step("Ask me")]], |request| match request.node() {
        "Ask me" => Some(asks("Which wood?", None)),
        "Small thing" => Some(if request.role == "tree_planner" { execute() } else { done("Small thing") }),
        _ => None,
    }));
    let small = home.tree("Small thing", &[]).exits(0).id();
    let waits = home.pleach(&["run", "Ask about wood", "--kind", "tree", "--wait"]).exits(3);
    // Then nothing of what a terminal shows is spelled as the log spells it
    assert!(waits.out.contains("waiting for you"), "{}", waits.out);
    let asking = home.pleach(&["ls", "--json"]).exits(0).lines()[0]["id"].as_str().expect("an id").to_owned();
    let shown = [
        waits.out,
        home.pleach(&["ls"]).exits(0).out,
        home.pleach(&["show", &asking]).exits(0).out,
        home.pleach(&["show", &small, "--node", "n0"]).exits(0).out,
        home.pleach(&["log", &small]).exits(0).out,
        home.pleach(&["log", &asking]).exits(0).out,
    ];
    for text in &shown {
        for line in text.lines() {
            let said = line.split_once("run.waiting_on_user").map_or(line, |(_, said)| said);
            for spelling in ["waiting_on_user", "user_input", "leaf_decision", ".000Z"] {
                assert!(!said.contains(spelling), "{spelling} in {line}");
            }
            assert!(!said.contains("Z ") && !said.ends_with('Z'), "a time with milliseconds in {line}");
        }
    }
    assert!(shown[3].contains("does it itself: small enough"), "{}", shown[3]);
}

#[test]
fn watching_without_a_terminal_prints_events_line_by_line() {
    let home = Home::with(grows(&[&three()], |_| None));
    let said = home.pleach(&["run", "Tell me", "--kind", "tree", "--watch"]).exits(0);
    assert!(said.out.contains("+ n1 One of three") && said.out.contains("✓ n3 Three of three"), "{}", said.out);
    assert!(!said.out.contains('\u{1b}'), "no escapes where there is no terminal");
}

#[test]
fn a_missing_node_is_named_with_the_command_to_type_next() {
    let home = Home::with(grows(&[&three()], |_| None));
    let run = home.tree("Look for it", &[]).exits(0).run();
    let id = run["id"].as_str().expect("an id");
    let unknown = "01a1de11-0000-7000-8000-00000000beef";
    let lists = format!("pleach show {id}");
    for (words, named) in [
        (vec!["show", id, "--node", "n77"], "n77"),
        (vec!["show", id, "--node", "oak"], "oak"),
        (vec!["cancel", id, "--node", "n77"], "n77"),
        (vec!["retry", id, "--node", "oak"], "oak"),
        (vec!["say", id, "hello", "--node", "n77"], "n77"),
    ] {
        let said = home.pleach(&words).exits(2);
        assert!(said.err.contains(named) && said.err.contains(&lists), "{words:?}: {}", said.err);
    }
    for words in [
        vec!["show", id, "--node", unknown],
        vec!["retry", id, "--node", unknown],
        vec!["pause", id, "--node", unknown],
    ] {
        let said = home.pleach(&words).exits(2);
        assert!(said.err.contains(unknown) || said.err.contains("completed"), "{words:?}: {}", said.err);
    }
    let said = home.pleach(&["retry", id]).exits(2);
    assert!(said.err.contains("--node"), "{}", said.err);
}

#[test]
fn a_homework_run_has_no_nodes_and_says_so() {
    let home = Home::with(simulation::scripted::scripts::complete_in(1));
    let run = home.run("No tree", &[]).exits(0).run();
    let id = run["id"].as_str().expect("an id");
    for words in [vec!["show", id, "--node", "n1"], vec!["pause", id, "--node", "n0"]] {
        let said = home.pleach(&words).exits(2);
        assert!(said.err.contains("homework run") && said.err.contains("--node"), "{words:?}: {}", said.err);
    }
}

#[test]
fn limits_that_no_tree_can_meet_are_refused_before_the_run_is_created() {
    let home = Home::bare();
    let said = home.pleach(&["run", "Nothing", "--kind", "tree", "--max-nodes", "0"]).exits(2);
    assert!(said.err.contains("max_nodes is 0"), "{}", said.err);
    assert!(home.pleach(&["ls"]).exits(0).out.is_empty(), "no run was made");
}
