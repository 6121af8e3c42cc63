//! The scratchpad of a node as people and the node itself read it: it opens with the task, the criteria and what the node was
//! given; then come what each role noted, every tool call with its outcome, what became of the children, and a failure.
//! Everything here is made from the state, with ids; it must not know how a role is asked.

use super::answer::PadAnswer;
use super::node::Node;
use super::plan::Step;
use super::results::latest;
use super::state::State;
use super::status::{NodeStatus, StepStatus};
use crate::calls;
use crate::facts::tree::{self as fact, Deliverable, NodeOutcome};
use crate::ids::NodeNumber;
use crate::lines::one_line;
use crate::run::{Facts, Shared};
use crate::shorten;
use serde_json::Value;
use std::fmt::Write;

const MAX_PREVIEW_CHARS: usize = 600;
const MAX_LINE_CHARS: usize = 200;
const MAX_OBJECTIVE_CHARS: usize = 2_000;
/// The most steps that are listed one by one.
const MAX_STEPS_LISTED: usize = 20;
/// The most refs of one step.
const MAX_REFS: usize = 4;

impl State {
    /// What a new node's scratchpad begins with.
    pub(super) fn pad_opening(
        &self,
        shared: &Shared,
        parent: Option<NodeNumber>,
        created: &fact::NodeCreated,
    ) -> String {
        let mut text = match parent {
            None => format!("# Task\n\n{}", shorten::text(shared.brief.objective.trim(), MAX_OBJECTIVE_CHARS)),
            Some(_) => format!("# Task\n\n{}", one_line(&created.title)),
        };
        if parent.is_some() && !created.reason.trim().is_empty() {
            let _ = write!(text, "\n\n{}", line(&created.reason));
        }
        section(&mut text, "Criteria", created.success_criteria.iter().map(|criterion| line(criterion)));
        match created.deliverable {
            Deliverable::Document => text.push_str("\n\n**Delivers**: a document"),
            Deliverable::Json => text.push_str("\n\n**Delivers**: JSON"),
            Deliverable::Either => {}
        }
        section(&mut text, "Given", self.given(parent, created).into_iter());
        text
    }

    /// The results it was given, by id: those of the steps before it, and of the node it does again.
    fn given(&self, parent: Option<NodeNumber>, created: &fact::NodeCreated) -> Vec<String> {
        let plan = parent.and_then(|parent| self.at(parent).plan.as_ref());
        let own = |step: &&Step| created.step_id.as_ref() == Some(&step.of.id);
        let before = plan.into_iter().flat_map(|plan| &plan.steps).filter(|step| {
            step.status.is_terminal() && !own(step) && (step.carried_over || step.band < created.band_index)
        });
        let mut lines = self.step_lines(before);
        if let Some(earlier) = created.retry_of.and_then(|id| self.node(id)) {
            lines.push(format!("the node it does again, node:{}: {}", earlier.id, ended(earlier)));
        }
        lines
    }

    /// Adds a role's entry to the scratchpad, followed by what the platform has to say. People who watch are shown the role's
    /// own words, or else the first line of the platform's.
    pub(super) fn note(&self, number: NodeNumber, key: String, said: &PadAnswer, platform: &str, facts: &mut Facts) {
        let own = said.append_markdown.trim();
        let markdown = [own, platform].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
        if markdown.is_empty() {
            return;
        }
        let preview = [said.tail_preview.trim(), own, platform.lines().next().unwrap_or_default()];
        let preview = preview.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
        let skip = preview.chars().count().saturating_sub(MAX_PREVIEW_CHARS);
        facts.push_at(
            self.node_ref_of(number),
            fact::ScratchpadUpdated {
                scratchpad_doc_id: self.at(number).scratchpad,
                tail_preview: preview.chars().skip(skip).collect(),
                updated_at: facts.now,
                entry_key: key,
                markdown,
            },
        );
    }

    /// The last entry of a generation that ended without one of its own.
    pub(super) fn note_end(&self, number: NodeNumber, how: &str, facts: &mut Facts) {
        let (node, children) = (self.at(number), self.children_summary(number));
        let key = format!("{}.n{number}.g{}.end", self.tag, node.generation);
        let text = [how, &children].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
        self.note(number, key, &PadAnswer::default(), &text, facts);
    }

