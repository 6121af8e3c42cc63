//! Checks a tree's log, and nothing but the log, against invariants 10 to 17, and that a run ends as its root did. Knows only
//! the engine's public types, so that the engine's own tests include this file too.

use engine::budget::Budgets;
use engine::event::Event;
use engine::facts::tree::{NodeCreated, NodeOutcome, PlanCreated, TreeFact as T};
use engine::facts::{EffectFact as E, Fact, RunFact as R};
use engine::ids::{ArtifactId, DocumentId, NodeId};
use engine::model::Role;
use engine::run::StopReason;
use engine::tree::status::{NodeStatus, StepStatus};
use std::collections::{HashMap, HashSet};

#[derive(Default)]
struct Node {
    parent: Option<NodeId>,
    depth: u32,
    status: Option<NodeStatus>,
    /// It completed, failed or was canceled, and was not reopened.
    ended: bool,
    succeeded: bool,
    /// A retry works on its step.
    replaced: bool,
    has_pad: bool,
    results: u32,
    generation: u32,
    replans: u32,
    aggregated: bool,
    artifacts: HashSet<ArtifactId>,
    documents: HashSet<DocumentId>,
    readable: HashSet<ArtifactId>,
    /// Of the plan in force, and the completed ones of those before it.
    steps: HashMap<String, Step>,
}

struct Step {
    band: u32,
    status: StepStatus,
    /// The node that works on it, or did last.
    child: Option<NodeId>,
}

/// The first invariant the log breaks, and where.
pub(crate) fn audit(events: &[Event]) -> Result<(), String> {
    let mut audit = Audit { nodes: HashMap::new(), budgets: Budgets::default(), ended: false };
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
    nodes: HashMap<NodeId, Node>,
    budgets: Budgets,
    ended: bool,
}

type Checked = Result<(), String>;

fn must(holds: bool, why: impl Into<String>) -> Checked {
    if holds { Ok(()) } else { Err(why.into()) }
}

impl Audit {
    fn take(&mut self, event: &Event) -> Checked {
        if let (Some(id), Fact::Tree(T::NodeCreated(created))) = (event.node_id, &event.fact) {
            must(!self.ended, "13: the run has ended")?;
            return self.create(id, event.parent_node_id, created);
        }
        let node = event.node_id.map(|id| self.nodes.get(&id).ok_or("10: before the node was created")).transpose()?;
        if let Some(node) = node {
            must(!node.ended || node.may_follow_its_end(&event.fact), "13: after the node's end")?;
        }
        match &event.fact {
            Fact::Run(R::Queued(brief)) => self.budgets = brief.budgets.clone(),
            // A plan that was accepted under a higher limit is carried out.
            Fact::Run(R::BudgetChanged(fact)) => {
                let max_nodes = self.budgets.max_nodes.max(fact.budgets.max_nodes);
                let max_depth = self.budgets.max_depth.max(fact.budgets.max_depth);
                self.budgets = Budgets { max_nodes, max_depth, ..fact.budgets.clone() };
            }
            Fact::Run(fact @ (R::Completed(_) | R::Stopped(_) | R::Failed(_) | R::Canceled(_))) => {
                must(!self.ended, "13: the run ended twice")?;
                self.ended = true;
                return self.ends_as_its_root(fact);
            }
            Fact::Run(R::Resumed(_)) => self.ended = false,
            Fact::Effect(E::Started(fact)) if fact.what == Role::TreePlanner.name() => {
                must(node.is_some_and(|node| node.depth < self.budgets.max_depth), "10: too deep for a planner")?;
            }
            Fact::Tree(fact) => {
                must(!self.ended, "13: the run has ended")?;
                return self.take_own(fact, event);
            }
            _ => {}
        }
        Ok(())
    }

    fn create(&mut self, id: NodeId, parent: Option<NodeId>, created: &NodeCreated) -> Checked {
        must(!self.nodes.contains_key(&id), "10: created twice")?;
        let depth = parent.map_or(Some(0), |parent| self.nodes.get(&parent).map(|parent| parent.depth + 1));
        must(depth == Some(created.depth), "10: its parent does not exist, or its depth is wrong")?;
        must(created.depth <= self.budgets.max_depth, "10: deeper than max_depth")?;
        self.nodes.insert(id, Node { parent, depth: created.depth, generation: 1, ..Node::default() });
        must(self.nodes.len() <= self.budgets.max_nodes as usize, "10: more nodes than max_nodes")?;
        match (parent, &created.step_id) {
            (Some(parent), Some(step)) => self.give_step(parent, step, id, created.retry_of),
            _ => Ok(()),
        }
    }

