//! The nodes of a tree run, one line each, with planned steps that have no node yet. When the lines do not fit, finished
//! subtrees are folded first, then finished siblings, so that the nodes at work stay visible.

use super::style::{Color, Style, fit, line, thousands, width};
use engine::batch::{NodeRow, PlanRow};
use engine::facts::tree::NodeOutcome;
use engine::ids::{NodeId, NodeNumber};
use engine::money::Usd;
use engine::time::Timestamp;
use engine::tree::status::{NodeRole, NodeStatus};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Deeper nodes are folded: a line that begins in the middle of the screen is not readable.
const MAX_DEPTH: usize = 24;

/// A line with less room than this for its text shows only the title.
const MIN_TEXT: usize = 30;

#[derive(Debug, Default)]
pub(crate) struct TreeView {
    nodes: BTreeMap<NodeNumber, NodeRow>,
    /// The newest plan of each node.
    plans: HashMap<NodeId, PlanRow>,
    /// Only ever raised, so that lines do not jump.
    folding: Folding,
}

/// What is folded. Each level includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Folding {
    #[default]
    Nothing,
    /// Subtrees in which every node has ended.
    Finished,
    /// Siblings that have ended and pending steps: one line each.
    Siblings,
}

impl TreeView {
    pub(crate) fn update(&mut self, rows: Vec<NodeRow>) {
        self.nodes.extend(rows.into_iter().map(|row| (row.ordinal, row)));
    }

    pub(crate) fn plan(&mut self, plans: Vec<PlanRow>) {
        for plan in plans {
            let newer = self.plans.get(&plan.node_id).is_none_or(|known| known.version <= plan.version);
            if newer {
                self.plans.insert(plan.node_id, plan);
            }
        }
    }

    /// Id, number and title of each node.
    pub(crate) fn names(&self) -> impl Iterator<Item = (String, usize, String)> + '_ {
        self.nodes.values().map(|node| (node.id.to_string(), node.ordinal.index(), node.title.clone()))
    }

    /// The time of the newest change seen; the next request asks for later ones.
    pub(crate) fn seen_until(&self) -> Option<Timestamp> {
        self.nodes.values().map(|row| row.updated_at).max()
    }

    /// At most `rows` lines of at most `room` columns.
    pub(crate) fn lines(&mut self, rows: usize, room: usize, style: Style) -> Vec<String> {
        let (lines, folding) = self.folded(rows, room, style);
        self.folding = folding;
        windowed(lines, rows)
    }

    /// Folds as little as needed.
    fn folded(&self, rows: usize, room: usize, style: Style) -> (Vec<String>, Folding) {
        let Some(root) = self.nodes.get(&NodeNumber::ROOT) else { return (Vec::new(), self.folding) };
        let root = Parts::of(self).branch(root, 0);
        let mut folding = self.folding;
        loop {
            let mut page = Page { room, style, folding, lines: Vec::new() };
            page.add(&root, "", "");
            let next = match folding {
                Folding::Nothing => Folding::Finished,
                Folding::Finished | Folding::Siblings => Folding::Siblings,
            };
            if page.lines.len() <= rows || next == folding {
                return (page.lines, folding);
            }
            folding = next;
        }
    }
}

/// The first line and the last ones: the root and the newest nodes stay.
fn windowed(mut lines: Vec<String>, rows: usize) -> Vec<String> {
    if lines.len() > rows && rows >= 3 {
        let tail = lines.split_off(lines.len() - (rows - 2));
        let hidden = lines.len() - 1;
        lines.truncate(1);
        lines.push(format!("   … {hidden} lines"));
        lines.extend(tail);
    }
    lines.truncate(rows);
    lines
}

/// A step that has no node yet.
struct PendingStep<'a> {
    title: &'a str,
    band: u64,
}

struct Branch<'a> {
    node: &'a NodeRow,
    children: Vec<Branch<'a>>,
    pending: Vec<PendingStep<'a>>,
    /// Number of nodes below it.
    below: usize,
    failed_below: usize,
    ended: bool,
    cost: f64,
    tokens: u64,
}

struct Parts<'a> {
    tree_view: &'a TreeView,
    children: HashMap<NodeId, Vec<&'a NodeRow>>,
    replaced: BTreeSet<NodeId>,
}