    /// What became of the node's steps: how many ended how, and each with the ids of what it made.
    pub(super) fn children_summary(&self, number: NodeNumber) -> String {
        let Some(plan) = &self.at(number).plan else { return String::new() };
        let mut counts: Vec<(&str, u32)> = Vec::new();
        for word in plan.steps.iter().map(|step| self.step_word(step)) {
            match counts.iter_mut().find(|(known, _)| *known == word) {
                Some((_, count)) => *count += 1,
                None => counts.push((word, 1)),
            }
        }
        let counts: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
        let mut text = format!("**Steps**: {}", counts.join(", "));
        for line in self.step_lines(plan.steps.iter()) {
            let _ = write!(text, "\n- {line}");
        }
        text
    }

    fn step_lines<'a>(&self, steps: impl Iterator<Item = &'a Step>) -> Vec<String> {
        let mut steps = steps.peekable();
        let mut lines: Vec<String> = steps.by_ref().take(MAX_STEPS_LISTED).map(|step| self.step_line(step)).collect();
        if steps.peek().is_some() {
            lines.push(format!("and {} more", steps.count()));
        }
        lines
    }

    fn step_line(&self, step: &Step) -> String {
        let title = line(&step.of.title);
        let Some(child) = step.child.map(|child| self.at(child)) else {
            return format!("{title}: {}", self.step_word(step));
        };
        let made = latest(child, &[]);
        let refs: Vec<String> = made.iter().take(MAX_REFS).map(|artifact| artifact.reference()).collect();
        let whose = if refs.is_empty() { format!("node:{}", child.id) } else { refs.join(", ") };
        format!("{title}: {}, {whose}", ended(child))
    }

    fn step_word(&self, step: &Step) -> &'static str {
        match step.status {
            StepStatus::Completed => match step.child.and_then(|child| self.at(child).outcome) {
                Some(NodeOutcome::Partial) => "in part",
                Some(NodeOutcome::NoOp) => "nothing to do",
                _ => "done",
            },
            StepStatus::Pending => "not started",
            StepStatus::Running => "running",
            StepStatus::Failed => "failed",
            StepStatus::Canceled => "canceled",
            StepStatus::Superseded => "replaced",
            StepStatus::Skipped => "skipped",
        }
    }
}

/// How a node ended, with the reason.
fn ended(node: &Node) -> String {
    let because = |word: &str, why: &Option<String>| match why {
        Some(why) => format!("{word} ({})", line(why)),
        None => word.to_owned(),
    };
    match (node.status, node.outcome) {
        (NodeStatus::Completed, Some(NodeOutcome::Partial)) => because("in part", &node.shortfall),
        (NodeStatus::Completed, Some(NodeOutcome::NoOp)) => "nothing to do".into(),
        (NodeStatus::Completed, _) => "done".into(),
        (NodeStatus::Failed, _) => because("failed", &node.error),
        (status, _) => status.name().to_owned(),
    }
}

/// What a call was asked, in one line.
pub(super) fn asked(arguments: &Value) -> String {
    line(&calls::key_arguments(arguments))
}

/// The entry of one tool call: what was asked, what came of it, and the ids of what it made.
pub(crate) fn tool_entry(result: &fact::ToolCallResult) -> Option<String> {
    let asked = result.asked.as_deref()?;
    let artifacts = &result.artifacts;
    let ids = |kind: &str, named: &[crate::workspace::Named]| -> Vec<String> {
        named.iter().map(|made| format!("{kind}:{}", made.id)).collect()
    };
    let made = [
        ids("doc", &artifacts.created_documents),
        ids("doc", &artifacts.updated_documents),
        ids("task", &artifacts.created_tasks),
        ids("task", &artifacts.updated_tasks),
    ]
    .concat();
    let made = if made.is_empty() { String::new() } else { format!(" ({})", made.join(", ")) };
    let failed = if result.ok { "" } else { "failed: " };
    Some(format!("- `{}({asked})`: {failed}{}{made}", result.tool, line(&result.summary)))
}

fn section(text: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let lines: String = lines.map(|line| format!("\n- {line}")).collect();
    if !lines.is_empty() {
        let _ = write!(text, "\n\n**{title}**\n{lines}");
    }
}

/// On one line of bounded length.
fn line(text: &str) -> String {
    let flat = one_line(text);
    match flat.char_indices().nth(MAX_LINE_CHARS) {
        None => flat,
        Some((end, _)) => format!("{}…", &flat[..end]),
    }
}
