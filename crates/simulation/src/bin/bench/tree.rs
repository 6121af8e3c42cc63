//! The model's answers for a tree of a given shape. Every node above the last level plans and aggregates, and every
//! leaf writes one document. The peers run the same shapes. The title of a node has one slash per level.

use engine::budget::Budgets;
use engine::model::Role;
use engine::request::Speaker;
use serde_json::{Value, json};

const PROSE: &str = "Early peas and radishes go in first; they stand a late frost and are out of the way by June. ";

/// The number of children of a node at each level. `3x4` is a root with three nodes, each with four leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeShape(Vec<usize>);

impl TreeShape {
    pub fn parse(text: &str) -> Result<TreeShape, String> {
        let fans: Result<Vec<usize>, _> = text.split('x').map(str::parse).collect();
        fans.map(TreeShape).map_err(|error| format!("--tree {text}: {error}; write it like 3x4"))
    }

    /// The number of nodes at each level, the root first.
    fn levels(&self) -> impl Iterator<Item = usize> + '_ {
        let wider = self.0.iter().scan(1, |width, fan| {
            *width *= fan;
            Some(*width)
        });
        std::iter::once(1).chain(wider)
    }

    pub fn nodes(&self) -> usize {
        self.levels().sum()
    }

    /// A node that plans makes two calls, a leaf one.
    pub fn calls(&self) -> usize {
        let leaves = self.levels().last().unwrap_or(1);
        2 * (self.nodes() - leaves) + leaves
    }

    pub fn name(&self) -> String {
        match self.0.as_slice() {
            [4, 4, 4] => "4^3".into(),
            fans => fans.iter().map(ToString::to_string).collect::<Vec<_>>().join("x"),
        }
    }

    /// Limits that the whole tree fits into, with 64 calls at once.
    pub fn budgets(&self) -> Budgets {
        let widest = self.0.iter().copied().max().unwrap_or(1) as u32;
        Budgets {
            max_cost_usd: None,
            max_tokens: None,
            max_wall_ms: None,
            max_depth: self.0.len() as u32,
            max_nodes: self.nodes() as u32,
            max_steps_per_band: widest,
            max_parallel: 64,
            ..Budgets::default()
        }
    }

    pub fn answer(&self, role: Role, messages: &[(Speaker, String)]) -> Value {
        let title = title(messages);
        match role {
            Role::TreePlanner => self.plan(title),
            Role::TreeAggregator => json!({
                "synthesis": {"summary": PROSE, "key_findings": [], "gaps": []},
                "result": {"summary": PROSE}, "next": {"should_replan": false},
            }),
            _ => json!({
                "artifacts": [{"type": "document", "label": "bed", "title": title, "markdown": format!("{title}: {PROSE}{PROSE}")}],
                "result": {"summary": "Written.", "primary_artifact_label": "bed"},
            }),
        }
    }

    fn plan(&self, title: &str) -> Value {
        let level = title.matches('/').count();
        let (fan, leaf) = (self.0.get(level).copied().unwrap_or(1), level + 1 == self.0.len());
        let step = |nth| json!({"id": format!("s{nth}"), "title": format!("{title}/{nth}"), "leaf": leaf});
        json!({"mode": "plan", "plan": {"summary": "Bed by bed.", "bands": [{"index": 0, "steps": (0..fan).map(step).collect::<Vec<_>>()}]}})
    }
}

/// The title of the node, which the request has on a line of its own.
fn title(messages: &[(Speaker, String)]) -> &str {
    let prompt = messages.iter().find(|(speaker, _)| *speaker == Speaker::User).map_or("", |(_, text)| text.as_str());
    prompt.lines().find_map(|line| line.strip_prefix("Node: ")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_has_the_nodes_and_calls_of_the_peers() {
        let count = |text: &str| TreeShape::parse(text).map(|fans| (fans.nodes(), fans.calls(), fans.name()));
        assert_eq!(count("3x4"), Ok((16, 20, "3x4".into())));
        assert_eq!(count("4x4x4"), Ok((85, 106, "4^3".into())));
        assert_eq!(count("9x10x10x10").map(|found| found.0), Ok(10_000));
    }
}
