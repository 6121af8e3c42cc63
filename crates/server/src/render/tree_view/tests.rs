//! The tree view at different sizes.

use super::*;
use serde_json::json;

const RUN: &str = "01a1de11-0000-7000-8000-000000000000";

fn id(number: u32) -> String {
    format!("01a1de11-0000-7000-8000-{number:012}")
}

fn node(number: u32, parent: Option<u32>, status: &str, title: &str) -> NodeRow {
    let metrics = json!({"cost_usd": 0.01, "tokens_in": 100, "tokens_out": 20});
    serde_json::from_value(json!({
        "id": id(number), "run_id": RUN, "ordinal": number, "parent_node_id": parent.map(id), "title": title, "reason": "",
        "success_criteria": [], "band_index": 0, "step_index": number, "step_id": parent.map(|_| format!("s{number}")),
        "depth": u32::from(parent.is_some()), "status": status, "role_state": "executor", "message": null, "paused": false,
        "generation": 1, "retry_of": null, "scratchpad_doc_id": RUN, "scratchpad_tail": "", "outcome": null, "error": null,
        "retryable": false, "result": null, "metrics": metrics, "own_metrics": metrics, "started_at": "2026-01-01T00:00:00.000Z", "ended_at": null,
        "created_at": "2026-01-01T00:00:00.000Z", "updated_at": "2026-01-01T00:00:00.000Z",
    }))
    .unwrap()
}

fn plan(of: u32, steps: &[(&str, &str)]) -> PlanRow {
    let steps: Vec<Value> = steps.iter().map(|(id, title)| json!({"id": id, "title": title})).collect();
    serde_json::from_value(json!({
        "id": RUN, "run_id": RUN, "node_id": id(of), "version": 1, "created_at": "2026-01-01T00:00:00.000Z",
        "plan_json": {"bands": [{"index": 1, "steps": steps}]},
    }))
    .unwrap()
}

/// A root with `branches` branches of three leaves each; all branches but the last have ended.
fn tree_view(branches: u32) -> TreeView {
    let mut tree_view = TreeView::default();
    let mut rows = vec![node(0, None, "waiting", "Root \u{1b}[31m of it")];
    for branch in 0..branches {
        let first = 1 + branch * 4;
        let status = if branch + 1 == branches { "executing" } else { "completed" };
        rows.push(node(first, Some(0), if status == "executing" { "waiting" } else { status }, "Branch"));
        rows.extend((1..4).map(|leaf| node(first + leaf, Some(first), status, "Leaf")));
    }
    tree_view.update(rows);
    tree_view
}

fn text(tree_view: &mut TreeView, rows: usize, room: usize) -> String {
    tree_view.lines(rows, room, Style { color: false }).join("\n")
}

#[test]
fn every_node_has_a_line_with_mark_role_number_band_status_and_cost() {
    let mut tree_view = tree_view(2);
    tree_view.plan(vec![plan(0, &[("s1", "Branch"), ("later", "Still to come")])]);
    let shown = text(&mut tree_view, 40, 90);
    assert_eq!(shown.lines().count(), 10, "{shown}");
    for line in [
        "○ E n0 Root \\u{1b}[31m of it",
        "├─ ✓ E n1 Branch",
        "│  └─ ✓ E n4 Leaf",
        "│  └─ ▶ E n8 Leaf",
        "└─ · Still to come  (band 2)",
    ] {
        assert!(shown.contains(line), "{line} is not in\n{shown}");
    }
    let root = shown.lines().next().unwrap();
    assert!(root.ends_with("$0.09"), "a line costs what is below it too: {root}");
}

#[test]
fn finished_subtrees_are_folded_when_lines_do_not_fit_and_stay_folded() {
    let mut tree_view = tree_view(4);
    let shown = text(&mut tree_view, 10, 90);
    assert!(shown.contains("✓ E n1 ▸3 Branch") && shown.contains("▶ E n14 Leaf"), "{shown}");
    assert!(text(&mut tree_view, 40, 90).contains("▸3"), "lines do not jump back");
}

#[test]
fn the_tree_fits_every_terminal() {
    for branches in [0, 1, 30, 300] {
        for (rows, room) in [(3, 20), (10, 40), (24, 79), (60, 200)] {
            let shown = tree_view(branches).lines(rows, room, Style { color: false });
            assert!(shown.len() <= rows, "{} lines in {rows}", shown.len());
            assert!(shown.iter().all(|line| width(line) <= room), "{branches} branches in {room} columns: {shown:#?}");
        }
    }
}

#[test]
fn nodes_at_work_stay_visible() {
    let shown = text(&mut tree_view(300), 12, 79);
    assert!(shown.contains("n0 Root") && shown.contains("▶ E n1200 Leaf") && shown.contains("299 done"), "{shown}");
}

#[test]
fn t9_a_line_counts_the_tokens_of_lost_attempts_as_the_run_does() {
    let mut tree_view = TreeView::default();
    let mut root = node(0, None, "completed", "Root");
    root.own_metrics =
        serde_json::from_value(json!({"tokens_in": 20_000, "tokens_out": 3_125, "tokens_presumed": 11_541})).unwrap();
    tree_view.update(vec![root]);
    let shown = text(&mut tree_view, 10, 90);
    assert!(shown.ends_with("34,666 tok"), "{shown}");
}