    /// A step has one child at a time, and its band waits for the children of the bands ahead.
    fn give_step(&mut self, parent: NodeId, step: &str, child: NodeId, retry_of: Option<NodeId>) -> Checked {
        let steps = &self.nodes[&parent].steps;
        let Some(Step { band, child: before, .. }) = steps.get(step) else {
            return Err(format!("14: works on {step:?}, which nobody planned"));
        };
        must(*before == retry_of, format!("14: {step:?} has another child, which this one does not replace"))?;
        let mut ahead = steps.values().filter(|other| other.band < *band);
        let waits = ahead.any(|other| other.child.is_none_or(|child| !self.nodes[&child].ended));
        // A retried step may run beside later bands.
        must(!waits || retry_of.is_some(), format!("14: {step:?} starts before the band ahead is over"))?;
        if let Some(step) = self.nodes.get_mut(&parent).and_then(|parent| parent.steps.get_mut(step)) {
            step.child = Some(child);
        }
        if let Some(replaced) = retry_of.and_then(|id| self.nodes.get_mut(&id)) {
            replaced.replaced = true;
        }
        Ok(())
    }

    fn take_own(&mut self, fact: &T, event: &Event) -> Checked {
        let Some((id, node)) = event.node_id.and_then(|id| Some((id, self.nodes.get_mut(&id)?))) else {
            return must(matches!(fact, T::RunStarted(_) | T::ToolsManifest(_)), "10: belongs to no node");
        };
        must(node.parent == event.parent_node_id, "10: another parent")?;
        match fact {
            T::ScratchpadLinked(_) => node.has_pad = true,
            T::NodeStatusChanged(changed) => {
                must(node.has_pad || changed.status != NodeStatus::Executing, "11: executes without a scratchpad")?;
                let superseded = changed.status == NodeStatus::Superseded && node.ended;
                must(superseded || !changed.status.is_terminal(), "17: an end is an event of its own")?;
                node.become_status(changed.status)?;
            }
            T::PlanCreated(plan) => node.plan(plan, &self.budgets)?,
            T::StepStatusChanged(changed) => match node.steps.get_mut(&changed.step_id) {
                Some(step) => step.status = changed.status,
                None => return Err(format!("14: step {:?} was never planned", changed.step_id)),
            },
            T::NodeDelegated(fact) => {
                let child = node.steps.get(&fact.step_id).and_then(|step| step.child);
                must(child == Some(fact.child_node_id), "14: delegated to a node that is not the step's")?;
            }
            T::ArtifactCreated(fact) => {
                node.artifacts.insert(fact.artifact_id);
                node.documents.extend(fact.document_id);
            }
            T::ArtifactRead(fact) => {
                must(fact.by_node_id == id, "16: read by another node")?;
                let by_tool = node.status == Some(NodeStatus::Executing);
                must(!node.artifacts.contains(&fact.artifact_id), "16: a receipt for its own artifact")?;
                let mut children = self.nodes.values().filter(|child| child.parent == Some(id) && !child.replaced);
                let told = children.any(|child| child.readable.contains(&fact.artifact_id));
                let registered = || self.nodes.values().any(|other| other.artifacts.contains(&fact.artifact_id));
                must(told || by_tool && registered(), "16: no child told it to")?;
            }
            T::NodeAggregated(fact) => {
                must(!node.aggregated, "15: aggregated twice in one generation")?;
                node.aggregated = true;
                must(node.steps.values().all(|step| step.status.is_terminal()), "15: a step is not over")?;
                let children: HashSet<NodeId> = node.steps.values().filter_map(|step| step.child).collect();
                let named: HashSet<NodeId> = fact.child_ids.iter().copied().collect();
                must(children == named && named.len() == fact.child_ids.len(), "15: childIds are not its children")?;
                must(children.iter().all(|child| self.nodes[child].ended), "15: a child is at work")?;
            }
            T::ReplanRequested(_) => {
                node.replans += 1;
                must(node.replans <= self.budgets.max_replans, "10: more replans than max_replans")?;
                node.next_generation(node.generation + 1)?;
            }
            T::NodeResult(fact) => {
                node.results += 1;
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
            T::NodeCompleted(fact) => {
                node.succeeded = fact.outcome == NodeOutcome::Success;
                node.end(NodeStatus::Completed, 1)?;
            }
            T::NodeFailed(_) => node.end(NodeStatus::Failed, 0)?,
            T::NodeCanceled(_) => node.end(NodeStatus::Canceled, 0)?,
            T::NodeReopened(fact) => {
                node.next_generation(fact.generation)?;
                node.status = Some(if fact.caused_by == id { NodeStatus::Failed } else { NodeStatus::Aggregating });
            }
            _ => {}
        }
        Ok(())
    }

    /// A run ends as its root did, whatever a model claims, and what was canceled leaves nothing alive.
    fn ends_as_its_root(&self, fact: &R) -> Checked {
        let alive = self.nodes.values().filter(|node| !node.ended).count();
        let root = self.nodes.iter().find(|(_, node)| node.parent.is_none() && node.ended);
        let status = root.and_then(|(_, root)| root.status);
        let succeeded = root.is_some_and(|(_, root)| status == Some(NodeStatus::Completed) && root.succeeded);
        let of_root = |node: &&Node| root.is_some_and(|(id, _)| node.parent == Some(*id)) && !node.replaced;
        let mut children = self.nodes.values().filter(of_root).filter(|node| node.ended).peekable();
        let all_failed = children.peek().is_some() && children.all(|node| node.status != Some(NodeStatus::Completed));
        let fits = match fact {
            R::Completed(_) => status == Some(NodeStatus::Completed) && alive == 0 && !(succeeded && all_failed),
            R::Stopped(fact) => {
                let by_limit = !matches!(fact.stop_reason, StopReason::Completed | StopReason::Error);
                by_limit && status.is_some_and(|status| status != NodeStatus::Canceled) && !succeeded
            }
            R::Failed(fact) => fact.stop_reason != StopReason::Error || status == Some(NodeStatus::Failed),
            _ => alive == 0,
        };
        must(fits, format!("ends: its root is {status:?} (success: {succeeded}), {alive} nodes are alive"))
    }
}

impl Node {
    /// Late calls may still be settled, a pause may be lifted, and a node that was not canceled may be reopened.
    fn may_follow_its_end(&self, fact: &Fact) -> bool {
        match fact {
            Fact::Effect(E::Finished(_)) | Fact::Tree(T::NodeResumed(_) | T::NodeStale(_)) => true,
            Fact::Tree(T::NodeStatusChanged(changed)) => changed.status == NodeStatus::Superseded,
            Fact::Tree(T::NodeReopened(_)) => self.status != Some(NodeStatus::Canceled),
            _ => false,
        }
    }