impl<'a> Parts<'a> {
    fn of(tree_view: &'a TreeView) -> Parts<'a> {
        let mut children: HashMap<NodeId, Vec<&NodeRow>> = HashMap::new();
        for node in tree_view.nodes.values() {
            if let Some(parent) = node.parent_node_id {
                children.entry(parent).or_default().push(node);
            }
        }
        children
            .values_mut()
            .for_each(|list| list.sort_by_key(|node| (node.band_index, node.step_index, node.ordinal)));
        let replaced = tree_view.nodes.values().filter_map(|node| node.retry_of).collect();
        Parts { tree_view, children, replaced }
    }

    fn branch(&self, node: &'a NodeRow, depth: usize) -> Branch<'a> {
        let rows = self.children.get(&node.id).map(Vec::as_slice).unwrap_or_default();
        let children: Vec<Branch<'a>> = if depth < MAX_DEPTH {
            rows.iter().map(|child| self.branch(child, depth + 1)).collect()
        } else {
            Vec::new()
        };
        let pending = if node.status.is_terminal() { Vec::new() } else { self.pending(node, rows) };
        let failed = |branch: &Branch<'_>| {
            let itself = branch.node.status == NodeStatus::Failed && !self.replaced.contains(&branch.node.id);
            branch.failed_below + usize::from(itself)
        };
        let own = &node.own_metrics;
        let tokens = own.tokens();
        Branch {
            node,
            below: children.iter().map(|child| child.below + 1).sum(),
            failed_below: children.iter().map(failed).sum(),
            ended: node.status.is_terminal() && children.iter().all(|child| child.ended),
            cost: own.cost_usd.dollars() + children.iter().map(|child| child.cost).sum::<f64>(),
            tokens: tokens + children.iter().map(|child| child.tokens).sum::<u64>(),
            pending,
            children,
        }
    }

    fn pending(&self, node: &NodeRow, children: &[&NodeRow]) -> Vec<PendingStep<'a>> {
        let Some(plan) = self.tree_view.plans.get(&node.id) else { return Vec::new() };
        let begun: BTreeSet<&str> = children.iter().filter_map(|child| child.step_id.as_deref()).collect();
        let bands = plan.plan_json["bands"].as_array().into_iter().flatten();
        let steps = bands.flat_map(|band| {
            let index = band["index"].as_u64().unwrap_or_default();
            band["steps"].as_array().into_iter().flatten().map(move |step| (index, step))
        });
        let text = |step: &'a Value, name: &str| step[name].as_str().unwrap_or_default();
        let waiting = steps.filter(|(_, step)| !begun.contains(text(step, "id")));
        waiting.map(|(band, step)| PendingStep { title: text(step, "title"), band }).collect()
    }
}

enum Item<'b, 'a> {
    Node(&'b Branch<'a>),
    Done(usize),
    Pending(String),
}

struct Page {
    room: usize,
    style: Style,
    folding: Folding,
    lines: Vec<String>,
}

impl Page {
    fn add(&mut self, branch: &Branch<'_>, lead: &str, below: &str) {
        let folded = branch.below > 0
            && branch.ended
            && self.folding >= Folding::Finished
            && branch.node.ordinal != NodeNumber::ROOT;
        self.lines.push(self.node_line(branch, lead, folded || (branch.children.is_empty() && branch.below > 0)));
        if folded {
            return;
        }
        let items = self.items(branch);
        let last = items.len().saturating_sub(1);
        for (index, item) in items.into_iter().enumerate() {
            let (joint, trunk) = if index == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            let lead = format!("{below}{joint}");
            let short = self.lead(&lead);
            match item {
                Item::Node(child) => self.add(child, &lead, &format!("{below}{trunk}")),
                Item::Done(count) => {
                    self.lines.push(format!("{short}{} {count} done", self.style.paint(Color::Green, "✓")));
                }
                Item::Pending(text) => {
                    let text = fit(&format!("· {text}"), self.room.saturating_sub(width(&short)));
                    self.lines.push(format!("{short}{}", self.style.paint(Color::Dim, &text)));
                }
            }
        }
    }

    /// The lines below a node. When room is short, finished siblings share one line and pending steps another.
    fn items<'b, 'a>(&self, branch: &'b Branch<'a>) -> Vec<Item<'b, 'a>> {
        let short = self.folding == Folding::Siblings && !branch.ended;
        let whole = |node: &NodeRow| node.status == NodeStatus::Completed && node.outcome != Some(NodeOutcome::Partial);
        let quiet = |child: &&Branch<'_>| short && child.ended && whole(child.node);
        // A node without any call yet is shown like a pending step.
        let idle = |child: &&Branch<'_>| short && !child.ended && child.node.started_at.is_none();
        let done = branch.children.iter().filter(quiet).count();
        let mut items = Vec::new();
        if done > 1 {
            items.push(Item::Done(done));
        }
        let shown = branch.children.iter().filter(|child| (done < 2 || !quiet(child)) && !idle(child));
        items.extend(shown.map(Item::Node));
        match branch.pending.len() + branch.children.iter().filter(idle).count() {
            0 => {}
            count if short => items.push(Item::Pending(format!("{count} steps to come"))),
            _ => items.extend(
                branch
                    .pending
                    .iter()
                    .map(|step| Item::Pending(format!("{}  (band {})", line(step.title), step.band + 1))),
            ),
        }
        items
    }

