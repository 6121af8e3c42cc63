//! A stored log with every command people can send to a tree; it must always fold to the same state.

use crate::play::golden_log;
use crate::*;
use engine::projection;
use engine::run::{NodeCommand, Status};

/// A question, a tool call, data, a failure, a new plan, a pause, a cancel and a retry.
fn eventful() -> Play {
    let mut play = scripted(brief("Compare backup tools and recommend one"), |role, title, attempt| {
        let text = own_text(attempt);
        let answer = match (role, title) {
            (Role::TreePlanner, _) if text.contains("## replan_reason") => plan(&[&["d"]]),
            (Role::TreePlanner, "Step c") => plan(&[&["x", "y"]]),
            (Role::TreePlanner, _) => {
                let mut first = plan(&[&["a", "b", "c"], &["e"]]);
                first["plan"]["bands"][0]["steps"][2]["leaf"] = json!(false);
                first
            }
            (Role::TreeExecutor, "Step a") if !text.contains("## questions") => {
                json!({ "question": { "text": "Which tools?", "options": ["all", "two"], "default": "two" }, "scratchpad": pad("must ask") })
            }
            (Role::TreeExecutor, "Step b") => json!({ "scratchpad": pad("nothing") }),
            (Role::TreeExecutor, "Step e") if !text.contains("## tool_results") => {
                json!({ "tool_calls": [{ "tool": "search_documents", "arguments": { "query": "backup" }, "purpose": "look" }], "scratchpad": pad("looks") })
            }
            (Role::TreeExecutor, "Step e") => {
                let mut answer = done("figures");
                answer["artifacts"] = json!([{ "type": "json", "label": "figures", "json": { "tools": 2 } }]);
                answer["result"]["parent_hint"] = json!({ "hint_type": "read_json", "artifact_labels": ["figures"] });
                answer
            }
            (Role::TreeAggregator, "Compare backup tools and recommend one") if text.contains("\"version\":1") => {
                let mut answer = summed("draft");
                answer["next"] = json!({ "should_replan": true, "reason": "step b is missing" });
                answer
            }
            _ => return None,
        };
        Some(Ok(answer))
    });
    let owner = Actor::Person(play.run.shared.brief.owner);
    play.step(6);
    node(&mut play, "Step c", NodeCommand::Pause);
    play.go();
    play.run.command(Command::Answer { question: None, text: "all".into() }, owner, play.now).expect("answered");
    play.commit();
    node(&mut play, "Step c", NodeCommand::Resume);
    play.go();
    assert_eq!(play.run.shared.status(), Status::Completed);
    node(&mut play, "Step x", NodeCommand::Retry);
    play.go();
    node(&mut play, "Step d", NodeCommand::Retry);
    play.step(0);
    node(&mut play, "Step d", NodeCommand::Cancel);
    play.go();
    check(&play);
    play
}

#[test]
fn t1_invariant_5_the_golden_log_of_a_tree_folds_for_ever() {
    let events = golden_log("tree_log.jsonl", eventful);
    audit(&events).expect("every rule holds of it");
    let run = Run::fold(&events).expect("a run");
    assert_eq!(run.shared.status(), Status::Completed);
    let rows = projection::rows(&run, &events);
    let ends: Vec<String> = rows
        .nodes
        .iter()
        .map(|row| format!("{} {} {} g{}", row.ordinal, row.title, row.status.name(), row.generation))
        .collect();
    assert_eq!(ends, ENDS);
    let kinds: std::collections::BTreeSet<&str> = events.iter().map(|event| event.kind()).collect();
    for kind in [
        "tree.node_canceled",
        "tree.node_reopened",
        "tree.node_paused",
        "tree.node_resumed",
        "tree.replan_requested",
        "tree.artifact_read",
        "tree.tool_call_result",
        "tree.answer_rejected",
        "tree.node_failed",
        "run.question_asked",
        "run.answered",
        "run.resumed",
    ] {
        assert!(kinds.contains(kind), "{kind} is in it");
    }
}

/// Ordinal, title, status and generation of every node.
const ENDS: [&str; 10] = [
    "0 Compare backup tools and recommend one completed g4",
    "1 Step a completed g1",
    "2 Step b failed g1",
    "3 Step c completed g2",
    "4 Step x completed g1",
    "5 Step y completed g1",
    "6 Step e completed g1",
    "7 Step d completed g1",
    "8 Step x completed g1",
    "9 Step d canceled g1",
];
