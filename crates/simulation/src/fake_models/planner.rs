//! Fake answers of the homework planner.

use super::{Behaviour, FakeModel, Sections, executor, liar, verifier};
use crate::dice::Dice;
use serde_json::{Value, json};

pub fn answer(fake_model: &FakeModel, sections: &Sections, dice: &mut Dice) -> Value {
    let iteration = sections.number("iteration");
    let behaviour = if fake_model.behaviour == Behaviour::Chaotic { chaos(dice) } else { fake_model.behaviour };
    match behaviour {
        Behaviour::Repeating => repeating(),
        Behaviour::Boasting => boasting(fake_model, sections, dice),
        Behaviour::Lying => liar::planner(fake_model, sections, dice),
        Behaviour::Asking if !sections.items("questions").iter().any(|question| question["answer"].is_string()) => {
            asking(fake_model, sections, iteration, dice)
        }
        _ if iteration >= fake_model.patience => finishing(sections),
        behaviour => working(fake_model, sections, behaviour, iteration, dice),
    }
}

fn chaos(dice: &mut Dice) -> Behaviour {
    use Behaviour as T;
    *dice.pick(&[T::Diligent, T::Delegating, T::Asking, T::Repeating, T::Boasting, T::Lying]).unwrap_or(&T::Diligent)
}

pub(super) fn frame(summary: &str, steps: Value, remaining: Value) -> Value {
    json!({
        "progress_summary": summary, "plan": {"steps": steps}, "tool_calls": [], "executor_tasks": [], "remaining_work": remaining,
        "completion_evidence": [], "exit_signal": false, "needs_user_input": false, "blocking_questions": [],
        "next_action_hint": "execute", "confidence": "medium",
    })
}

fn steps(status: &str, dice: &mut Dice) -> Value {
    let count = dice.between(1, 3);
    json!(
        (0..count)
            .map(|n| json!({"id": format!("s{n}"), "title": format!("Step {n}"), "status": status, "owner": "planner"}))
            .collect::<Vec<_>>()
    )
}

fn working(
    fake_model: &FakeModel,
    sections: &Sections,
    behaviour: Behaviour,
    iteration: u64,
    dice: &mut Dice,
) -> Value {
    let mut answer =
        frame(&format!("working on {iteration}"), steps("doing", dice), json!([format!("part {iteration}")]));
    let count = if dice.happens(40) { 11 } else { dice.between(1, 4) };
    let calls: Vec<Value> = (0..count).map(|n| call(fake_model, sections, &format!("{iteration}.{n}"), dice)).collect();
    answer["tool_calls"] = json!(calls);
    if behaviour == Behaviour::Delegating || dice.happens(150) {
        let count = if dice.happens(60) { 5 } else { dice.between(1, 3) };
        let tasks = (0..count).map(|n| {
            let tools = if dice.happens(300) { json!([]) } else { json!(["create_document", "list_documents", "update_document", "search"]) };
            json!({"branch_id": format!("b{n}"), "step_id": "s0", "title": format!("PlannedRun {n}"), "objective": format!("errand {n} of iteration {iteration}"), "tools": tools})
        });
        answer["executor_tasks"] = json!(tasks.collect::<Vec<_>>());
    }
    answer
}

/// One call, mostly sound.
pub fn call(fake_model: &FakeModel, sections: &Sections, place: &str, dice: &mut Dice) -> Value {
    let artifacts = sections.items("artifacts");
    let known = |kind: &str| -> Vec<String> {
        artifacts.iter().filter_map(|made| made["ref"].as_str()?.strip_prefix(kind).map(str::to_owned)).collect()
    };
    let (mut documents, tasks) = (known("doc:"), known("task:"));
    documents.extend(sections.fields("artifacts", "document_id"));
    let made = |tool: &str, arguments: Value| json!({"tool": tool, "arguments": arguments, "purpose": "simulated"});
    let create = || made("create_document", json!({"title": format!("Page {place}"), "content": page(place)}));
    match dice.below(16) {
        0..=3 => create(),
        4 => made("create_task", json!({"title": format!("Task {place}")})),
        5 => dice.pick(&documents).map_or_else(create, |id| {
            made("update_document", json!({"document_id": id, "content": format!("rewritten at {place}")}))
        }),
        6 => dice.pick(&tasks).map_or_else(create, |id| made("update_task", json!({"task_id": id, "state": "done"}))),
        7 => made("list_documents", json!({})),
        8 => made("search", json!({"query": "text"})),
        9 => match documents.as_slice() {
            [first, .., last] => made("link_entities", json!({"src_id": first, "dst_id": last, "rel": "supports"})),
            _ => create(),
        },
        10 => fake_model.shared_page.map_or_else(create, |id| {
            made("update_document", json!({"document_id": id, "append": format!("\nadded at {place}")}))
        }),
        11 => {
            let content = format!("{}\n{}", page(place), verifier::persuasion(place));
            made("create_document", json!({"title": format!("Page {place}"), "content": content}))
        }
        // The same words again, in other lines.
        12 => dice.pick(&documents).map_or_else(create, |id| {
            let content = page(place).replace('\n', if dice.happens(500) { " " } else { "\n\n" });
            made("update_document", json!({"document_id": id, "content": content}))
        }),
        _ => executor::bad_call(fake_model, dice),
    }
}

