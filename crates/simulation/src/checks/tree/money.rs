//! 35: grants and spending add up at every depth after every event, and what the nodes were charged is what the
//! bills in the log say, call by call.

use super::super::RunLog;
use super::super::fold::replay;
use engine::facts::{EffectFact as E, Fact};
use engine::ids::NodeId;
use engine::run::Machine;
use std::collections::BTreeMap;

pub fn check(log: &RunLog<'_>) {
    let mut adds_up = true;
    let mut last_at = None;
    let run = replay(&log.events, |run, event| {
        // Facts decided together have the same time; the invariant holds only after the last of them.
        let settled = last_at.replace(event.at) != Some(event.at);
        if let (Machine::Tree(state), true) = (&run.machine, settled && adds_up)
            && let Err(why) = state.check_money()
        {
            adds_up = false;
            log.violation_at(event, format_args!("35: {why}"));
        }
    });
    let Some(Machine::Tree(state)) = run.as_ref().map(|run| &run.machine) else { return };
    if let Err(why) = state.check_money() {
        log.violation(format_args!("35: {why} at its end"));
    }
    let mut billed: BTreeMap<Option<NodeId>, (u64, u64)> = BTreeMap::new();
    for event in &log.events {
        if let Fact::Effect(E::Finished(fact)) = &event.fact {
            if event.node_id.is_none() && !fact.effect.0.contains(".v") {
                log.violation_at(event, format_args!("35: {} was paid for no node", fact.effect));
            }
            let sum = billed.entry(event.node_id).or_default();
            sum.0 += fact.settled.cost_usd.0;
            sum.1 = sum.1.saturating_add(fact.settled.tokens_in).saturating_add(fact.settled.tokens_out);
        }
    }
    for node in &state.nodes {
        let own = &node.own;
        let charged =
            (own.cost_usd.0, own.tokens_in.saturating_add(own.tokens_out).saturating_add(own.tokens_presumed));
        let bills = billed.remove(&Some(node.id)).unwrap_or_default();
        if charged != bills {
            log.violation(format_args!("35: node {} was charged {charged:?}, billed {bills:?}", node.id));
        }
    }
    // The verifier works for the run and not for a node.
    billed.remove(&None);
    if !billed.is_empty() {
        log.violation(format_args!("35: paid for calls of unknown nodes: {billed:?}"));
    }
}
