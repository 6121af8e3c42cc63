//! The state of a tree run, and three ready sets: nodes whose built-in tools are due, nodes that want a model, and nodes
//! that can move by themselves. A node's membership is recomputed only when one of its events is applied, so the cost of
//! an event does not grow with the tree.

use super::effect_id::{EffectPosition, NodeCall};
use super::node::Node;
use super::status::NodeStatus;
use crate::budget::Reserve;
use crate::calls;
use crate::effect::EffectId;
use crate::ids::{ArtifactId, DocumentId, NodeId, NodeNumber, QuestionId};
use crate::ledger::Accounts;
use crate::lessons::LessonRef;
use crate::run::{NodeRef, Shared};
use crate::time::Timestamp;
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

#[derive(Clone, Debug, Default)]
pub struct State {
    /// The run's part of every effect id.
    pub tag: String,
    /// In order of creation; the first is the root.
    pub nodes: Vec<Node>,
    by_id: HashMap<NodeId, NodeNumber>,
    pub(super) accounts: Accounts,
    /// Existing nodes plus planned steps, each of which will need a node. Counts against `max_nodes`.
    pub reserved_nodes: u32,
    pub(super) open_calls: HashMap<EffectId, OpenCall>,
    pub(super) questions: HashMap<QuestionId, NodeNumber>,
    /// The newest registration of each document.
    pub(super) documents: HashMap<DocumentId, (NodeNumber, ArtifactId)>,
    /// Ready: nodes whose built-in tools are due.
    pub(super) tools: BTreeSet<NodeNumber>,
    /// Ready: nodes that want a model, deepest first, so that started work finishes before more is started.
    pub(super) ready: BTreeSet<(Reverse<u32>, NodeNumber)>,
    /// Ready: nodes that can move without a model, a tool or a person.
    pub(super) movable: BTreeSet<NodeNumber>,
    /// How many nodes have each status.
    pub(super) counts: [u32; NodeStatus::ALL.len()],
    /// The run has ended and was not continued.
    pub(super) ended: bool,
    /// Lessons that subagents left, with the node of each.
    pub(super) lessons: Vec<(NodeNumber, LessonRef)>,
    /// A tool call created or changed something, be it no artifact of a node.
    pub(super) tools_made: bool,
}

/// A model call of a node in flight.
#[derive(Clone, Debug)]
pub(super) struct OpenCall {
    pub node: NodeNumber,
    pub attempt: u32,
    pub reserve: Reserve,
    pub model: Option<String>,
    pub since: Timestamp,
}

/// What a node does next without a model, a tool or a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// Read the scratchpad of its subagent.
    Recall,
    StartBand,
    BandOver,
    Conclude,
    OutOfRounds,
    /// Two answers in a row did not fit.
    Unusable,
    Unblock,
}