    fn node_line(&self, branch: &Branch<'_>, lead: &str, folded: bool) -> String {
        let node = branch.node;
        let (color, mark) = mark(node);
        let role = match node.role_state {
            NodeRole::Planner => "P",
            NodeRole::Executor => "E",
        };
        let fold = match (folded, branch.failed_below) {
            (false, _) => String::new(),
            (true, 0) => format!("▸{} ", branch.below),
            (true, failed) => format!("▸{} ✗{failed} ", branch.below),
        };
        let text = format!("{role} n{} {fold}{}{}", node.ordinal, line(&node.title), remark(node));
        let lead = self.lead(lead);
        // With little room only the title is shown.
        let facts = if self.room < width(&lead) + MIN_TEXT { String::new() } else { self.facts(branch) };
        let room = self.room.saturating_sub(width(&lead) + 2 + width(&facts) + 1);
        let text = fit(&text, room);
        let gap = " ".repeat(room.saturating_sub(width(&text)) + 1);
        format!("{lead}{} {text}{gap}{}", self.style.paint(color, mark), self.style.paint(Color::Dim, &facts))
    }

    /// The lines that join the branches, cut from the left when they would take more than half of the room.
    fn lead(&self, lead: &str) -> String {
        let spare = lead.chars().count().saturating_sub(self.room / 2);
        lead.chars().skip(spare).collect()
    }

    /// Band, status, and the cost with everything below it.
    fn facts(&self, branch: &Branch<'_>) -> String {
        let node = branch.node;
        let spent = match (branch.cost > 0.0, branch.tokens) {
            (true, _) => Usd::from_dollars(branch.cost).to_string(),
            (false, 0) => String::new(),
            (false, tokens) => format!("{} tok", thousands(tokens)),
        };
        let band = if node.parent_node_id.is_some() { format!("band {}", node.band_index + 1) } else { String::new() };
        let status = match (node.status.is_terminal(), node.outcome) {
            (false, _) if node.paused => "paused",
            (true, Some(NodeOutcome::Partial)) => "partial",
            _ => node.status.name(),
        };
        match self.room {
            0..=59 => format!("{spent:>9}"),
            _ => format!("{band:<7} {status:<11} {spent:>10}"),
        }
    }
}

pub(crate) fn mark(node: &NodeRow) -> (Color, &'static str) {
    if node.paused && !node.status.is_terminal() {
        return (Color::Yellow, "‖");
    }
    match (node.status, node.outcome) {
        (NodeStatus::Planning | NodeStatus::Delegating, _) => (Color::Cyan, "◇"),
        (NodeStatus::Executing, _) => (Color::Cyan, "▶"),
        (NodeStatus::Waiting, _) => (Color::Dim, "○"),
        (NodeStatus::Aggregating, _) => (Color::Cyan, "Σ"),
        (NodeStatus::Blocked, _) => (Color::Yellow, "?"),
        (NodeStatus::Completed, Some(NodeOutcome::Partial)) => (Color::Yellow, "◐"),
        (NodeStatus::Completed, _) => (Color::Green, "✓"),
        (NodeStatus::Failed, _) => (Color::Red, "✗"),
        (NodeStatus::Canceled, _) => (Color::Dim, "⊘"),
        (NodeStatus::Superseded, _) => (Color::Dim, "·"),
    }
}

/// A note behind the title: why it failed or is partial, which limit made it a leaf, that it is a retry, replaced or stale.
fn remark(node: &NodeRow) -> String {
    let guard = node.message.as_deref().and_then(|message| message.strip_prefix("guard:"));
    let mut remarks = Vec::new();
    if node.retry_of.is_some() {
        remarks.push("retry".to_owned());
    }
    match (node.current, node.stale) {
        (false, _) => remarks.push("replaced".to_owned()),
        (true, true) => remarks.push("stale".to_owned()),
        (true, false) => {}
    }
    match (node.status, &node.error, guard) {
        (NodeStatus::Failed, Some(error), _) => remarks.push(line(error)),
        (NodeStatus::Completed, _, _) => remarks.extend(node.shortfall.as_deref().map(line)),
        (status, _, Some(guard)) if !status.is_terminal() => remarks.push(format!("limit {}", line(guard))),
        _ => {}
    }
    if remarks.is_empty() { String::new() } else { format!("  ({})", remarks.join("; ")) }
}

#[cfg(test)]
mod tests;
