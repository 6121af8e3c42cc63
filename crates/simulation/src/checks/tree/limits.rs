//! Guards of a tree: depth, nodes, bands, steps, replans and parallel calls; the last also by the provider's bill.

use super::super::RunLog;
use crate::world::FinishedWorld;
use crate::world::provider::Request;
use engine::budget::Budgets;
use engine::facts::{EffectFact as E, Fact, RunFact as R, TreeFact as T};
use engine::ids::NodeId;
use engine::model::Role;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
struct Growth {
    depth: BTreeMap<NodeId, u32>,
    replans: BTreeMap<NodeId, u32>,
    open: BTreeSet<(String, u32)>,
}

pub fn check(finished: &FinishedWorld, log: &RunLog, violations: &mut Vec<String>) {
    let (mut growth, mut budgets) = (Growth::default(), Budgets::default());
    for event in &log.events {
        let broken = match &event.fact {
            Fact::Run(R::Queued(fact)) => {
                budgets = fact.budgets.clone();
                None
            }
            // A plan that was accepted under a higher limit is carried out.
            Fact::Run(R::BudgetChanged(fact)) => {
                let max_nodes = budgets.max_nodes.max(fact.budgets.max_nodes);
                budgets = Budgets { max_nodes, ..fact.budgets.clone() };
                None
            }
            Fact::Tree(fact) => event.node_id.and_then(|id| growth.grow(fact, id, &budgets)),
            Fact::Effect(fact) => growth.call(fact, event.node_id, &budgets),
            _ => None,
        };
        if let Some(why) = broken {
            violations.push(format!("{why}: run {} at {}", log.id, event.seq));
        }
    }
    at_once(finished, log, &budgets, violations);
}

impl Growth {
    fn grow(&mut self, fact: &T, id: NodeId, budgets: &Budgets) -> Option<String> {
        match fact {
            T::NodeCreated(fact) => {
                self.depth.insert(id, fact.depth);
                let (nodes, most) = (self.depth.len(), budgets.max_nodes);
                (nodes > most as usize).then(|| format!("10: {nodes} nodes, {most} allowed")).or_else(|| {
                    (fact.depth > budgets.max_depth).then(|| format!("10: depth {} is too deep", fact.depth))
                })
            }
            T::PlanCreated(fact) => {
                let widest = fact.bands.iter().map(|band| band.steps.len()).max().unwrap_or(0);
                let over = fact.bands.len() > budgets.max_bands as usize
                    || widest > budgets.max_steps_per_band as usize
                    || self.depth.get(&id).is_none_or(|depth| *depth >= budgets.max_depth);
                over.then(|| {
                    format!("10: a plan of {} bands, up to {widest} steps, where it may not be", fact.bands.len())
                })
            }
            T::ReplanRequested(_) => {
                let replans = self.replans.entry(id).or_default();
                *replans += 1;
                (*replans > budgets.max_replans).then(|| format!("10: replanned {replans} times"))
            }
            _ => None,
        }
    }

    fn call(&mut self, fact: &E, id: Option<NodeId>, budgets: &Budgets) -> Option<String> {
        match fact {
            E::Started(fact) => {
                self.open.insert((fact.effect.0.clone(), fact.attempt));
                let open = self.open.len();
                if open > budgets.max_parallel as usize {
                    return Some(format!("max_parallel: {open} calls at once, {} allowed", budgets.max_parallel));
                }
                let depth = id.and_then(|id| self.depth.get(&id)).copied().unwrap_or(0);
                (fact.what == Role::TreePlanner.name() && depth >= budgets.max_depth)
                    .then(|| format!("10: a planner was asked at depth {depth}"))
            }
            E::Finished(fact) => {
                self.open.remove(&(fact.effect.0.clone(), fact.attempt));
                None
            }
            E::Unknown(_) | E::Resolved(_) => None,
        }
    }
}

/// Only checked in worlds where no process dies or stalls: otherwise a dead driver's calls may still be open.
fn at_once(finished: &FinishedWorld, log: &RunLog, budgets: &Budgets, violations: &mut Vec<String>) {
    if !finished.setup.fault_rates.is_steady() || finished.setup.crash_at.is_some() {
        return;
    }
    let bill: Vec<&Request> = finished.bill.iter().filter(|request| request.run == log.id).collect();
    for request in &bill {
        let open = bill
            .iter()
            .filter(|other| other.at_ms <= request.at_ms && other.end_ms.is_none_or(|end| end > request.at_ms));
        let open = open.count();
        if open > budgets.max_parallel as usize {
            let most = budgets.max_parallel;
            violations
                .push(format!("max_parallel: the provider saw {open} calls of run {} at once, {most} allowed", log.id));
            return;
        }
    }
}
