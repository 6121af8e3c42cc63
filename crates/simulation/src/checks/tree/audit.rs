//! Checks a tree's log, and nothing but the log, against invariants 10 to 17. Knows only the engine's public types, so that
//! the engine's own tests include this file too.

use engine::event::Event;
use engine::facts::tree::TreeFact as T;
use engine::facts::{Fact, RunFact as R};
use engine::ids::{ArtifactId, DocumentId, NodeId};
use engine::tree::status::{NodeStatus, StepStatus};
use std::collections::{HashMap, HashSet};

#[derive(Default)]
struct Seen {
    parent: Option<NodeId>,
    depth: u32,
    status: Option<NodeStatus>,
    has_pad: bool,
    results: u32,
    generation: u32,
    aggregated: bool,
    artifacts: HashSet<ArtifactId>,
    documents: HashSet<DocumentId>,
    readable: HashSet<ArtifactId>,
    steps: HashMap<String, (u32, StepStatus, Option<NodeId>)>,
}

/// The first invariant the log breaks, and where.
pub(crate) fn audit(events: &[Event]) -> Result<(), String> {
    let mut audit = Audit { nodes: HashMap::new(), max_depth: 0, max_nodes: 0, ended: false };
    for (index, event) in events.iter().enumerate() {
        let broken = |why: String| format!("seq {} {}: {why}", event.seq, event.kind());
        if event.seq != index as u64 + 1 {
            return Err(broken(format!("1: expected seq {}", index + 1)));
        }
        audit.take(event).map_err(broken)?;
    }
    Ok(())
}

struct Audit {
    nodes: HashMap<NodeId, Seen>,
    max_depth: u32,
    max_nodes: u32,
    ended: bool,
}

type Checked = Result<(), String>;

fn must(holds: bool, why: impl Into<String>) -> Checked {
    if holds { Ok(()) } else { Err(why.into()) }
}

impl Audit {
    fn take(&mut self, event: &Event) -> Checked {
        match &event.fact {
            Fact::Run(R::Queued(brief)) => {
                (self.max_depth, self.max_nodes) = (brief.budgets.max_depth, brief.budgets.max_nodes)
            }
            Fact::Run(R::BudgetChanged(fact)) => {
                self.max_depth = self.max_depth.max(fact.budgets.max_depth);
                self.max_nodes = self.max_nodes.max(fact.budgets.max_nodes);
            }
            Fact::Run(R::Completed(_) | R::Stopped(_) | R::Failed(_) | R::Canceled(_)) => {
                must(!self.ended, "13: the run ended twice")?;
                self.ended = true;
            }
            Fact::Run(R::Resumed(_)) => self.ended = false,
            Fact::Tree(fact) => {
                must(!self.ended, "13: the run has ended")?;
                return self.take_own(fact, event);
            }
            _ => {}
        }
        Ok(())
    }

