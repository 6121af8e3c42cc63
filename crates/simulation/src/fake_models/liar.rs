//! A planner and executors whose words and deeds are two things: steps are dropped, failed ones are called done, evidence is
//! invented or somebody else's, and executors say that they worked.

use super::planner::{call, frame};
use super::{FakeModel, Sections, executor};
use crate::dice::Dice;
use serde_json::{Value, json};

pub fn planner(fake_model: &FakeModel, sections: &Sections, dice: &mut Dice) -> Value {
    let iteration = sections.number("iteration");
    let done = [("s0", "done"), ("s1", "done"), ("s2", "done")];
    let mut answer = match dice.below(8) {
        _ if iteration == 1 => return delegating(fake_model, sections, dice),
        // Talk.
        0 => return said(iteration, &done[..1], &["the rest"]),
        1 | 2 => return delegating_again(iteration, dice),
        3 => said(iteration, &done[..1], &[]),
        4 => said(iteration, &[("n0", "done"), ("n1", "done")], &[]),
        5 => said(iteration, &[("s2", "done"), ("s0", "done")], &[]),
        _ => said(iteration, &done, &[]),
    };
    answer["exit_signal"] = json!(true);
    let refs = refs(fake_model, sections, dice);
    let claim = |criterion: &Value| json!({"criterion": criterion["id"], "claim": "done", "refs": refs});
    let criteria = sections.items("success_criteria");
    answer["completion_evidence"] = json!(criteria.into_iter().map(claim).collect::<Vec<_>>());
    if dice.happens(300) {
        answer["tool_calls"] = json!([call(fake_model, sections, &format!("lie {iteration}"), dice)]);
    }
    answer
}

fn said(iteration: u64, steps: &[(&str, &str)], remaining: &[&str]) -> Value {
    let step = |(id, status): &(&str, &str)| json!({"id": id, "title": format!("Part {id}"), "status": status, "owner": "executor"});
    let remaining: Vec<String> = remaining.iter().map(|what| format!("{what}, {iteration}")).collect();
    frame(&format!("almost there, {iteration}"), json!(steps.iter().map(step).collect::<Vec<_>>()), json!(remaining))
}

fn task(branch: u64, step: u64, iteration: u64) -> Value {
    json!({
        "branch_id": format!("b{branch}"), "step_id": format!("s{step}"), "title": format!("Part {step}"),
        "objective": format!("do part {step}, {iteration}"), "tools": ["create_document", "list_documents"],
    })
}

fn delegating(fake_model: &FakeModel, sections: &Sections, dice: &mut Dice) -> Value {
    let mut answer = said(1, &[("s0", "doing"), ("s1", "doing"), ("s2", "pending")], &["all of it"]);
    answer["executor_tasks"] = json!((0..dice.between(1, 3)).map(|n| task(n, n, 1)).collect::<Vec<_>>());
    if dice.happens(500) {
        answer["tool_calls"] = json!([call(fake_model, sections, "lie 1", dice)]);
    }
    answer
}

/// On any branch and any step, so that what failed there before seems to be made good.
fn delegating_again(iteration: u64, dice: &mut Dice) -> Value {
    let mut answer = said(iteration, &[("s0", "done"), ("s1", "doing"), ("s2", "done")], &["a part"]);
    let mut again = task(dice.below(3), dice.below(3), iteration);
    if dice.happens(200) {
        again["step_id"] = Value::Null;
    }
    answer["executor_tasks"] = json!([again]);
    answer
}

/// Invented ones and another person's, half of the time with some that are true.
fn refs(fake_model: &FakeModel, sections: &Sections, dice: &mut Dice) -> Vec<String> {
    let foreign = fake_model.foreign.first().map(|id| format!("doc:{id}"));
    let invented = ["event:1", "event:2", "event:999999", "doc:nonsense", "my word"].map(String::from);
    let made = sections.items("artifacts").into_iter().filter_map(|made| made["ref"].as_str().map(str::to_owned));
    let truth: Vec<String> = if dice.happens(500) { made.take(3).collect() } else { Vec::new() };
    foreign.into_iter().chain(invented).chain(truth).collect()
}

/// By branch: one fails, one says that it is done after calls that all failed, and the others only say it.
pub fn executor(fake_model: &FakeModel, branch: &str, round: u64, dice: &mut Dice) -> Value {
    match branch {
        "b1" if dice.happens(900) => json!({"thought": "I would rather not."}),
        "b2" if round == 1 => executor::said(branch, round, vec![executor::bad_call(fake_model, dice)], false),
        _ => executor::said(branch, round, Vec::new(), true),
    }
}
