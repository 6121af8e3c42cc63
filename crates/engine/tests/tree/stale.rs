//! After a retry: what rested on the replaced result is marked, what is no longer current says so, and one command does the
//! dependents again, in order.

use crate::reads::first_document;
use crate::*;
use engine::batch::{ArtifactRow, NodeRow};
use engine::projection;
use engine::run::Status;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Alpha and Beta side by side, then Gamma, then Delta; `Step e` is deep below Gamma's neighbour and reads what Alpha wrote.
fn chain(seen: Rc<RefCell<Vec<String>>>) -> Play {
    let mut play = scripted(brief("Chain"), move |role, title, attempt| {
        if role == Role::TreeExecutor || role == Role::TreeAggregator {
            seen.borrow_mut().push(format!("{title}\n{}", own_text(attempt)));
        }
        (role == Role::TreePlanner).then(|| Ok(plan(&[&["alpha", "beta"], &["gamma"], &["delta"]])))
    });
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
    play
}

fn stale(play: &Play) -> Vec<&str> {
    state(play).nodes.iter().filter(|node| node.stale).map(|node| node.title.as_str()).collect()
}

fn rows(play: &Play) -> (Vec<NodeRow>, Vec<ArtifactRow>) {
    let rows = projection::rows(&play.run, &play.events);
    (rows.nodes, rows.artifacts)
}

#[test]
fn t13_what_rested_on_a_replaced_result_is_marked_stale_and_earlier_syntheses_are_not_current() {
    // given: a finished chain of bands
    let seen: Rc<RefCell<Vec<String>>> = Rc::default();
    let mut play = chain(seen.clone());
    let beta = by_title(&play, "Step beta");
    // when: a step of the first band is retried
    node(&mut play, "Step beta", NodeCommand::Retry);
    assert_eq!(payloads(&play, "tree.node_stale"), [json!({ "causedBy": beta }), json!({ "causedBy": beta })]);
    play.go();
    // then: the later bands are stale, the other step and the new node are not, and the aggregator was told
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
    assert_eq!(stale(&play), ["Step gamma", "Step delta"]);
    let summing =
        seen.borrow().iter().rev().find(|text| text.starts_with("Chain\n")).cloned().expect("it summed up again");
    assert_eq!(summing.matches("\"stale\":true").count(), 2, "{summing}");
    let (nodes, artifacts) = rows(&play);
    let current = |id| nodes.iter().find(|row: &&NodeRow| row.id == id).expect("its row").current;
    assert!(!current(beta) && current(by_title(&play, "Step beta")), "of the two Betas one is current");
    let of = |id| artifacts.iter().filter(move |row| row.node_id == id).collect::<Vec<_>>();
    let syntheses: Vec<bool> = of(by_title(&play, "Chain")).iter().map(|row| row.current).collect();
    assert_eq!(syntheses, [false, true], "the first synthesis is not current any more");
    assert!(of(by_title(&play, "Step gamma")).iter().all(|row| row.stale && row.current));
    assert!(of(beta).iter().all(|row| !row.current && !row.stale));
}

#[test]
fn t13_a_retry_with_its_dependents_does_the_later_bands_again_in_order() {
    let seen: Rc<RefCell<Vec<String>>> = Rc::default();
    let mut play = chain(seen.clone());
    let (nodes, before) = (state(&play).nodes.len(), seen.borrow().len());
    // when
    node(&mut play, "Step beta", NodeCommand::RetryWithDependents);
    play.go();
    // then: Beta, Gamma and Delta once more, each after the one before; Alpha is kept
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
    let order: Vec<String> =
        seen.borrow()[before..].iter().map(|text| text.lines().next().unwrap().to_owned()).collect();
    assert_eq!(order, ["Step beta", "Step gamma", "Step delta", "Chain"]);
    assert_eq!(state(&play).nodes.len(), nodes + 3);
    let (rows, _) = rows(&play);
    assert!(rows.iter().filter(|row| row.current).all(|row| !row.stale), "nothing current is stale");
    let gamma = rows.iter().rfind(|row| row.title == "Step gamma").expect("a row");
    assert_eq!(gamma.retry_of, rows.iter().find(|row| row.title == "Step gamma").map(|row| row.id));
    assert_eq!(state(&play).reserved_nodes as usize, nodes + 3, "each was counted once against max_nodes");
}

