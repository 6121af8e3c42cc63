//! Rows implied by a run's state and its newest events. Pure and deterministic: rebuilding from the log,
//! whatever the batches were, gives the same rows.

use crate::batch::{EntryRow, IterationRow, NotificationRow, Rows, RunRow};
use crate::event::Event;
use crate::facts::{Fact, Homework as H, Run as R};
use crate::run::{Machine, Run, StopReason};
use serde_json::Value;

/// The rows after `events`, which end at the state of `run`.
pub fn rows(run: &Run, events: &[Event]) -> Rows {
    Rows {
        run: run_row(run),
        iterations: iterations(run, events),
        entries: events.iter().filter_map(entry).collect(),
        notifications: events.iter().filter_map(|event| notification(run, event)).collect(),
    }
}

pub fn run_row(run: &Run) -> RunRow {
    let shared = &run.shared;
    let Machine::Homework(state) = &run.machine;
    RunRow {
        id: shared.id,
        kind: shared.brief.kind,
        objective: shared.brief.objective.clone(),
        scope: shared.brief.scope,
        project_ids: shared.brief.project_ids.clone(),
        status: shared.status(),
        activity: run.activity(),
        stop_reason: shared.stop_reason,
        stop_detail: shared.stop_detail.clone(),
        iteration: state.iteration,
        budgets: value(&shared.budgets),
        metrics: value(&shared.metrics),
        plan: if state.plan.steps.is_empty() { Value::Null } else { value(&state.plan) },
        success_criteria: shared.brief.success_criteria.clone(),
        questions: value(&shared.questions),
        root_node_id: None,
        workspace_document_id: state.workspace.map(|workspace| workspace.document),
        workspace_project_id: shared.home_project(),
        report: shared.report.clone().unwrap_or(Value::Null),
        model: shared.brief.models.balanced.name(),
        warnings: shared.brief.warnings.clone(),
        owner: shared.brief.owner,
        created_at: shared.created_at,
        started_at: shared.started_at,
        updated_at: shared.updated_at,
        ended_at: shared.ended_at,
        last_seq: shared.last_seq,
        head: shared.head,
    }
}

fn value(of: impl serde::Serialize) -> Value {
    serde_json::to_value(of).unwrap_or(Value::Null)
}

/// One row per iteration: written when it starts, rewritten when it completes.
fn iterations(run: &Run, events: &[Event]) -> Vec<IterationRow> {
    let mut rows: Vec<IterationRow> = Vec::new();
    for event in events {
        match &event.fact {
            Fact::Homework(H::IterationStarted(fact)) => rows.push(IterationRow {
                run_id: run.shared.id,
                iteration: fact.iteration,
                status: "running".into(),
                summary: String::new(),
                progress: false,
                metrics: Value::Null,
                artifacts: Value::Null,
                started_at: event.at,
                ended_at: None,
            }),
            Fact::Homework(H::IterationCompleted(fact)) => {
                let known = rows.iter().position(|row| row.iteration == fact.iteration);
                let row = IterationRow {
                    run_id: run.shared.id,
                    iteration: fact.iteration,
                    status: "completed".into(),
                    summary: fact.summary.clone(),
                    progress: fact.progress.made,
                    metrics: value(&fact.metrics),
                    artifacts: value(&fact.artifacts),
                    started_at: fact.started_at,
                    ended_at: Some(event.at),
                };
                match known {
                    Some(at) => rows[at] = row,
                    None => rows.push(row),
                }
            }
            _ => {}
        }
    }
    rows
}

fn entry(event: &Event) -> Option<EntryRow> {
    let (document_id, key, markdown) = match &event.fact {
        Fact::Homework(H::ScratchpadAppended(fact)) => (fact.scratchpad_document_id, &fact.entry_key, &fact.markdown),
        Fact::Homework(H::ExecutorFinished(fact)) => {
            let entry = fact.entry.as_ref()?;
            (entry.scratchpad_document_id, &entry.entry_key, &entry.markdown)
        }
        _ => return None,
    };
    Some(EntryRow {
        document_id,
        key: key.clone(),
        markdown: markdown.clone(),
        run_id: event.run_id,
        seq: event.seq,
        at: event.at,
    })
}

