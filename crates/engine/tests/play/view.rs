//! Compares the view with the full fold at every event of a log.

use engine::event::Event;
use engine::ids::NodeNumber;
use engine::projection::{node_row, run_row};
use engine::run::{Machine, Run};
use engine::view::View;
use serde_json::{Value, json};

/// Fold a log as a view, stopping to be stored and read again on the way, and compare.
pub(crate) fn check(events: &[Event]) {
    let mut run = Run::from_first_event(&events[0]).expect("a run");
    let mut view = View::from_first_event(&events[0]).expect("a view");
    for event in &events[1..] {
        run.apply(event);
        view.apply(event);
        if event.seq.is_multiple_of(37) {
            view = View::decode(&view.encode().expect("text")).expect("the same view");
        }
        if event.seq.is_multiple_of(5) || event.seq as usize == events.len() {
            compare(&run, &view);
        }
    }
}

fn compare(run: &Run, view: &View) {
    assert_eq!(view.run(), run_row(run), "the run object after {}", view.seq());
    let snapshot: Value = serde_json::from_str(&view.to_json(view.seq()).expect("text")).expect("JSON");
    let Machine::Tree(state) = &run.machine else {
        assert_eq!((&snapshot["nodes"], &snapshot["steps"]), (&Value::Null, &Value::Null));
        return;
    };
    assert_eq!(snapshot["nodes"]["count"], state.nodes.len());
    for number in 0..state.nodes.len() {
        let row = node_row(run, state, NodeNumber::from_index(number));
        let column = |name: &str| &snapshot["nodes"][name][number];
        let since = |at: Option<engine::time::Timestamp>| at.map(|at| at.0 - run.shared.created_at.0);
        let open = run.shared.open_questions().find(|question| question.node_id == Some(row.id));
        let retried = row.retry_of.and_then(|id| state.nodes.iter().position(|node| node.id == id));
        let expected = [
            ("id", json!(row.id)),
            ("parent", json!(state.nodes[number].parent)),
            ("title", json!(row.title)),
            ("status", json!(row.status)),
            ("role", json!(row.role_state)),
            ("paused", json!(row.paused)),
            ("depth", json!(row.depth)),
            ("band", json!(row.band_index)),
            ("step", json!(row.step_index)),
            ("step_id", json!(row.step_id)),
            ("generation", json!(row.generation)),
            ("retry_of", json!(retried)),
            ("message", json!(row.message)),
            ("outcome", json!(row.outcome)),
            ("error", json!(row.error)),
            ("stale", json!(row.stale)),
            ("question", json!(open.map(|question| question.id))),
            ("artifacts", json!(state.nodes[number].artifacts.len())),
            ("documents", json!(state.nodes[number].artifacts.iter().filter(|artifact| artifact.is_text()).count())),
            ("cost_usd", json!(row.metrics.cost_usd)),
            ("tokens_in", json!(row.metrics.tokens_in)),
            ("tokens_out", json!(row.metrics.tokens_out)),
            ("tokens_presumed", json!(row.metrics.tokens_presumed)),
            ("llm_calls", json!(row.metrics.llm_calls)),
            ("tool_calls", json!(row.metrics.tool_calls)),
            ("created_ms", json!(since(Some(row.created_at)))),
            ("started_ms", json!(since(row.started_at))),
            ("ended_ms", json!(since(row.ended_at))),
        ];
        for (name, value) in expected {
            assert_eq!(column(name), &value, "{name} of node {number} after {}", view.seq());
        }
    }
    steps(run, state, &snapshot["steps"]);
}

/// Steps that no node works on, by node and in the order of the plan.
fn steps(run: &Run, state: &engine::tree::State, shown: &Value) {
    let mut expected = Vec::new();
    for (number, node) in state.nodes.iter().enumerate() {
        for step in node.plan.iter().flat_map(|plan| &plan.steps).filter(|step| step.child.is_none()) {
            expected.push(json!([number, step.of.id, step.band, step.index, step.of.title, step.status]));
        }
    }
    let names = ["node", "step_id", "band", "step", "title", "status"];
    let count = shown["count"].as_u64().unwrap_or_default() as usize;
    let found: Vec<Value> = (0..count).map(|at| names.iter().map(|name| shown[*name][at].clone()).collect()).collect();
    assert_eq!(found, expected, "the open steps after {}", run.shared.last_seq);
}