#[test]
fn t13_a_retry_deep_below_replaces_the_results_above_it_too() {
    // given: M plans X; the band after M rests on M's result
    let mut play = scripted(brief("Deep"), |role, title, _| match (role, title) {
        (Role::TreePlanner, "Deep") => {
            let mut answer = plan(&[&["m"], &["n"]]);
            answer["plan"]["bands"][0]["steps"][0]["leaf"] = json!(false);
            Some(Ok(answer))
        }
        (Role::TreePlanner, _) => Some(Ok(plan(&[&["x"], &["y"]]))),
        _ => None,
    });
    play.go();
    // when
    node(&mut play, "Step x", NodeCommand::RetryWithDependents);
    play.go();
    // then: Y beside X, and N beside M, were done again; M itself summed up again
    check(&play);
    let count = |title: &str| state(&play).nodes.iter().filter(|node| node.title == title).count();
    assert_eq!([count("Step x"), count("Step y"), count("Step m"), count("Step n")], [2, 2, 1, 2]);
    assert_eq!(play.run.shared.status(), Status::Completed);
    assert!(!state(&play).node(by_title(&play, "Step m")).expect("m").stale);
}

#[test]
fn t13_who_read_the_document_with_a_tool_is_marked_wherever_it_is() {
    // given: a cousin in the same band, deep below, that found the document by itself
    let found: Rc<RefCell<String>> = Rc::default();
    let document = found.clone();
    let mut play = scripted(brief("Cousin"), move |role, title, attempt| match (role, title) {
        (Role::TreePlanner, "Cousin") => {
            let mut answer = plan(&[&["a"], &["m", "o"]]);
            answer["plan"]["bands"][1]["steps"][0]["leaf"] = json!(false);
            Some(Ok(answer))
        }
        (Role::TreePlanner, _) => Some(Ok(plan(&[&["x"]]))),
        (Role::TreeExecutor, "Step o") => {
            *document.borrow_mut() = first_document(&own_text(attempt));
            None
        }
        (Role::TreeExecutor, "Step x") if attempt.effect.0.ends_with(".r1") => Some(Ok(json!({ "tool_calls": [
            { "tool": "get_document", "arguments": { "document_id": document.borrow().clone() }, "purpose": "p" }] }))),
        _ => None,
    });
    play.step(3);
    *found.borrow_mut() = payloads(&play, "tree.artifact_created")[0]["documentId"].as_str().unwrap().to_owned();
    play.go();
    // when
    node(&mut play, "Step a", NodeCommand::Retry);
    // then
    let mut marked = stale(&play);
    marked.sort_unstable();
    assert_eq!(marked, ["Step m", "Step o", "Step x"]);
    play.go();
    check(&play);
}

#[test]
fn t13_a_retry_with_dependents_needs_room_for_all_of_them() {
    let mut play = chain(Rc::default());
    play.run.shared.budgets.max_nodes = state(&play).nodes.len() as u32 + 2;
    let order = Command::Node { node: by_title(&play, "Step beta"), order: NodeCommand::RetryWithDependents };
    let refused = play.run.command(order, Actor::Platform, play.now).expect_err("there is room for two");
    assert_eq!((refused.slug, refused.message.as_str()), ("max_nodes", "3 nodes are needed and 2 of 7 are left"));
}

#[test]
fn t13_a_continued_run_marks_what_rested_on_a_failure() {
    // given: a first band that failed in part, a second that worked from that, and a key that ended before the sum
    let works = Rc::new(Cell::new(false));
    let fails = works.clone();
    let mut play = scripted(brief("Goes on"), move |role, title, _| match (role, title) {
        (Role::TreePlanner, _) => Some(Ok(plan(&[&["a", "b"], &["c"]]))),
        (Role::TreeExecutor, "Step b") if !fails.get() => Some(Ok(json!({}))),
        (Role::TreeAggregator, _) if !fails.get() => {
            let failure = engine::effect::CallFailure::Auth;
            Some(Err(CallError { failure, message: "401".into(), retry_after_ms: None, maybe_paid: false }))
        }
        _ => None,
    });
    play.go();
    assert_eq!(play.run.shared.status(), Status::Failed);
    // when
    works.set(true);
    go_on(&mut play, Default::default());
    // then
    assert_eq!(play.run.shared.status(), Status::Completed, "{:?}", play.run.shared.stop_detail);
    assert_eq!(stale(&play), ["Step c"]);
}