/// Every end notifies, and so does each question.
fn notification(run: &Run, event: &Event) -> Option<NotificationRow> {
    let Fact::Run(fact) = &event.fact else { return None };
    let (kind, body, question_id) = match fact {
        R::QuestionAsked(asked) => ("question", asked.text.clone(), Some(asked.question_id)),
        R::WaitingOnUser(waiting) => ("waiting", format!("{} open question(s)", waiting.question_ids.len()), None),
        R::Completed(_) => ("completed", "the run completed".into(), None),
        R::Stopped(stopped) => ("stopped", format!("{}: {}", stopped.stop_reason.name(), stopped.detail), None),
        R::Failed(failed) => ("failed", failed.error.clone(), None),
        R::Canceled(_) => ("canceled", "the run was canceled".into(), None),
        _ => return None,
    };
    let title: String = run.shared.brief.objective.lines().next().unwrap_or_default().chars().take(120).collect();
    Some(NotificationRow {
        run_id: event.run_id,
        seq: event.seq,
        owner: run.shared.brief.owner,
        kind: kind.into(),
        title,
        body,
        question_id,
        at: event.at,
    })
}

/// A report without a model's prose: of a run that failed or was canceled.
pub(crate) fn bare_report(run: &Run, reason: StopReason, detail: &str) -> Value {
    match &run.machine {
        Machine::Homework(state) => state.report(&run.shared, reason, detail, None),
    }
}

/// The report as a person reads it.
pub fn report_markdown(report: &Value) -> String {
    let text = |key: &str| report[key].as_str().unwrap_or_default().to_owned();
    let list = |key: &str| -> Vec<String> {
        report[key]
            .as_array()
            .map(|items| items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect())
            .unwrap_or_default()
    };
    let mut out = format!("# {}\n\n{}\n", text("title"), text("summary"));
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            out.push_str(&format!("\n## {title}\n\n"));
            lines.iter().for_each(|line| out.push_str(&format!("- {line}\n")));
        }
    };
    section("Findings", list("findings"));
    section("Not done", list("not_done"));
    let evidence = report["evidence"].as_array().cloned().unwrap_or_default();
    section("Criteria", evidence.iter().map(criterion_line).collect());
    let artifacts = report["artifacts"].as_array().cloned().unwrap_or_default();
    section(
        "Documents and tasks",
        artifacts
            .iter()
            .map(|made| {
                format!("{} ({})", made["title"].as_str().unwrap_or_default(), made["ref"].as_str().unwrap_or_default())
            })
            .collect(),
    );
    let metrics = &report["metrics"];
    section(
        "How it ended",
        vec![
            format!("{}: {}", text("stop_reason"), text("stop_detail")),
            format!(
                "{} iterations, {} model calls, {} tool calls",
                report["iterations"], metrics["llm_calls"], metrics["tool_calls"]
            ),
            format!("{} tokens in, {} out, {} USD", metrics["tokens_in"], metrics["tokens_out"], metrics["cost_usd"]),
        ],
    );
    out
}

fn criterion_line(item: &Value) -> String {
    let refs = item["verified"]["refs"]
        .as_array()
        .map(|refs| refs.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "));
    let text = item["text"].as_str().unwrap_or_default();
    match refs {
        Some(refs) => format!("{} {text}: verified by {refs}", item["criterion"].as_str().unwrap_or_default()),
        None => format!("{} {text}: not verified", item["criterion"].as_str().unwrap_or_default()),
    }
}

/// The batch that marks a run failed when its log cannot be folded: built from its row alone.
pub fn failed_unread(row: RunRow, why: &str, now: crate::time::Timestamp) -> (crate::batch::Batch, Rows) {
    let now = now.max(row.updated_at);
    let fact: Fact = crate::facts::run::Failed { stop_reason: StopReason::Error, error: why.to_owned() }.into();
    let payload = fact.encode().unwrap_or_else(|| "{}".into());
    let mut event = Event {
        run_id: row.id,
        seq: row.last_seq + 1,
        node_id: None,
        parent_node_id: None,
        at: now,
        actor: crate::actor::Actor::Platform,
        hash: row.head,
        fact,
        payload: payload.into(),
    };
    event.hash = event.link(row.head);
    let mut batch = crate::batch::Batch::after(row.id, row.last_seq);
    let run = RunRow {
        status: crate::run::Status::Failed,
        activity: "failed".into(),
        stop_reason: Some(StopReason::Error),
        stop_detail: Some(why.to_owned()),
        updated_at: now,
        ended_at: Some(now),
        last_seq: event.seq,
        head: event.hash,
        ..row
    };
    let notification = NotificationRow {
        run_id: run.id,
        seq: event.seq,
        owner: run.owner,
        kind: "failed".into(),
        title: run.objective.chars().take(120).collect(),
        body: why.to_owned(),
        question_id: None,
        at: now,
    };
    batch.events.push(event);
    (batch, Rows { run, iterations: Vec::new(), entries: Vec::new(), notifications: vec![notification] })
}
