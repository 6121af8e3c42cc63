//! Fake results of executors and aggregators, including envelopes that name artifacts of others.

use super::super::{FakeModel, Sections, planner, verifier};
use crate::dice::Dice;
use serde_json::{Value, json};

/// Another round: tools, sometimes with a page or with the result that is to count after them.
pub fn calling(fake_model: &FakeModel, sections: &Sections, round: u64, dice: &mut Dice) -> Value {
    let count = if dice.happens(40) { 11 } else { dice.between(1, 3) };
    let place = |n| format!("{} r{round}.{n}", sections.title());
    let calls: Vec<Value> = (0..count).map(|n| planner::call(fake_model, sections, &place(n), dice)).collect();
    let mut answer = json!({"tool_calls": calls});
    if dice.happens(150) {
        answer["artifacts"] = json!([page(&format!("draft {round}"))]);
    }
    if dice.happens(100) {
        answer["result"] = json!({"summary": "Done, once the tools have run."});
    }
    answer
}

pub fn finished(sections: &Sections, dice: &mut Dice) -> Value {
    let mut answer = json!({"artifacts": artifacts(dice)});
    answer["result"] = result(&answer["artifacts"], sections, dice);
    answer
}

fn artifacts(dice: &mut Dice) -> Vec<Value> {
    let kinds = [
        page("page"),
        page("second page"),
        json!({"type": "document", "label": "plea", "title": "A plea", "markdown": verifier::persuasion("this page")}),
        json!({"type": "json", "label": "data", "json": {"n": dice.below(9)}}),
        json!({"type": "json", "label": "big data", "json": {"text": "z".repeat(5_000)}}),
        json!({"type": "summary", "label": "in short", "markdown": "Short."}),
        json!({"type": "other", "label": "something", "json": [1, 2, 3]}),
    ];
    let count = dice.below(4);
    let mut chosen: Vec<Value> = Vec::new();
    for _ in 0..count {
        let one = dice.pick(&kinds).cloned().unwrap_or_default();
        if chosen.iter().all(|known| known["label"] != one["label"]) {
            chosen.push(one);
        }
    }
    if let Some(first) = chosen.first_mut() {
        first["is_primary"] = json!(dice.happens(300));
    }
    chosen
}

fn result(artifacts: &Value, sections: &Sections, dice: &mut Dice) -> Value {
    let labels: Vec<&Value> = artifacts.as_array().into_iter().flatten().map(|artifact| &artifact["label"]).collect();
    let mut result = json!({"kind": "document", "summary": format!("{} is done.", sections.title())});
    if let Some(label) = dice.pick(&labels).filter(|_| dice.happens(400)) {
        result["primary_artifact_label"] = (*label).clone();
    }
    if dice.happens(300) {
        let hints = [json!("read_documents"), json!("read_json"), Value::Null];
        let named = if dice.happens(500) { json!(labels) } else { json!([]) };
        result["parent_hint"] = json!({"hint_type": dice.pick(&hints), "artifact_labels": named});
    }
    if dice.happens(200) {
        result["success_assessment"] = json!({"met": dice.happens(500), "notes": "judged"});
    }
    result
}

pub fn sum(sections: &Sections, replans: bool, dice: &mut Dice) -> Value {
    let artifacts = if dice.happens(500) { artifacts(dice) } else { Vec::new() };
    let mut answer = json!({
        "synthesis": {"summary": "All together.", "key_findings": ["one"], "gaps": if dice.happens(200) { json!(["a gap"]) } else { json!([]) }},
        "artifacts": artifacts,
        "next": {"should_replan": replans, "reason": "more is needed"},
    });
    if !replans || dice.happens(300) {
        answer["result"] = result(&answer["artifacts"], sections, dice);
    }
    answer
}

fn page(label: &str) -> Value {
    json!({"type": "document", "label": label, "title": format!("Title of {label}"), "markdown": format!("# Page\n\nText of {label},  in\ntwo lines.")})
}

/// Says that it is done, and has nothing to show.
pub fn talk() -> Value {
    json!({"result": {"summary": "All of it is done.", "success_assessment": {"met": true, "notes": "See for yourself."}}})
}

/// Everything went well, whatever the children say.
pub fn praise() -> Value {
    json!({
        "synthesis": {"summary": "A full success.", "key_findings": ["all is done"], "gaps": []},
        "result": {"summary": "A full success.", "success_assessment": {"met": true}},
        "next": {"should_replan": false},
    })
}

/// Envelopes that must be refused.
pub fn bad(fake_model: &FakeModel, dice: &mut Dice) -> Value {
    let foreign = dice.pick(&fake_model.foreign).copied().unwrap_or_default();
    let result = json!({"summary": "Trust me."});
    match dice.below(12) {
        0 => json!({"result": {"summary": "Mine now.", "primary_artifact_label": foreign}}),
        1 => json!({"result": {"summary": "Mine now.", "primary_artifact_label": format!("doc:{foreign}")}}),
        2 => {
            json!({"artifacts": [page("p")], "result": {"summary": "x", "parent_hint": {"hint_type": "read_documents", "artifact_labels": ["p", foreign]}}})
        }
        3 => json!({"result": {"summary": "x", "parent_hint": {"hint_type": "read_minds", "artifact_labels": []}}}),
        4 => json!({"result": {"summary": "   "}}),
        5 => json!({"artifacts": [{"type": "sculpture", "label": "s"}], "result": result}),
        6 => json!({"artifacts": (0..25).map(|n| page(&format!("p{n}"))).collect::<Vec<_>>(), "result": result}),
        7 => json!({"artifacts": [page("p"), page("p")], "result": result}),
        8 => json!({"artifacts": [{"type": "json", "label": "d"}], "result": result}),
        9 => json!({"tool_calls": [], "artifacts": [page("p")]}),
        10 => {
            json!({"tool_calls": [{"tool": "create_document", "arguments": {"title": "t", "content": "c"}}], "result": {"summary": "x", "primary_artifact_label": foreign}})
        }
        _ => json!({"result": {"summary": "y".repeat(300_000)}}),
    }
}

pub fn bad_sum(fake_model: &FakeModel, dice: &mut Dice) -> Value {
    let foreign = dice.pick(&fake_model.foreign).copied().unwrap_or_default();
    let synthesis = json!({"summary": "Grand.", "key_findings": [], "gaps": []});
    match dice.below(5) {
        0 => json!({"synthesis": synthesis, "result": {"summary": "x", "primary_artifact_label": foreign}}),
        1 => json!({"synthesis": synthesis, "next": {"should_replan": false}}),
        2 => json!({"result": {"summary": "Without a synthesis."}}),
        3 => json!({"synthesis": synthesis, "result": {"summary": ""}}),
        _ => json!({"synthesis": "words", "result": {"summary": "x"}}),
    }
}
