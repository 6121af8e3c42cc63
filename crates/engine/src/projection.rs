//! Rows implied by a run's state and its newest events. Pure and deterministic: rebuilding from the log,
//! whatever the batches were, gives the same rows.

use crate::batch::{ArtifactRow, EntryRow, IterationRow, NodeRow, NotificationRow, PlanRow, Rows, RunRow};
use crate::event::Event;
use crate::facts::evidence::RunOutcome;
use crate::facts::homework::{IterationCompleted, Verdict};
use crate::facts::{EffectFact, Fact, HomeworkFact, RunFact, TreeFact};
use crate::homework;
use crate::ids::{ArtifactId, DocumentId, NodeId, NodeNumber, RunId};
use crate::metrics::Metrics;
use crate::run::{Machine, Run, Shared, Status, StopReason, unshown};
use crate::task;
use crate::time::Timestamp;
use crate::tree;
use crate::tree::status::NodeStatus;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The rows after `events`, which end at the state of `run`.
pub fn rows(run: &Run, events: &[Event]) -> Rows {
    Rows {
        run: run_row(run),
        wake_at: wake_at(run),
        checking: run.shared.is_checked_after_its_end(),
        iterations: iterations(run.shared.id, events),
        nodes: nodes(run, events),
        plans: events.iter().filter_map(plan).collect(),
        artifacts: artifacts(run, events),
        steps: task::rows::steps(run, events),
        entries: events.iter().filter_map(|event| entry(run, event)).collect(),
        notifications: events.iter().filter_map(|event| notification(run, event)).collect(),
    }
}

fn wake_at(run: &Run) -> Option<Timestamp> {
    let waits = run.shared.status() == Status::WaitingOnUser;
    run.shared.open_questions().filter(|_| waits).filter_map(|question| question.deadline_at).min()
}

pub fn run_row(run: &Run) -> RunRow {
    let fields = match &run.machine {
        Machine::Homework(state) => KindFields::homework(&run.shared, state),
        Machine::Tree(state) => KindFields::tree(run.root_node(), state.root().map(|root| root.scratchpad)),
        Machine::Task(state) => KindFields::task(state),
    };
    row(&run.shared, fields, run.activity())
}

/// What one kind of run adds to the run object.
#[derive(Default)]
pub(crate) struct KindFields {
    plan: Value,
    workspace_document_id: Option<DocumentId>,
    iteration: u32,
    root_node_id: Option<NodeId>,
    outside_iterations: Option<Box<Metrics>>,
}

impl KindFields {
    pub(crate) fn homework(shared: &Shared, state: &homework::State) -> KindFields {
        KindFields {
            plan: if state.plan.steps.is_empty() { Value::Null } else { value(&state.plan) },
            workspace_document_id: state.workspace_document(shared),
            iteration: state.iteration,
            root_node_id: None,
            outside_iterations: state.outside_iterations(shared).map(Box::new),
        }
    }

    pub(crate) fn tree(root_node_id: Option<NodeId>, workspace_document_id: Option<DocumentId>) -> KindFields {
        KindFields { root_node_id, workspace_document_id, ..KindFields::default() }
    }

    /// A task counts its steps as iterations.
    pub(crate) fn task(state: &task::State) -> KindFields {
        KindFields { iteration: state.actions(), ..KindFields::default() }
    }
}

