//! The report of a run that has ended: what it was to do, what came of it, what it made, what failed, what it cost and how it
//! ended. Each kind of run gives an account of its own; the rest is the same for all kinds and is put together here.
//!
//! It must not know how a kind works. A report is written once, and filled in again whenever it is read: a person's word on a
//! criterion, or another check, may come after the end.

mod cost;
mod ending;
mod lists;
mod markdown;
pub mod words;

pub use cost::price;
pub use markdown::markdown;

use crate::batch::RunRow;
use crate::blob::Hash;
use crate::criteria::{CriterionRecord, MAX_REFS};
use crate::facts::evidence::{CriterionState, EndState, RunOutcome};
use crate::facts::{Fact, RunFact};
use crate::ids::NodeId;
use crate::lines::one_line;
use crate::metrics::{Metrics, ModelMetrics};
use crate::run::{Shared, Status, StopReason};
use serde::Serialize;
use serde_json::{Value, json};

/// The most things of one list that a report names.
pub(crate) const MAX_MADE: usize = 60;
const MAX_LISTED: usize = 50;
/// In characters: how much of a message is quoted.
const MAX_MESSAGE_CHARS: usize = 1_000;
/// In bytes: a main document up to this size is shown in the report itself.
const MAX_MAIN_TEXT_BYTES: u64 = 24_000;

/// What one kind of run tells of its end.
#[derive(Default)]
pub(crate) struct Account {
    pub title: String,
    pub summary: String,
    pub findings: Vec<String>,
    /// What is open beside what failed and what was dropped.
    pub not_done: Vec<String>,
    pub by_model: bool,
    /// The most important first, or the newest.
    pub made: Vec<Made>,
    /// How many things it made beyond those.
    pub left_out: usize,
    pub failed: Vec<Failure>,
    pub dropped: Vec<Dropped>,
    pub replans: Vec<Value>,
    /// What its iterations or nodes used, all together; a task has neither.
    pub owned: Option<ModelMetrics>,
}

/// A document, a task or data that the run made or changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Made {
    /// `document`, `task` or `json`.
    pub kind: &'static str,
    #[serde(rename = "ref")]
    pub reference: String,
    pub title: String,
    /// The title of the node that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// It was there before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub changed: bool,
    /// A later try took its place.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub replaced: bool,
}

/// A branch, a node or a step that did not come off, and nothing made up for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Failure {
    /// `branch`, `tool`, `node` or `step`.
    pub kind: &'static str,
    pub title: String,
    /// `failed`, `canceled` or `partial`.
    pub state: &'static str,
    /// In words for people.
    pub why: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
}

/// A planned step that nobody did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Dropped {
    pub title: String,
    pub why: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
}

impl Made {
    /// What `doc:` or `task:` references name.
    pub(crate) fn of_reference(reference: &str, title: &str) -> Made {
        let kind = if reference.starts_with("task:") { "task" } else { "document" };
        Made { kind, reference: reference.to_owned(), title: one_line(title), ..Made::default() }
    }
}

impl Account {
    /// The report without what is filled in when it is recorded and read.
    pub(crate) fn report(mut self, shared: &Shared, reason: StopReason, detail: &str) -> Value {
        self.left_out += self.made.len().saturating_sub(MAX_MADE);
        self.made.truncate(MAX_MADE);
        self.failed.truncate(MAX_LISTED);
        self.dropped.truncate(MAX_LISTED);
        let not_done = self.all_not_done();
        let artifacts = self.made.iter().filter(|made| !made.replaced);
        let artifacts = artifacts.map(|made| json!({ "ref": made.reference, "title": made.title }));
        json!({
            "title": self.title,
            "summary": self.summary,
            "findings": self.findings,
            "not_done": not_done,
            "prose_by": if self.by_model { "model" } else { "platform" },
            "objective": shared.brief.objective,
            "status": reason.status(),
            "stop_reason": reason,
            "stop_detail": detail,
            "artifacts": artifacts.collect::<Vec<_>>(),
            "made": self.made,
            "left_out": self.left_out,
            "failed": self.failed,
            "dropped": self.dropped,
            "replans": self.replans,
            "questions": shared.questions,
            "messages": shared.messages.iter().map(|message| json!({
                "text": crate::shorten::text(&message.text, MAX_MESSAGE_CHARS),
                "shown": message.delivered,
            })).collect::<Vec<_>>(),
            "older_messages": shared.older_messages,
            "models": shared.brief.models.names(),
            "cost": { "owned": self.owned },
        })
    }

