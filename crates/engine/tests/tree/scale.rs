//! Ten thousand nodes cost ten times what a thousand do.

use crate::*;
use engine::run::Status;
use engine::view::View;
use std::time::{Duration, Instant};

fn limits(brief: &mut Queued, wide: u32) {
    let budgets = &mut brief.budgets;
    (budgets.max_nodes, budgets.max_depth, budgets.max_steps_per_band, budgets.max_bands) = (20_000, 6, wide, 20_000);
    (budgets.max_cost_usd, budgets.max_wall_ms, budgets.max_parallel) = (None, None, 64);
}

/// Every node down to `depth` plans `wide` children.
fn grow(wide: usize, depth: usize) -> (Play, Duration) {
    let mut brief = brief("Grow");
    limits(&mut brief, wide as u32);
    let ids: Vec<String> = (0..wide).map(|index| format!("s{index}")).collect();
    let mut play = Play::new(brief, move |role, attempt| {
        let title = title(attempt);
        let level = title.matches('/').count();
        Ok(match role {
            Role::TreePlanner => {
                let steps: Vec<Value> = ids
                    .iter()
                    .map(|id| json!({ "id": id, "title": format!("{title}/{id}"), "leaf": level + 1 == depth }))
                    .collect();
                json!({ "mode": "plan", "plan": { "bands": [{ "steps": steps }] } })
            }
            Role::TreeExecutor => done("paper"),
            _ => summed("synthesis"),
        })
    });
    let begun = Instant::now();
    play.go_within(100_000);
    (play, begun.elapsed())
}

fn per_event(play: &Play, took: Duration) -> f64 {
    took.as_secs_f64() * 1e6 / play.events.len() as f64
}

#[test]
fn t10_ten_thousand_nodes_take_time_linear_in_their_number() {
    let (small, small_took) = grow(10, 2);
    let (large, large_took) = grow(10, 4);
    assert_eq!(small.run.shared.status(), Status::Completed);
    assert_eq!(large.run.shared.status(), Status::Completed, "{:?}", large.run.shared.stop_detail);
    assert_eq!(state(&large).nodes.len(), 11_111);
    let (small, large) = (per_event(&small, small_took), per_event(&large, large_took));
    assert!(large < small * 4.0 + 20.0, "{small:.1} µs per event with 111 nodes, {large:.1} with 11,111");
}

#[test]
fn t12_a_snapshot_of_ten_thousand_nodes_is_quick_to_make() {
    let (play, _) = grow(10, 4);
    let mut view = View::from_first_event(&play.events[0]).expect("a view");
    let begun = Instant::now();
    play.events[1..].iter().for_each(|event| view.apply(event));
    let folded = begun.elapsed() / play.events.len() as u32;
    let begun = Instant::now();
    let text = view.encode().expect("text");
    let encoded = begun.elapsed();
    let begun = Instant::now();
    let view = View::decode(&text).expect("the view");
    let decoded = begun.elapsed();
    let begun = Instant::now();
    let json = view.to_json(view.seq()).expect("JSON");
    let written = begun.elapsed();
    println!(
        "{} events: {folded:?} each; checkpoint of {} bytes {encoded:?} to write and {decoded:?} to read; {} bytes of JSON in {written:?}",
        play.events.len(),
        text.len(),
        json.len()
    );
    assert!(folded < Duration::from_micros(50), "{folded:?} per event");
    assert!(decoded + written < Duration::from_secs(1), "{decoded:?} {written:?}");
}

#[test]
fn t10_one_node_with_five_thousand_children_is_no_slower() {
    let (play, took) = grow(5_000, 1);
    assert_eq!(play.run.shared.status(), Status::Completed, "{:?}", play.run.shared.stop_detail);
    assert_eq!(state(&play).nodes.len(), 5_001);
    assert!(took < Duration::from_secs(20), "{took:?}");
}