impl State {
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.by_id.get(&id).map(|at| &self.nodes[at.index()])
    }

    pub(crate) fn number(&self, id: NodeId) -> Option<NodeNumber> {
        self.by_id.get(&id).copied()
    }

    pub(super) fn at(&self, number: NodeNumber) -> &Node {
        &self.nodes[number.index()]
    }

    pub(super) fn at_mut(&mut self, number: NodeNumber) -> &mut Node {
        &mut self.nodes[number.index()]
    }

    pub(super) fn numbers(&self) -> impl DoubleEndedIterator<Item = NodeNumber> + use<> {
        (0..self.nodes.len()).map(NodeNumber::from_index)
    }

    pub fn root(&self) -> Option<&Node> {
        self.nodes.first()
    }

    pub fn count(&self, status: NodeStatus) -> u32 {
        self.counts[status as usize]
    }

    /// Checks that money is conserved at every depth and that the nodes' usage adds up to their subtrees'.
    pub fn check_money(&self) -> Result<(), String> {
        self.accounts.check()?;
        let mut below = vec![(0u64, 0u64, 0u64); self.nodes.len()];
        for (number, node) in self.nodes.iter().enumerate().rev() {
            let sum = &node.subtree;
            let own = (node.own.cost_usd.0, node.own.tokens(), node.own.llm_calls + node.own.tool_calls);
            let all = (below[number].0 + own.0, below[number].1 + own.1, below[number].2 + own.2);
            if all != (sum.cost_usd.0, sum.tokens(), sum.llm_calls + sum.tool_calls) {
                return Err(format!("node {number}: its subtree used {sum:?}, its parts {all:?}"));
            }
            if let Some(parent) = node.parent {
                let up = &mut below[parent.index()];
                (up.0, up.1, up.2) = (up.0 + all.0, up.1 + all.1, up.2 + all.2);
            }
        }
        Ok(())
    }

    pub(super) fn add(&mut self, node: Node) -> NodeNumber {
        let number = NodeNumber::from_index(self.nodes.len());
        self.by_id.insert(node.id, number);
        self.counts[node.status as usize] += 1;
        self.nodes.push(node);
        number
    }

    pub(super) fn set_status(&mut self, number: NodeNumber, status: NodeStatus) {
        let was = std::mem::replace(&mut self.nodes[number.index()].status, status);
        self.counts[was as usize] -= 1;
        self.counts[status as usize] += 1;
    }

    pub(super) fn node_ref_of(&self, number: NodeNumber) -> NodeRef {
        let node = self.at(number);
        NodeRef { node: Some(node.id), parent: node.parent.map(|parent| self.at(parent).id) }
    }

    /// From the node up to the root.
    pub fn path(&self, number: NodeNumber) -> impl Iterator<Item = NodeNumber> + '_ {
        std::iter::successors(Some(number), |at| self.at(*at).parent)
    }

    /// Whether it or an ancestor is paused.
    pub(super) fn is_paused_on_path(&self, number: NodeNumber) -> bool {
        self.path(number).any(|at| self.at(at).paused)
    }

    /// The node and its descendants under current plans, parents first.
    pub(crate) fn subtree(&self, number: NodeNumber) -> Vec<NodeNumber> {
        let mut found = vec![number];
        let mut next = 0;
        while let Some(at) = found.get(next) {
            found.extend(self.at(*at).plan.iter().flat_map(|plan| plan.children()).map(|(_, child)| child));
            next += 1;
        }
        found
    }

    /// The model call a node waits for.
    pub(super) fn call_wanted(&self, number: NodeNumber) -> Option<NodeCall> {
        let node = self.at(number);
        let work = &node.work;
        let rejected = |part: NodeCall| work.rejected.contains_key(&self.position(number, part).id(&self.tag));
        // Called at every event; most nodes never have a rejected answer, so the id is rarely needed.
        let whole = |part: NodeCall| work.rejected.is_empty() || !rejected(part);
        let first_whole = |first: NodeCall, fix: NodeCall| {
            if whole(first) { Some(first) } else { Some(fix).filter(|fix| whole(*fix)) }
        };
        match node.status {
            _ if node.needs_recall() => None,
            NodeStatus::Planning => {
                first_whole(NodeCall::Plan { ask: work.ask, fix: false }, NodeCall::Plan { ask: work.ask, fix: true })
            }
            NodeStatus::Executing
                if work.answered < work.round
                    && work.round <= work.rounds()
                    && calls::open(&work.calls).next().is_none() =>
            {
                first_whole(
                    NodeCall::Round { round: work.round, fix: false },
                    NodeCall::Round { round: work.round, fix: true },
                )
            }
            NodeStatus::Aggregating if work.result.is_none() => {
                first_whole(NodeCall::Aggregate { fix: false }, NodeCall::Aggregate { fix: true })
            }
            _ => None,
        }
    }

    pub(super) fn move_of(&self, number: NodeNumber) -> Option<Move> {
        let node = self.at(number);
        let idle = calls::open(&node.work.calls).next().is_none();
        match node.status {
            _ if node.needs_recall() => idle.then_some(Move::Recall),
            NodeStatus::Delegating => Some(Move::StartBand),
            NodeStatus::Waiting => node.plan.as_ref().filter(|plan| plan.open == 0).map(|_| Move::BandOver),
            NodeStatus::Blocked => node.is_answered().then_some(Move::Unblock),
            NodeStatus::Aggregating if node.work.result.is_some() => Some(Move::Conclude),
            NodeStatus::Planning | NodeStatus::Aggregating => {
                self.call_wanted(number).is_none().then_some(Move::Unusable)
            }
            NodeStatus::Executing if !idle => None,
            NodeStatus::Executing if node.work.result.is_some() => Some(Move::Conclude),
            NodeStatus::Executing if node.work.round > node.work.rounds() => Some(Move::OutOfRounds),
            NodeStatus::Executing => self.call_wanted(number).is_none().then_some(Move::Unusable),
            _ => None,
        }
    }

    pub(super) fn position_of(&self, effect: &EffectId) -> Option<EffectPosition> {
        EffectPosition::of(effect, &self.tag)
    }

    pub(super) fn position(&self, number: NodeNumber, part: NodeCall) -> EffectPosition {
        EffectPosition { node: number, generation: self.at(number).generation, part }
    }

    /// Put a node into the sets its state belongs to.
    pub(super) fn refresh(&mut self, number: NodeNumber) {
        let node = self.at(number);
        let (key, live) = ((Reverse(node.depth), number), node.is_live() && !self.is_paused_on_path(number));
        let uses_tools = live && node.uses_tools() && calls::open(&node.work.calls).next().is_some();
        let wants_model = live && self.call_wanted(number).is_some();
        let moves = live && self.move_of(number).is_some();
        put(&mut self.tools, number, uses_tools);
        put(&mut self.ready, key, wants_model);
        put(&mut self.movable, number, moves);
    }

    pub(super) fn nodes_left(&self, shared: &Shared) -> u32 {
        shared.budgets.max_nodes.saturating_sub(self.reserved_nodes)
    }
}

/// One line about the tree, from the number of nodes by status.
pub(crate) fn describe(counts: &[u32; NodeStatus::ALL.len()], shared: &Shared) -> String {
    let total: u32 = counts.iter().sum();
    if total == 0 {
        return "starting".into();
    }
    let standing = |terminal: bool| {
        let all = NodeStatus::ALL.into_iter().filter(move |status| status.is_terminal() == terminal);
        all.map(|status| (status, counts[status as usize])).filter(|(_, count)| *count > 0)
    };
    let done: u32 = standing(true).map(|(_, count)| count).sum();
    let doing: Vec<String> = standing(false).map(|(status, count)| format!("{count} {}", status.name())).collect();
    let backing_off =
        shared.effects.values().any(|effect| matches!(effect, crate::run::EffectState::BackingOff { .. }));
    let retrying = if backing_off { " (retrying)" } else { "" };
    format!("{done} of {total} nodes ended; {}{retrying}", doing.join(", "))
}

fn put<T: Ord>(set: &mut BTreeSet<T>, item: T, belongs: bool) {
    if belongs {
        set.insert(item);
    } else {
        set.remove(&item);
    }
}