/// Long enough to be quoted, with white space of several kinds.
fn page(place: &str) -> String {
    format!("# Page {place}\n\ntext of {place},  which says\nthat it was written at {place}.")
}

fn repeating() -> Value {
    let mut answer = frame(
        "the same again",
        json!([{"id": "s0", "title": "Step", "status": "doing", "owner": "planner"}]),
        json!(["everything"]),
    );
    answer["tool_calls"] = json!([{"tool": "list_documents", "arguments": {"limit": 3}, "purpose": "look"}]);
    answer
}

fn boasting(fake_model: &FakeModel, sections: &Sections, dice: &mut Dice) -> Value {
    let mut answer =
        frame("all done, trust me", json!([]), if dice.happens(300) { json!(["a trifle"]) } else { json!([]) });
    answer["exit_signal"] = json!(true);
    let foreign = fake_model.foreign.first().map(|id| format!("doc:{id}")).unwrap_or_default();
    let workspace =
        sections.value("scope")["workspace_document_id"].as_str().map(|id| format!("doc:{id}")).unwrap_or_default();
    let refs = json!([foreign, workspace, "event:1", "event:999999", "doc:nonsense", "trust me"]);
    let criteria = sections.items("success_criteria");
    answer["completion_evidence"] = json!(
        criteria
            .iter()
            .map(|criterion| json!({"criterion": criterion["id"], "claim": "done", "refs": refs}))
            .collect::<Vec<_>>()
    );
    if dice.happens(300) {
        answer["tool_calls"] = json!([call(fake_model, sections, "boast", dice)]);
    }
    answer
}

fn asking(fake_model: &FakeModel, sections: &Sections, iteration: u64, dice: &mut Dice) -> Value {
    let mut answer = frame("need to know", steps("blocked", dice), json!(["an answer"]));
    answer["needs_user_input"] = json!(true);
    let count = dice.between(1, 3);
    answer["blocking_questions"] =
        json!((0..count).map(|n| format!("question {n} of iteration {iteration}?")).collect::<Vec<_>>());
    if dice.happens(400) {
        answer["tool_calls"] = json!([call(fake_model, sections, &format!("{iteration}.ask"), dice)]);
    }
    answer
}

/// Done, with whatever evidence the request shows.
fn finishing(sections: &Sections) -> Value {
    let mut answer =
        frame("finished", json!([{"id": "s0", "title": "Step 0", "status": "done", "owner": "planner"}]), json!([]));
    let artifacts = sections.items("artifacts");
    let results = sections.items("tool_results");
    let good = results.iter().filter(|result| result["ok"] == true).map(|result| result["event"].clone());
    let refs: Vec<Value> = artifacts.iter().map(|made| made["ref"].clone()).chain(good).take(3).collect();
    if refs.is_empty() {
        answer["tool_calls"] = json!([{"tool": "create_document", "arguments": {"title": "Result", "content": "the result,\nas it came out"}, "purpose": "evidence"}]);
    }
    let criteria = sections.items("success_criteria");
    let mut evidence: Vec<Value> =
        criteria.iter().map(|criterion| json!({"criterion": criterion["id"], "claim": "done", "refs": refs})).collect();
    if evidence.is_empty() {
        evidence.push(json!({"claim": "done", "refs": refs}));
    }
    answer["completion_evidence"] = json!(evidence);
    answer["exit_signal"] = json!(true);
    answer["next_action_hint"] = json!("stop");
    answer
}
