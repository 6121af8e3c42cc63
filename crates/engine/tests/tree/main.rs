//! The tree, played without a store or a network: a model that plays its part, and everything that must hold of any log.

// The size of a play comes from outside, and one test measures time: neither is the engine's business.
#![allow(clippy::disallowed_methods)]

mod continue_and_retry;
// The simulation judges its logs by the same file; as a dependency it would bring the whole runtime with it.
#[path = "../../../simulation/src/checks/tree/audit.rs"]
mod audit;
mod control;
mod criteria;
mod golden;
mod honest_ends;
mod misbehaving_models;
mod pads;
#[path = "../play/mod.rs"]
mod play;
mod random;
mod reads;
mod reports;
mod results;
mod rules;
mod scale;
mod stale;
mod subagents;
mod sums;

use audit::audit;
use engine::actor::Actor;
use engine::effect::{CallError, EffectAttempt};
use engine::facts::run::Queued;
use engine::ids::NodeId;
use engine::model::Role;
use engine::run::{Command, Kind, Machine, NodeCommand, Run};
use engine::tree::State;
use engine::tree::status::NodeStatus;
use play::{Play, own_text};
use serde_json::{Value, json};

fn brief(objective: &str) -> Queued {
    Queued { kind: Kind::Tree, ..play::brief(objective) }
}

/// The node a request is for: the one line that is not JSON.
fn title(attempt: &EffectAttempt) -> String {
    let text = own_text(attempt);
    let mut titles = text.lines().filter_map(|line| line.strip_prefix("Node: "));
    let title = titles.next().expect("a title").to_owned();
    assert_eq!(titles.next(), None, "the prefix stands once");
    title
}

fn pad(text: &str) -> Value {
    json!({ "append_markdown": text, "tail_preview": text })
}

fn execute() -> Value {
    json!({ "mode": "execute", "mode_reason": "small", "leaf_decision": "criteria_testable", "plan": null, "question": null, "scratchpad": pad("will do it") })
}

fn step(id: &str, leaf: bool) -> Value {
    json!({ "id": id, "title": format!("Step {id}"), "reason": "why not", "success_criteria": ["it is there"], "deliverable": "document", "leaf": leaf })
}

fn plan(bands: &[&[&str]]) -> Value {
    let bands: Vec<Value> = bands.iter().enumerate().map(|(index, steps)| json!({ "index": index, "goal": "g", "steps": steps.iter().map(|id| step(id, true)).collect::<Vec<_>>() })).collect();
    json!({ "mode": "plan", "mode_reason": "parts", "leaf_decision": null, "plan": { "summary": "in parts", "bands": bands }, "question": null, "scratchpad": pad("planned") })
}

fn document(label: &str, markdown: &str) -> Value {
    json!({ "type": "document", "label": label, "title": format!("About {label}"), "markdown": markdown, "json": null, "is_primary": true })
}

fn result(label: &str) -> Value {
    json!({ "kind": "document", "summary": format!("{label} is done"), "success_assessment": { "met": true, "notes": null },
        "primary_artifact_label": label, "parent_hint": { "hint_type": "read_documents", "artifact_labels": [label] } })
}

fn done(label: &str) -> Value {
    json!({ "tool_calls": [], "artifacts": [document(label, &format!("# {label}\n\nText of {label}."))], "result": result(label), "question": null, "scratchpad": pad("wrote it") })
}

fn summed(label: &str) -> Value {
    json!({ "synthesis": { "summary": format!("{label} together"), "key_findings": ["one"], "gaps": [] }, "artifacts": [document(label, "# All\n\nTogether.")],
        "result": result(label), "next": { "should_replan": false, "reason": null }, "scratchpad": pad("summed up") })
}

