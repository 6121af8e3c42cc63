//! The tree planner: only the root and one study of an objective with three studies are planned. Every other node is a leaf.

use super::super::subject::Subject;
use super::super::{Sections, one_line};
use super::outline::{self, Study};
use super::{pad, title};
use serde_json::{Value, json};

/// The limits of a plan.
struct PlanLimits {
    bands: usize,
    steps: usize,
    nodes: usize,
}

pub(crate) fn answer(sections: &Sections) -> Value {
    let subject = Subject::of(sections.text("objective"));
    let allowances = sections.value("allowances");
    let number = |name: &str| allowances[name].as_u64().unwrap_or(0) as usize;
    let limits =
        PlanLimits { bands: number("max_bands"), steps: number("max_steps_per_band"), nodes: number("nodes_left") };
    let may_grow = number("depth_left") > 0 && limits.bands > 0 && limits.steps > 1 && limits.nodes >= 3;
    match sections.value("task")["depth"].as_u64() {
        Some(0) if may_grow && sections.value("replan_reason").is_string() => replan(&subject),
        Some(0) if may_grow && sections.value("plan").is_null() => delegated(plan(&subject, &limits), sections),
        Some(1) if may_grow && divides(&subject, title(sections)) => halves(title(sections)),
        _ => leaf(sections),
    }
}

/// Gives the first step to the first subagent.
fn delegated(mut plan: Value, sections: &Sections) -> Value {
    if let Some(agent) = sections.items("agents").first() {
        plan["plan"]["bands"][0]["steps"][0]["agent"] = agent["handle"].clone();
    }
    plan
}

/// Whether this is the last study of an objective with three.
fn divides(subject: &Subject, title: &str) -> bool {
    let studies = outline::studies(subject);
    studies.len() > 2 && studies.last().is_some_and(|last| last.title == title)
}

fn plan(subject: &Subject, limits: &PlanLimits) -> Value {
    let mut left = limits.nodes;
    let mut take = |wanted: usize| {
        let taken = wanted.min(left).min(limits.steps);
        left -= taken;
        taken
    };
    let studies = outline::studies(subject);
    let count = take(studies.len());
    let mut first: Vec<Value> =
        studies.iter().take(count).enumerate().map(|(nth, study)| study_step(subject, nth, study)).collect();
    if limits.steps > first.len() && take(1) == 1 {
        first.push(step(
            "register",
            &outline::register_title(subject),
            "Others need it in a form that can be counted",
            "json",
            true,
        ));
    }
    let mut bands = vec![band(0, &format!("Know {}", subject.phrase(0)), first)];
    if limits.bands > 1 && take(1) == 1 {
        let weigh = step("weigh", &outline::weighing_title(subject), "The synthesis rests on it", "document", true);
        bands.push(band(1, "Weigh what was found", vec![weigh]));
    }
    if let Some(title) = outline::proposal_title(subject).filter(|_| limits.bands > 2 && bands.len() == 2)
        && take(1) == 1
    {
        let propose = step("propose", &title, "A result that somebody can act on", "document", true);
        bands.push(band(2, "Make it usable", vec![propose]));
    }
    planned(&format!("Studies side by side first, then weigh them: {}.", subject.topic), bands)
}

fn study_step(subject: &Subject, nth: usize, study: &Study) -> Value {
    let leaf = !divides(subject, &study.title);
    step(&format!("study{}", nth + 1), &study.title, study.perspective.question, "document", leaf)
}

fn step(id: &str, title: &str, reason: &str, deliverable: &str, leaf: bool) -> Value {
    let criterion = match deliverable {
        "json" => "Every entry has a name and says whether it is settled",
        _ => "The page answers its question and says what cannot be known yet",
    };
    json!({"id": id, "title": title, "reason": reason, "success_criteria": [criterion], "deliverable": deliverable, "leaf": leaf})
}

fn band(index: usize, goal: &str, steps: Vec<Value>) -> Value {
    json!({"index": index, "goal": goal, "steps": steps})
}

fn planned(words: &str, bands: Vec<Value>) -> Value {
    json!({"mode": "plan", "mode_reason": "The questions are independent; weighing them needs all of them.", "leaf_decision": null,
           "plan": {"summary": words, "bands": bands}, "question": null, "scratchpad": pad(words)})
}

fn halves(title: &str) -> Value {
    let [known, missing] = outline::halves(title);
    let steps = vec![
        step("known", &known, "What is there need not be asked again", "document", true),
        step("missing", &missing, "A gap that is named can be closed", "document", true),
    ];
    planned(&format!("\"{}\" has two halves.", one_line(title)), vec![band(0, "Both halves", steps)])
}

/// Finished steps are carried over without being named; a smaller step replaces the failed one.
fn replan(subject: &Subject) -> Value {
    let instead =
        step("instead", &outline::instead_title(subject), "The larger step did not work out", "document", true);
    let words = format!("What is finished stays; the gap is closed in a smaller step: {}.", subject.topic);
    planned(&words, vec![band(0, "Close the gap", vec![instead])])
}

fn leaf(sections: &Sections) -> Value {
    let words = format!("\"{}\" is one page of work.", one_line(title(sections)));
    json!({"mode": "execute", "mode_reason": words, "leaf_decision": "direct", "plan": null, "question": null, "scratchpad": pad(&words)})
}