    /// Each thing once: what is open, what failed, what was dropped.
    fn all_not_done(&self) -> Vec<String> {
        let failed = self.failed.iter().filter(|failed| failed.kind != "tool");
        let lines = failed.map(|failed| (&failed.title, &failed.why));
        let lines = lines.chain(self.dropped.iter().map(|dropped| (&dropped.title, &dropped.why)));
        let lines = lines.map(|(title, why)| lists::told(title, why));
        let mut all: Vec<String> = Vec::new();
        for line in self.not_done.iter().cloned().chain(lines) {
            if !all.iter().any(|known| says_too(known, &line)) {
                all.push(line);
            }
        }
        all.truncate(MAX_LISTED);
        all
    }
}

/// Whether a line is this one, or this one with its state behind it.
fn says_too(known: &str, line: &str) -> bool {
    let without_state =
        known.strip_suffix(')').and_then(|known| known.rsplit_once(" (")).map_or(known, |(title, _)| title);
    known == line || without_state.trim().eq_ignore_ascii_case(line.trim())
}

impl Shared {
    /// Fills in a report that is about to be recorded: what was decided together with it is known only now.
    pub(crate) fn finish_report(&self, fact: &mut Fact, end: impl FnOnce() -> EndState) {
        let Fact::Run(RunFact::ReportCreated(fact)) = fact else { return };
        let Some(status) = fact.report["status"].as_str().and_then(Status::parse) else { return };
        fill(&mut fact.report, &self.criteria, Some(self.outcome_of(status, end())), &self.metrics);
    }
}

/// Fills in the report of a run with what is known of it now.
pub fn refresh(run: &mut RunRow) {
    if !run.report.is_null() {
        fill(&mut run.report, &run.success_criteria, run.outcome, &run.metrics);
    }
}

fn fill(report: &mut Value, criteria: &[CriterionRecord], outcome: Option<RunOutcome>, metrics: &Metrics) {
    // A report of an earlier version has evidence that nothing else in its log tells.
    if !report["made"].is_null() {
        report["evidence"] = evidence(criteria, &report["made"]);
    }
    report["criteria"] = json!(criteria);
    report["outcome"] = json!(outcome);
    report["metrics"] = json!(metrics);
    report["cost"] = cost::of(metrics, &report["cost"]["owned"]);
    report["how_it_ended"] = ending::sentence(report).into();
}

/// For each criterion what is cited for it; `verified` only where it holds. Without criteria, what the run made.
fn evidence(criteria: &[CriterionRecord], made: &Value) -> Value {
    if criteria.is_empty() {
        let made = made.as_array().into_iter().flatten().filter(|made| made["replaced"] != true).take(MAX_REFS);
        return made.map(|made| json!({ "criterion": null, "text": made["title"], "refs": [made["ref"]] })).collect();
    }
    let of = |criterion: &CriterionRecord| {
        let refs: Vec<&str> = criterion.evidence.iter().map(|cited| cited.reference.as_str()).collect();
        json!({
            "criterion": criterion.id,
            "text": criterion.text,
            "state": criterion.state,
            "refs": refs,
            "verified": criterion.holds().then(|| json!({ "criterion": criterion.id, "refs": refs })),
            "claimed": criterion.state == CriterionState::Claimed,
            "notes": criterion.reason,
        })
    };
    criteria.iter().map(of).collect()
}

/// The stored text of the main document, where it is small enough to be shown in the report.
pub fn main_text(report: &Value) -> Option<Hash> {
    let content = &report["synthesis"]["document"]["content"];
    let small = content["bytes"].as_u64().is_some_and(|bytes| bytes <= MAX_MAIN_TEXT_BYTES);
    content["hash"].as_str().filter(|_| small)?.parse().ok()
}

/// Puts the main document into its report; `stored` is JSON, as texts are stored.
pub fn show_main_text(report: &mut Value, stored: &str) {
    if let Ok(text) = serde_json::from_str::<String>(stored) {
        report["synthesis"]["document"]["text"] = text.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t18_a_step_that_the_model_names_again_is_listed_once() {
        let not_done = ["Read the letters (blocked)", "Read the letters", "Ask (twice)"].map(str::to_owned).to_vec();
        let account = Account { not_done, ..Account::default() };
        assert_eq!(account.all_not_done(), ["Read the letters (blocked)", "Ask (twice)"]);
    }
}