/// A model that plays its part unless `special` says otherwise.
fn scripted(
    brief: Queued,
    mut special: impl FnMut(Role, &str, &EffectAttempt) -> Option<Result<Value, CallError>> + 'static,
) -> Play {
    Play::new(brief, move |role, attempt| {
        // The verifier works for the run, not for a node.
        let title = if role == Role::Verifier { String::new() } else { title(attempt) };
        special(role, &title, attempt).unwrap_or_else(|| {
            Ok(match role {
                Role::TreePlanner => execute(),
                Role::TreeExecutor => done("paper"),
                Role::TreeAggregator => summed("synthesis"),
                _ => panic!("not a role of the tree"),
            })
        })
    })
}

fn state(play: &Play) -> &State {
    let Machine::Tree(state) = &play.run.machine else { panic!("a tree") };
    state
}

fn by_title(play: &Play, title: &str) -> NodeId {
    state(play).nodes.iter().rev().find(|node| node.title == title).expect("a node of that title").id
}

fn status_of(play: &Play, title: &str) -> NodeStatus {
    state(play).node(by_title(play, title)).expect("the node").status
}

fn count(play: &Play, kind: &str) -> usize {
    play.kinds().iter().filter(|known| **known == kind).count()
}

fn payloads(play: &Play, kind: &str) -> Vec<Value> {
    play.events
        .iter()
        .filter(|event| event.kind() == kind)
        .map(|event| serde_json::from_str(&event.payload).expect("JSON"))
        .collect()
}

/// Everything that must hold of any log, whatever happened.
fn check(play: &Play) {
    if let Err(broken) = audit(&play.events) {
        let seq: usize = broken.split(' ').nth(1).and_then(|seq| seq.parse().ok()).unwrap_or(0);
        let node = play.events[seq - 1].node_id;
        let log = play
            .events
            .iter()
            .take(seq)
            .filter(|event| event.node_id == node)
            .map(|event| format!("{} {} {}\n", event.seq, event.kind(), event.payload));
        panic!("{broken}\n{}", log.collect::<String>());
    }
    state(play).check_money().expect("money adds up");
    let folded = Run::fold(&play.events).expect("a fold");
    assert_eq!(
        engine::projection::rows(&folded, &play.events),
        engine::projection::rows(&play.run, &play.events),
        "T1: the fold is the state"
    );
    let mut live: std::collections::BTreeMap<NodeId, engine::batch::NodeRow> = Default::default();
    let mut made: std::collections::BTreeMap<_, _> = Default::default();
    let mut run = Run::fold(&play.events[..1]).expect("born");
    for batch in &play.batches {
        batch.events.iter().filter(|event| event.seq > 1).for_each(|event| run.apply(event));
        let rows = engine::projection::rows(&run, &batch.events);
        live.extend(rows.nodes.into_iter().map(|row| (row.id, row)));
        made.extend(rows.artifacts.into_iter().map(|row| (row.id, row)));
    }
    let rows = engine::projection::rows(&folded, &play.events);
    let rebuilt: std::collections::BTreeMap<_, _> = rows.nodes.into_iter().map(|row| (row.id, row)).collect();
    assert_eq!(live, rebuilt, "T1: rows written batch by batch equal rows rebuilt at once");
    let rebuilt: std::collections::BTreeMap<_, _> = rows.artifacts.into_iter().map(|row| (row.id, row)).collect();
    assert_eq!(made, rebuilt, "T1: so do the rows of artifacts");
    sums::check(play);
    play::view::check(&play.events);
}

fn go_on(play: &mut Play, budgets: engine::budget::BudgetPatch) {
    play.run.command(Command::Continue { budgets, message: None }, Actor::Platform, play.now).expect("goes on");
    play.commit();
    play.go();
    check(play);
}

fn not_done(play: &Play) -> Value {
    play.run.shared.report.clone().expect("a report")["not_done"].clone()
}

fn node(play: &mut Play, title: &str, order: NodeCommand) {
    let node = by_title(play, title);
    let owner = Actor::Person(play.run.shared.brief.owner);
    play.run.command(Command::Node { node, order }, owner, play.now).expect("accepted");
    play.commit();
}
