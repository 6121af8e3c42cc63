//! Every list of a tree's usage adds up to the run's: nodes, subtrees, models, columns, and the log itself.

use crate::*;
use engine::facts::{EffectFact, Fact};
use engine::metrics::Metrics;
use engine::projection;
use engine::run::Status;
use engine::view::View;
use std::collections::BTreeMap;

/// Cost, presumed cost, tokens in, out, cached and presumed, model calls, tool calls.
type Sum = [u64; 8];

fn of(metrics: &Metrics) -> Sum {
    let Metrics { tokens_in, tokens_out, tokens_cached, tokens_presumed, llm_calls, tool_calls, .. } = metrics;
    let (cost, presumed) = (metrics.cost_usd.0, metrics.cost_presumed_usd.0);
    [cost, presumed, *tokens_in, *tokens_out, *tokens_cached, *tokens_presumed, *llm_calls, *tool_calls]
}

fn total(sums: impl Iterator<Item = Sum>) -> Sum {
    sums.fold([0; 8], |all, one| std::array::from_fn(|at| all[at] + one[at]))
}

/// What was paid for calls that belong to no node.
fn owned_by_nobody(play: &Play) -> Metrics {
    let mut sum = Metrics::default();
    let mut model = BTreeMap::new();
    for event in play.events.iter().filter(|event| event.node_id.is_none()) {
        match &event.fact {
            Fact::Effect(EffectFact::Started(fact)) => drop(model.insert(&fact.effect, fact.model.clone())),
            Fact::Effect(EffectFact::Finished(fact)) => {
                if let Some(Some(name)) = model.get(&fact.effect) {
                    let answered = fact.outcome == engine::facts::effect::FinishedAs::Ok;
                    sum.charge(name, &fact.settled, answered);
                }
            }
            _ => {}
        }
    }
    sum
}

pub(crate) fn check(play: &Play) {
    let (state, run) = (state(play), of(&play.run.shared.metrics));
    let beside = of(&owned_by_nobody(play));
    assert_eq!(
        total([of(&state.nodes[0].subtree), beside].into_iter()),
        run,
        "the root's subtree, and what no node owns"
    );
    let rows = projection::rows(&play.run, &play.events).nodes;
    let own = rows.iter().map(|row| of(&row.own_metrics)).chain([beside]);
    assert_eq!(total(own), run, "all nodes, each by itself");
    let by_model = &play.run.shared.metrics.by_model;
    let models = by_model.values().fold((0, 0, 0), |(cost, tokens, calls), one| {
        (cost + one.cost_usd.0, tokens + one.tokens_in + one.tokens_out, calls + one.llm_calls)
    });
    assert_eq!(models, (run[0], run[2] + run[3], run[6]), "all models");
}

/// The totals that the snapshot's columns show for the root.
fn root_column(play: &Play) -> (u64, u64) {
    let mut view = View::from_first_event(&play.events[0]).expect("a view");
    play.events[1..].iter().for_each(|event| view.apply(event));
    let nodes = &view.tree().expect("a tree").nodes;
    (nodes.cost_usd[0].0, nodes.tokens_in[0] + nodes.tokens_out[0] + nodes.tokens_presumed[0])
}

#[test]
fn t9_every_list_of_nodes_adds_up_to_the_run_after_kills() {
    // given: a tree with tools, a failure and a replan, whose process is killed again and again with calls in flight
    let mut plans = 0;
    let mut play = scripted(brief("Killed"), move |role, title, attempt| match (role, title) {
        (Role::TreePlanner, "Killed") => {
            plans += 1;
            let mut answer = if plans == 1 { plan(&[&["a", "b"], &["m"]]) } else { plan(&[&["n"]]) };
            answer["plan"]["bands"].as_array_mut().unwrap().last_mut().unwrap()["steps"][0]["leaf"] = json!(plans > 1);
            Some(Ok(answer))
        }
        (Role::TreePlanner, _) => Some(Ok(plan(&[&["x", "y"]]))),
        (Role::TreeExecutor, "Step b") => Some(Ok(json!({}))),
        (Role::TreeExecutor, "Step x") if attempt.effect.0.ends_with(".r1") => Some(Ok(json!({ "tool_calls": [
            { "tool": "search_documents", "arguments": { "query": "x" }, "purpose": "p" }] }))),
        (Role::TreeAggregator, "Killed") if !own_text(attempt).contains("\"version\":2") => {
            let mut answer = summed("draft");
            answer["next"] = json!({ "should_replan": true, "reason": "b is missing" });
            Some(Ok(answer))
        }
        _ => None,
    });
    play.step(0);
    let mut kills = 0;
    while !play.run.shared.status().is_terminal() && kills < 60 {
        // when: what is due is called, and the process dies before an answer arrives; then one of them is answered
        let due = play.run.due(play.now).external;
        due.iter().for_each(|effect| drop(play.run.intend(effect, play.now)));
        play.commit();
        let log = play.events.clone();
        play.resume_from(&log);
        play.now = play.now.plus_ms(5_000);
        play.step(0);
        kills += 1;
        play.step(2);
        check(&play);
    }
    play.go();
    // then
    crate::check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed, "{:?}", play.run.shared.stop_detail);
    let metrics = &play.run.shared.metrics;
    assert!(kills > 5 && metrics.tokens_presumed > 0, "{kills} kills, {} tokens presumed", metrics.tokens_presumed);
    assert_eq!(root_column(&play), (metrics.cost_usd.0, metrics.tokens()), "the root's line says what the run's does");
}

#[test]
fn t9_data_is_no_document() {
    // given: data small and large, beside one document
    let large = json!({ "list": vec!["x".repeat(90); 90] });
    let mut play = scripted(brief("Data"), move |role, _, _| {
        (role == Role::TreeExecutor).then(|| {
            let mut answer = done("paper");
            let data = [
                json!({ "type": "json", "label": "few", "json": { "n": 1 } }),
                json!({ "type": "json", "label": "many", "json": large }),
            ];
            answer["artifacts"].as_array_mut().unwrap().extend(data);
            Ok(answer)
        })
    });
    // when
    play.go();
    // then
    crate::check(&play);
    let mut view = View::from_first_event(&play.events[0]).expect("a view");
    play.events[1..].iter().for_each(|event| view.apply(event));
    let nodes = &view.tree().expect("a tree").nodes;
    assert_eq!((nodes.artifacts[0], nodes.documents[0]), (3, 1));
}