pub(crate) fn row(shared: &Shared, fields: KindFields, activity: String) -> RunRow {
    RunRow {
        id: shared.id,
        kind: shared.brief.kind,
        objective: shared.brief.objective.clone(),
        scope: shared.brief.scope,
        project_ids: shared.brief.project_ids.clone(),
        status: shared.status(),
        activity,
        // A paused run may still have the stop reason of an earlier wait, which is not why it stands still now.
        stop_reason: shared.stop_reason.filter(|_| shared.status() != Status::Paused),
        stop_detail: shared.stop_detail.clone(),
        outcome: shared.outcome(),
        iteration: fields.iteration,
        budgets: value(&shared.budgets),
        metrics: Metrics { outside_iterations: fields.outside_iterations, ..shared.metrics.clone() },
        plan: fields.plan,
        success_criteria: shared.criteria.clone(),
        questions: value(&shared.questions),
        root_node_id: fields.root_node_id,
        workspace_document_id: fields.workspace_document_id,
        workspace_project_id: shared.home_project(),
        report: shared.report.clone().unwrap_or(Value::Null),
        model: shared.brief.models.balanced.name(),
        warnings: shared.brief.warnings.clone(),
        owner: shared.brief.owner,
        agent: shared.brief.agent.as_ref().map(|agent| agent.handle.clone()),
        agent_id: shared.brief.agent.as_ref().map(|agent| agent.id),
        agents: shared.brief.agents.iter().map(|agent| agent.handle.clone()).collect(),
        max_steps: shared.brief.agent.as_ref().map(|agent| task::allowed_steps(agent.max_steps)),
        paused_nodes: Vec::new(),
        provider_wait: shared.waits_for_provider(),
        running: None,
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
pub(crate) fn iterations(run_id: RunId, events: &[Event]) -> Vec<IterationRow> {
    let mut rows: Vec<IterationRow> = Vec::new();
    for event in events {
        match &event.fact {
            Fact::Homework(HomeworkFact::IterationStarted(fact)) => rows.push(IterationRow {
                run_id,
                iteration: fact.iteration,
                status: "running".into(),
                summary: String::new(),
                progress: false,
                metrics: Value::Null,
                artifacts: Value::Null,
                running: None,
                started_at: event.at,
                ended_at: None,
            }),
            Fact::Homework(HomeworkFact::IterationCompleted(fact)) => {
                let known = rows.iter().position(|row| row.iteration == fact.iteration);
                let row = IterationRow {
                    run_id,
                    iteration: fact.iteration,
                    status: iteration_status(&fact.verdict).into(),
                    summary: fact.summary.clone(),
                    progress: fact.progress.made,
                    metrics: value(&fact.metrics),
                    artifacts: iteration_artifacts(fact),
                    running: None,
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

/// An iteration in which the run was canceled or failed ended as the run did.
fn iteration_status(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Stop { reason, .. } if reason.breaks_off() => reason.status().name(),
        _ => "completed",
    }
}

/// What was created and changed, with what the calls and the executors brought.
fn iteration_artifacts(fact: &IterationCompleted) -> Value {
    let mut artifacts = value(&fact.artifacts);
    let (calls, executors): (Vec<_>, Vec<_>) = fact.results.iter().partition(|result| result.branch_id.is_none());
    artifacts["tool_results"] = value(calls);
    artifacts["executor_results"] = value(executors);
    artifacts
}

/// The nodes these events changed: their own, and ancestors whose subtree metrics changed.
fn nodes(run: &Run, events: &[Event]) -> Vec<NodeRow> {
    let Machine::Tree(state) = &run.machine else { return Vec::new() };
    let mut changed = BTreeSet::new();
    for event in events {
        let Some(number) = event.node_id.and_then(|id| state.number(id)) else { continue };
        let charged =
            matches!(&event.fact, Fact::Effect(EffectFact::Finished(_)) | Fact::Tree(TreeFact::ToolCallResult(_)));
        changed.extend(state.path(number).take(if charged { usize::MAX } else { 1 }));
        changed.extend(replaced_by(state, event));
    }
    changed.into_iter().map(|number| node_row(run, state, number)).collect()
}

/// The nodes that are no longer current because of this event.
fn replaced_by(state: &tree::State, event: &Event) -> Vec<NodeNumber> {
    let replaced = match &event.fact {
        Fact::Tree(TreeFact::NodeCreated(fact)) => fact.retry_of,
        Fact::Tree(TreeFact::NodeStatusChanged(fact)) if fact.status == NodeStatus::Superseded => event.node_id,
        _ => None,
    };
    replaced.and_then(|id| state.number(id)).map(|number| state.subtree(number)).unwrap_or_default()
}

/// The row of one node.
pub fn node_row(run: &Run, state: &tree::State, number: NodeNumber) -> NodeRow {
    let node = &state.nodes[number.index()];
    NodeRow {
        id: node.id,
        run_id: run.shared.id,
        ordinal: number,
        parent_node_id: node.parent.map(|parent| state.nodes[parent.index()].id),
        title: node.title.clone(),
        reason: node.reason.clone(),
        success_criteria: node.criteria.clone(),
        band_index: node.band,
        step_index: node.step,
        step_id: node.step_id.clone(),
        depth: node.depth,
        status: node.status,
        role_state: node.role,
        message: node.message.clone(),
        paused: node.paused,
        generation: node.generation,
        retry_of: node.retry_of,
        agent: node.agent.clone(),
        scratchpad_doc_id: node.scratchpad,
        scratchpad_tail: node.tail_preview.clone(),
        outcome: node.outcome,
        error: node.error.clone(),
        shortfall: node.shortfall.clone(),
        retryable: node.retryable,
        stale: node.stale,
        current: state.is_current(number),
        result: value(&node.result),
        metrics: node.subtree.clone(),
        own_metrics: node.own.clone(),
        started_at: node.started_at,
        ended_at: node.ended_at,
        created_at: node.created_at,
        updated_at: node.updated_at,
    }
}

fn plan(event: &Event) -> Option<PlanRow> {
    let (Fact::Tree(TreeFact::PlanCreated(fact)), Some(node_id)) = (&event.fact, event.node_id) else { return None };
    let plan_json = json!({ "summary": fact.summary, "bands": fact.bands });
    Some(PlanRow {
        id: fact.plan_id,
        run_id: event.run_id,
        node_id,
        version: fact.version,
        plan_json,
        created_at: event.at,
    })
}

/// Artifacts that were registered, those a result made primary, and those that are stale or no longer current.
fn artifacts(run: &Run, events: &[Event]) -> Vec<ArtifactRow> {
    let Machine::Tree(state) = &run.machine else { return Vec::new() };
    let touched = events.iter().flat_map(|event| touched_artifacts(state, event));
    let mut seen: BTreeSet<ArtifactId> = BTreeSet::new();
    let rows = touched.filter(|(_, artifact)| seen.insert(artifact.id)).map(|(number, artifact)| ArtifactRow {
        id: artifact.id,
        run_id: run.shared.id,
        node_id: state.nodes[number.index()].id,
        artifact_type: artifact.kind,
        document_id: artifact.document,
        json_payload: artifact.json.clone(),
        content: artifact.content,
        is_primary: artifact.is_primary,
        label: artifact.label.clone(),
        title: artifact.title.clone().filter(|_| artifact.document.is_none()),
        stale: state.nodes[number.index()].stale,
        current: state.is_current_artifact(number, artifact),
        created_at: artifact.created_at,
    });
    rows.collect()
}

/// The artifacts whose rows this event changes, with their nodes.
fn touched_artifacts<'a>(state: &'a tree::State, event: &Event) -> Vec<(NodeNumber, &'a tree::node::Artifact)> {
    let of_node = |number: NodeNumber| state.nodes[number.index()].artifacts.iter().map(move |made| (number, made));
    let replaced = replaced_by(state, event).into_iter().flat_map(of_node);
    let Some(number) = event.node_id.and_then(|id| state.number(id)) else { return replaced.collect() };
    let all = || of_node(number);
    let only = |ids: &[ArtifactId]| all().filter(|(_, made)| ids.contains(&made.id)).collect::<Vec<_>>();
    let own = match &event.fact {
        Fact::Tree(TreeFact::ArtifactCreated(fact)) => {
            let made = only(&[fact.artifact_id]);
            let in_its_place = |(_, other): &(NodeNumber, &tree::node::Artifact)| {
                made.first().is_some_and(|(_, made)| made.id == other.id || made.takes_the_place_of(other))
            };
            all().filter(in_its_place).collect()
        }
        Fact::Tree(TreeFact::NodeResult(fact)) => only(fact.result.primary_artifact_id.as_slice()),
        Fact::Tree(TreeFact::NodeReopened(_) | TreeFact::ReplanRequested(_) | TreeFact::NodeStale(_)) => {
            all().collect()
        }
        _ => Vec::new(),
    };
    own.into_iter().chain(replaced).collect()
}

fn entry(run: &Run, event: &Event) -> Option<EntryRow> {
    let (document_id, key, markdown) = match &event.fact {
        Fact::Homework(HomeworkFact::ScratchpadAppended(fact)) => {
            (fact.scratchpad_document_id, &fact.entry_key, fact.markdown.clone())
        }
        Fact::Homework(HomeworkFact::ExecutorFinished(fact)) => {
            let entry = fact.entry.as_ref()?;
            (entry.scratchpad_document_id, &entry.entry_key, entry.markdown.clone())
        }
        Fact::Tree(TreeFact::ScratchpadUpdated(fact)) => {
            (fact.scratchpad_doc_id, &fact.entry_key, fact.markdown.clone())
        }
        Fact::Tree(TreeFact::ToolCallResult(fact)) => {
            let Machine::Tree(state) = &run.machine else { return None };
            (state.node(event.node_id?)?.scratchpad, &fact.call_id.0, tree::pad::tool_entry(fact)?)
        }
        _ => return None,
    };
    Some(EntryRow { document_id, key: key.clone(), markdown, run_id: event.run_id, seq: event.seq, at: event.at })
}

/// Every end notifies, and so does each question.
fn notification(run: &Run, event: &Event) -> Option<NotificationRow> {
    let Fact::Run(fact) = &event.fact else { return None };
    let (kind, body, question_id) = match fact {
        RunFact::QuestionAsked(asked) => ("question", asked.text.clone(), Some(asked.question_id)),
        RunFact::WaitingOnUser(waiting) => {
            ("waiting", format!("{} open question(s)", waiting.question_ids.len()), None)
        }
        RunFact::Completed(fact) => ("completed", completed_as(fact.ended.outcome).into(), None),
        // As earlier versions stored it: a notification is never reworded.
        RunFact::Stopped(stopped) => ("stopped", format!("{}: {}", stopped.stop_reason.name(), stopped.detail), None),
        RunFact::Failed(failed) => ("failed", failed.error.clone(), None),
        RunFact::Canceled(_) => ("canceled", "the run was canceled".into(), None),
        _ => return None,
    };
    let body = with_unshown(body, unshown_in(fact));
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

/// A completed run says what it came to, so that a partial one is not taken for success.
fn completed_as(outcome: Option<RunOutcome>) -> &'static str {
    match outcome {
        Some(RunOutcome::Verified) => "the run completed, verified: every criterion holds",
        Some(RunOutcome::Claimed) => "the run completed, claimed: not verified",
        Some(RunOutcome::Partial) => "the run completed in part",
        Some(RunOutcome::Nothing) => "the run completed and made nothing",
        None => "the run completed",
    }
}

fn unshown_in(fact: &RunFact) -> &[String] {
    match fact {
        RunFact::Completed(fact) => &fact.ended.messages_not_shown,
        RunFact::Stopped(fact) => &fact.ended.messages_not_shown,
        RunFact::Failed(fact) => &fact.ended.messages_not_shown,
        RunFact::Canceled(fact) => &fact.ended.messages_not_shown,
        _ => &[],
    }
}

/// How the run ended, with the messages that were never shown to a model.
fn with_unshown(body: String, unshown: &[String]) -> String {
    unshown.iter().fold(body, |body, text| format!("{body}; {}", unshown::sentence(text)))
}

/// A report without a model's prose: of a run that failed or was canceled.
pub(crate) fn bare_report(run: &Run, reason: StopReason, detail: &str) -> Value {
    match &run.machine {
        Machine::Homework(state) => state.report(&run.shared, reason, detail, None),
        Machine::Tree(state) => state.report(&run.shared, reason, detail),
        Machine::Task(state) => state.report(&run.shared, reason, detail),
    }
}

/// The batch that marks a run failed when its log cannot be folded: built from its row alone.
pub fn fail_unreadable(row: RunRow, why: &str, now: Timestamp) -> (crate::batch::Batch, Rows) {
    let now = now.max(row.updated_at);
    let failed = crate::facts::run::Failed {
        stop_reason: StopReason::Error,
        error: why.to_owned(),
        ended: crate::facts::run::Ended::default(),
    };
    let fact: Fact = failed.into();
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
        status: Status::Failed,
        activity: "failed".into(),
        stop_reason: Some(StopReason::Error),
        stop_detail: Some(why.to_owned()),
        outcome: Some(RunOutcome::Partial),
        provider_wait: None,
        running: None,
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
    (
        batch,
        Rows {
            run,
            wake_at: None,
            checking: false,
            iterations: Vec::new(),
            nodes: Vec::new(),
            plans: Vec::new(),
            artifacts: Vec::new(),
            steps: Vec::new(),
            entries: Vec::new(),
            notifications: vec![notification],
        },
    )
}