    fn become_status(&mut self, next: NodeStatus) -> Checked {
        let legal = self.status.map_or(next.may_begin(), |status| status.may_become(next));
        must(legal, format!("17: {:?} may not become {next:?}", self.status))?;
        self.status = Some(next);
        Ok(())
    }

    fn end(&mut self, status: NodeStatus, results: u32) -> Checked {
        must(self.results == results, format!("12: {status:?} with {} results", self.results))?;
        self.ended = true;
        self.become_status(status)
    }

    fn next_generation(&mut self, generation: u32) -> Checked {
        must(generation == self.generation + 1, "13: generations are counted one by one")?;
        (self.generation, self.results, self.aggregated, self.ended) = (generation, 0, false, false);
        self.readable.clear();
        Ok(())
    }

    fn plan(&mut self, plan: &PlanCreated, budgets: &Budgets) -> Checked {
        let widest = plan.bands.iter().map(|band| band.steps.len()).max().unwrap_or(0);
        let fits = plan.bands.len() <= budgets.max_bands as usize && widest <= budgets.max_steps_per_band as usize;
        must(fits, format!("10: a plan of {} bands, up to {widest} steps", plan.bands.len()))?;
        must(self.depth < budgets.max_depth, "10: too deep for a plan")?;
        self.steps.retain(|_, step| step.status == StepStatus::Completed);
        for band in &plan.bands {
            for step in &band.steps {
                let new = Step { band: band.index, status: StepStatus::Pending, child: None };
                self.steps.entry(step.id.clone()).or_insert(new).band = band.index;
            }
        }
        Ok(())
    }
}
