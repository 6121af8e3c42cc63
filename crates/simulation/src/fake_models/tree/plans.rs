//! Fake plans, valid and invalid.

use super::super::Sections;
use crate::dice::Dice;
use serde_json::{Value, json};

pub fn sound(sections: &Sections, dice: &mut Dice) -> Value {
    let title = sections.title();
    let count = dice.between(1, 3);
    let mut bands: Vec<Value> =
        (0..count).map(|band| json!({"index": band, "goal": "", "steps": steps(title, band, dice)})).collect();
    if dice.happens(100) {
        // The numbers count, not the order.
        bands.reverse();
    }
    if !sections.value("replan_reason").is_null() {
        keep_some(sections, &mut bands, dice);
    }
    json!({"mode": "plan", "mode_reason": "in parts", "plan": {"summary": "In parts.", "bands": bands}})
}

fn steps(title: &str, band: u64, dice: &mut Dice) -> Vec<Value> {
    let deliverables = [json!("document"), json!("json"), json!("either"), Value::Null];
    let count = dice.between(1, 3);
    let step = |step| {
        let deliverable = dice.pick(&deliverables).cloned();
        json!({
            "id": format!("b{band}s{step}"), "title": format!("{title}/{band}{step}"), "reason": "a part of it",
            "success_criteria": ["it is there"], "deliverable": deliverable, "leaf": dice.happens(450),
        })
    };
    (0..count).map(step).collect()
}

/// A later version keeps what was finished, by its id, beside what is new.
fn keep_some(sections: &Sections, bands: &mut [Value], dice: &mut Dice) {
    let version = sections.value("plan")["version"].as_u64().unwrap_or(1);
    for (at, band) in bands.iter_mut().enumerate() {
        let steps = band["steps"].as_array_mut().into_iter().flatten();
        for step in steps {
            if dice.happens(400) {
                let id = step["id"].as_str().unwrap_or_default().to_owned();
                step["id"] = json!(format!("v{version}{id}"));
                step["title"] = json!(format!("{} again {version}.{at}", step["title"].as_str().unwrap_or_default()));
            }
        }
    }
}

/// Nothing of this may become a plan.
pub fn bad(sections: &Sections, dice: &mut Dice) -> Value {
    let step = |id: &str| json!({"id": id, "title": format!("{}/{id}", sections.title())});
    let plan = |bands: Value| json!({"mode": "plan", "plan": {"summary": "Grand.", "bands": bands}});
    let many = |count: usize| (0..count).map(|n| step(&format!("s{n}"))).collect::<Vec<_>>();
    match dice.below(12) {
        0 => plan(json!([{"index": 0, "steps": [step("a"), step("a")]}])),
        1 => plan(json!([{"index": 0, "steps": [step("a")]}, {"index": 1, "steps": []}])),
        2 => plan(json!([])),
        3 => json!({"mode": "plan"}),
        4 => plan(json!([{"index": 0, "steps": many(400)}])),
        5 => plan(json!(many(40).into_iter().map(|step| json!({"steps": [step]})).collect::<Vec<_>>())),
        6 => json!({"mode": "conquer", "plan": {"bands": [{"steps": [step("a")]}]}}),
        7 => plan(json!([{"index": 0, "steps": [step(&"x".repeat(200))]}])),
        8 => plan(json!([{"index": 0, "steps": [{"id": "a", "title": "  "}]}])),
        9 => json!({"mode": "execute", "question": {"text": "   "}}),
        10 => plan(json!("everything")),
        _ => json!([{"mode": "execute"}]),
    }
}