    fn take_own(&mut self, fact: &T, event: &Event) -> Checked {
        let Some(id) = event.node_id else {
            return must(matches!(fact, T::RunStarted(_) | T::ToolsManifest(_)), "10: belongs to no node");
        };
        if let T::NodeCreated(created) = fact {
            must(!self.nodes.contains_key(&id), "10: created twice")?;
            let depth =
                event.parent_node_id.map_or(Some(0), |parent| self.nodes.get(&parent).map(|parent| parent.depth + 1));
            must(depth == Some(created.depth), "10: its parent does not exist, or its depth is wrong")?;
            must(created.depth <= self.max_depth, "10: deeper than max_depth")?;
            self.nodes.insert(
                id,
                Seen { parent: event.parent_node_id, depth: created.depth, generation: 1, ..Seen::default() },
            );
            return must(self.nodes.len() <= self.max_nodes as usize, "10: more nodes than max_nodes");
        }
        let Some(node) = self.nodes.get_mut(&id) else { return Err("10: before the node was created".into()) };
        must(node.parent == event.parent_node_id, "10: another parent")?;
        match fact {
            T::ScratchpadLinked(_) => node.has_pad = true,
            T::NodeStatusChanged(changed) => {
                must(node.has_pad || changed.status != NodeStatus::Executing, "11: executes without a scratchpad")?;
                must(!changed.status.is_terminal(), "17: an end is an event of its own")?;
                node.become_status(changed.status)?;
            }
            T::PlanCreated(plan) => {
                node.steps.retain(|_, (_, status, _)| *status == StepStatus::Completed);
                for band in &plan.bands {
                    for step in &band.steps {
                        node.steps.entry(step.id.clone()).and_modify(|known| known.0 = band.index).or_insert((
                            band.index,
                            StepStatus::Pending,
                            None,
                        ));
                    }
                }
            }
            T::StepStatusChanged(changed) => node.step(&changed.step_id, changed.status)?,
            T::NodeDelegated(fact) => {
                if let Some(step) = node.steps.get_mut(&fact.step_id) {
                    step.2 = Some(fact.child_node_id);
                }
            }
            T::ArtifactCreated(fact) => {
                node.artifacts.insert(fact.artifact_id);
                node.documents.extend(fact.document_id);
            }
            T::ArtifactRead(fact) => {
                must(fact.by_node_id == id, "16: read by another node")?;
                let children = self.nodes.values().filter(|child| child.parent == Some(id));
                return must(
                    children.into_iter().any(|child| child.readable.contains(&fact.artifact_id)),
                    "16: no child told it to read that",
                );
            }
            T::NodeAggregated(fact) => {
                must(!node.aggregated, "15: aggregated twice in one generation")?;
                must(node.steps.values().all(|(_, status, _)| status.is_terminal()), "15: a step is not over")?;
                let children: HashSet<NodeId> = node.steps.values().filter_map(|(_, _, child)| *child).collect();
                must(children == fact.child_ids.iter().copied().collect(), "15: childIds are not its children")?;
                node.aggregated = true;
            }
            T::ReplanRequested(_) => node.next_generation(node.generation + 1)?,
            T::NodeResult(fact) => {
                node.results += 1;
                must(node.results == 1, "12: two results in one generation")?;
                let result = &fact.result;
                must(
                    result.artifact_ids.iter().chain(&result.primary_artifact_id).all(|id| node.artifacts.contains(id)),
                    "16: an artifact that is not its own",
                )?;
                must(
                    result.document_ids.iter().all(|id| node.documents.contains(id)),
                    "16: a document that is not registered",
                )?;
            }
            T::ParentHint(fact) => {
                must(Some(fact.parent_node_id) == node.parent, "16: a hint to a stranger")?;
                must(
                    fact.artifact_ids.iter().all(|id| node.artifacts.contains(id)),
                    "16: an artifact that is not its own",
                )?;
                node.readable = fact.artifact_ids.iter().copied().collect();
            }
            T::NodeCompleted(_) => {
                must(node.results == 1, "12: completed without a result")?;
                node.become_status(NodeStatus::Completed)?;
            }
            T::NodeFailed(_) => {
                must(node.results == 0, "12: failed with a result")?;
                node.become_status(NodeStatus::Failed)?;
            }
            T::NodeCanceled(_) => node.become_status(NodeStatus::Canceled)?,
            T::NodeReopened(fact) => {
                node.next_generation(fact.generation)?;
                node.status = Some(if fact.caused_by == id { NodeStatus::Failed } else { NodeStatus::Aggregating });
            }
            _ => {}
        }
        Ok(())
    }
}

impl Seen {
    fn become_status(&mut self, next: NodeStatus) -> Checked {
        let legal = self.status.map_or(next.may_begin(), |status| status.may_become(next));
        must(legal, format!("17: {:?} may not become {next:?}", self.status))?;
        self.status = Some(next);
        Ok(())
    }

    fn next_generation(&mut self, generation: u32) -> Checked {
        must(generation == self.generation + 1, "13: generations are counted one by one")?;
        (self.generation, self.results, self.aggregated) = (generation, 0, false);
        Ok(())
    }

    fn step(&mut self, id: &str, status: StepStatus) -> Checked {
        let Some(step) = self.steps.get(id) else { return Err(format!("14: step {id:?} was never planned")) };
        let (band, was) = (step.0, step.1);
        if status == StepStatus::Running && was == StepStatus::Pending {
            let waits = self.steps.values().any(|(other, status, _)| *other < band && !status.is_terminal());
            must(!waits, format!("14: step {id:?} starts before the band ahead is over"))?;
        }
        if let Some(step) = self.steps.get_mut(id) {
            step.1 = status;
        }
        Ok(())
    }
}
