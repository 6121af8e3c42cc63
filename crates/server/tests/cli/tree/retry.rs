//! What a person is told of paused branches, of stale work after a retry, and of results that are partial.

use super::scripts::*;
use crate::home::{Home, of_type, said};
use serde_json::{Value, json};

fn artifacts(home: &Home, run: &str) -> Vec<Value> {
    let nodes = nodes(home, run).len();
    let of_node = |number: usize| show_node(home, run, &format!("n{number}"))["artifacts"].as_array().cloned();
    (0..nodes).filter_map(of_node).flatten().collect()
}

#[test]
fn t13_a_retry_marks_what_rested_on_it_and_can_do_it_again() {
    // given: two bands, the second of which worked from the first
    let home = Home::with(grows(&[&[step("Alpha one"), step("Beta one")], &[step("Gamma one")]], |_| None));
    let run = home.tree("Keep it current", &[]).exits(0).run();
    let id = run["id"].as_str().expect("an id");
    // when: a step of the first band is done again
    home.pleach(&["retry", id, "--node", "n2", "--json"]).exits(0);
    // then: the second band is stale and says so, the replaced node and the first synthesis are not current
    let gamma = show_node(&home, id, "n3");
    assert_eq!(
        (&gamma["title"], &gamma["stale"], &gamma["current"]),
        (&json!("Gamma one"), &json!(true), &json!(true))
    );
    assert_eq!(gamma["artifacts"][0]["stale"], true);
    assert_eq!(show_node(&home, id, "n2")["current"], false);
    let syntheses: Vec<Value> = show_node(&home, id, "n0")["artifacts"].as_array().expect("a list").clone();
    assert_eq!(syntheses.iter().map(|made| &made["current"]).collect::<Vec<_>>(), [&json!(false), &json!(true)]);
    let shown = home.pleach(&["show", id]).exits(0).out;
    assert!(shown.contains("Gamma one  (stale)") && shown.contains("(replaced)"), "{shown}");
    // when: it is done again with what rests on it
    let before = home.asked("tree_executor").len();
    home.pleach(&["retry", id, "--node", "n4", "--dependents", "--json"]).exits(0);
    // then: nothing current is stale
    assert_eq!(home.asked("tree_executor").len(), before + 2, "Beta and Gamma, and Alpha is kept");
    let current = |made: &Value| made["current"] == true;
    assert!(artifacts(&home, id).iter().filter(|made| current(made)).all(|made| made["stale"] == false));
    assert_eq!(of_type(&home.events(id), "tree.node_stale").len(), 1, "the second retry found Gamma marked already");
    assert_eq!(home.show(id)["status"], "completed");
}

#[test]
fn t16_whoever_speaks_to_a_run_of_paused_branches_is_told_which_nodes_to_resume() {
    // given: a run at rest because its one branch is paused
    let home = Home::with(grows(&[&[planned(step("Held one"))]], |_| None));
    home.model().answer("tree_planner", move |request| match request.node() {
        "Held one" => simulation::scripted::Reply::json(execute()).delay_ms(1_500),
        _ => simulation::scripted::Reply::json(plan(&[&[planned(step("Held one"))]])),
    });
    let (child, id) = home.start_tree("Pause it", &[]);
    home.until("the node at work", || {
        (nodes(&home, &id).len() > 1 && of_type(&home.events(&id), "effect.started").len() > 1).then_some(())
    });
    home.pleach(&["pause", &id, "--node", "n1"]).exits(0);
    said(child.wait_with_output().expect("it ends"));
    let node = show_node(&home, &id, "n1")["id"].as_str().expect("an id").to_owned();
    assert_eq!(home.show(&id)["paused_nodes"], json!([node]));
    // when
    let told = home.pleach(&["say", &id, "go on"]).exits(0).out;
    let refused = home.pleach(&["resume", &id]);
    // then
    let command = format!("pleach resume {id} --node {node}");
    assert!(told.contains(&command), "{told}");
    assert!(refused.code != 0 && refused.err.contains(&command), "{}", refused.err);
}

#[test]
fn t17_the_run_object_of_a_tree_has_the_plan_of_its_root() {
    let home = Home::with(grows(&[&[step("Alpha one"), step("Beta one")], &[step("Gamma one")]], |request| {
        (request.node() == "Beta one").then(nonsense)
    }));
    let run = home.tree("Plan it", &[]).exits(0).run();
    let plan = &home.show(run["id"].as_str().expect("an id"))["plan"];
    assert_eq!((&plan["version"], &plan["summary"]), (&json!(1), &json!("part by part")));
    let steps: Vec<Value> = plan["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .map(|step| json!([step["title"], step["status"], step["band"]]))
        .collect();
    assert_eq!(
        steps,
        [json!(["Alpha one", "done", 0]), json!(["Beta one", "blocked", 0]), json!(["Gamma one", "done", 1])]
    );
    assert_eq!(plan["bands"].as_array().map(Vec::len), Some(2));
}

#[test]
fn t2_a_partial_node_has_a_mark_and_a_word_of_its_own_and_says_why() {
    let home = Home::with(grows(&[&[step("Alpha one"), step("Beta one")]], |request| {
        (request.node() == "Beta one").then(nonsense)
    }));
    let run = home.tree("Half of it", &[]).exits(0).run();
    let id = run["id"].as_str().expect("an id");
    let root = show_node(&home, id, "n0");
    assert_eq!((&root["status"], &root["outcome"]), (&json!("completed"), &json!("partial")));
    assert_eq!(root["shortfall"], "1 of its steps came to nothing");
    let shown = home.pleach(&["show", id]).exits(0).out;
    let line = shown.lines().find(|line| line.contains("n0 Half of it")).expect("the root's line");
    assert!(line.trim_start().starts_with('◐') && line.contains("partial") && !line.contains('✓'), "{line}");
    let shown = home.pleach(&["show", id, "--node", "n0"]).exits(0).out;
    assert!(shown.contains("partial    1 of its steps came to nothing"), "{shown}");
}
