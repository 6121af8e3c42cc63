//! Schemas of the parts of a run: limits, plan, iterations, report, task steps and the snapshot at one event.

use super::{metrics, node_status, role, run};
use crate::api::schema::*;

/// The limits in force; null means no limit.
pub(crate) fn limits() -> Schema {
    record! { "Limits":
        max_cost_usd: nullable(amount()), max_tokens: nullable(count()), max_wall_ms: nullable(count()),
        max_iterations: count(), max_depth: count(), max_nodes: count(), max_bands: count(),
        max_steps_per_band: count(), max_replans: count(), max_parallel: count(), no_progress_limit: count(),
        repeat_limit: count(),
    }
}

/// The use of one model.
pub(crate) fn model_metrics() -> Schema {
    record! { "ModelMetrics":
        tokens_in: count(), tokens_out: count(), tokens_cached: count(), cost_usd: amount(), llm_calls: count(),
    }
}

/// The plan that a homework run keeps between iterations, or that of a tree's root, which has bands.
pub(crate) fn plan() -> Schema {
    let step = record! {
        id: text(), title: text(), status: one_of(["pending", "doing", "done", "blocked"]), owner: role(),
        iteration_last_touched: count();
        band: count(),
    };
    let of_tree = [("summary", nullable(text())), ("bands", list_of(anything()))];
    named("Plan", record([("version", count()), ("steps", list_of(named("PlanStep", step)))], of_tree))
}

pub(crate) fn iteration() -> Schema {
    record! { "Iteration":
        run_id: id(), iteration: count(), status: one_of(["running", "completed", "canceled", "failed"]), summary: text(),
        progress: flag(), metrics: nullable(metrics()), artifacts: nullable(made()), started_at: time(),
        ended_at: nullable(time());
        running: running(),
    }
}

/// Only while it works, and only where one run is read: `running_ms` counts up to `at`, and `estimated_cost_usd` is
/// `cost_usd` with an estimate of the calls in flight.
pub(crate) fn running() -> Schema {
    record! { "Running": at: time(), calls: count(), estimated_cost_usd: amount() }
}

fn made() -> Schema {
    let named_list = || list_of(named("Named", record([("id", id()), ("title", text())], [])));
    record! { "Made":
        created_documents: named_list(), updated_documents: named_list(), created_tasks: named_list(),
        updated_tasks: named_list(), created_edges: named_list();
        tool_results: list_of(result()), executor_results: list_of(result()),
    }
}

/// What a call or an executor of an iteration brought.
fn result() -> Schema {
    record! { "IterationResult":
        name: text(), ok: flag(), summary: text();
        call_id: text(), branch_id: text(), event: count(),
    }
}

/// The report of a run that has ended. `nodes`, `result` and `synthesis` belong to a tree, `agent` and `steps` to a task,
/// `iterations` and `plan` to a homework run. Reports that earlier versions wrote lack the other optional fields.
pub(crate) fn report() -> Schema {
    let evidence = record! {
        criterion: nullable(text()), text: text();
        state: super::criterion_state(), refs: list_of(text()), verified: anything(), claimed: nullable(flag()), notes: nullable(text()),
    };
    let message = record([("text", text()), ("shown", flag())], []);
    record! { "Report":
        title: text(), summary: text(), findings: list_of(text()), not_done: list_of(text()),
        prose_by: one_of(["model", "platform"]), objective: text(), status: text(), stop_reason: text(),
        stop_detail: text(), evidence: list_of(evidence),
        artifacts: list_of(record([("ref", text()), ("title", text())], [])), questions: list_of(super::question()),
        metrics: metrics(), models: list_of(text());
        criteria: list_of(super::criterion()), outcome: nullable(super::run_outcome()), made: list_of(report_item()),
        left_out: count(), failed: list_of(report_failure()), dropped: list_of(report_dropped()),
        replans: list_of(report_replan()), messages: list_of(message), older_messages: count(),
        messages_not_shown: list_of(text()), cost: report_cost(), how_it_ended: text(),
        iterations: count(), what_changed: made(), plan: plan(), nodes: map_of(count()), result: nullable(envelope()),
        synthesis: report_synthesis(), agent: nullable(text()), steps: count(),
    }
}

/// Something the run made or changed, the most important or the newest first; `/artifacts` has all of a tree.
fn report_item() -> Schema {
    record! { "ReportItem":
        kind: one_of(["document", "task", "json"]), ref: text(), title: text();
        node: text(), changed: flag(), replaced: flag(),
    }
}

/// Something that failed and that nothing made good.
fn report_failure() -> Schema {
    record! { "ReportFailure":
        kind: one_of(["branch", "tool", "node", "step"]), title: text(), state: one_of(["failed", "canceled", "partial"]),
        why: text();
        iteration: count(), node_id: id(),
    }
}

/// A planned step that nobody did.
fn report_dropped() -> Schema {
    record! { "ReportDropped": title: text(), why: text(); iteration: count(), node_id: id(), }
}

fn report_replan() -> Schema {
    record! { "ReportReplan": ; iteration: count(), why: text(), node_id: id(), title: text(), times: count(), }
}

/// What the run cost. `total_usd` is null while the price is unknown. `verifier` and `wrap_up` are parts of it; `owned` is what
/// iterations or nodes used, `unowned` the rest.
fn report_cost() -> Schema {
    record! { "ReportCost":
        known: flag(), total_usd: nullable(amount()), by_model: map_of(model_metrics()), verifier: model_metrics(),
        wrap_up: model_metrics(), presumed_usd: amount(), presumed_tokens: count(), owned: nullable(model_metrics()),
        unowned: nullable(model_metrics()),
    }
}

/// What the root of a tree made of it all; its main document with its text where that is short.
fn report_synthesis() -> Schema {
    let document = record([("ref", text()), ("title", text()), ("content", anything())], [("text", text())]);
    record! { "ReportSynthesis":
        summary: nullable(text()), key_findings: list_of(text()), gaps: list_of(text()), document: nullable(document),
    }
}

/// One step of a task: what its agent chose, and the outcome. `result` is the blob of the page it was shown.
pub(crate) fn task_step() -> Schema {
    let blob = record([("hash", text()), ("bytes", count())], []);
    record! { "TaskStep":
        run_id: id(), step: count(), action: one_of(["navigate", "execute", "done", "error"]),
        path: nullable(text()), action_name: nullable(text()), params: anything(), message: nullable(text()),
        thought: nullable(text()), ok: nullable(flag()), summary: nullable(text()), result: nullable(blob),
        artifacts: made(), seq: count(), started_at: time(), ended_at: nullable(time()),
    }
}

/// The result that a node hands its parent.
pub(crate) fn envelope() -> Schema {
    let assessment = record([("met", flag())], [("notes", text())]);
    record! { "Envelope":
        kind: one_of(["json", "document", "hybrid"]), summary: text(), artifactIds: list_of(id()),
        documentIds: list_of(id());
        successAssessment: assessment, primaryArtifactId: id(), jsonPayload: anything(), scratchpadDocId: id(),
        scratchpadTail: text(),
    }
}

pub(crate) fn snapshot() -> Schema {
    record! { "Snapshot":
        seq: count(), last_seq: count(), at: time(), run: run(), iterations: list_of(iteration()),
        nodes: nullable(node_columns()), steps: nullable(step_columns());
        task_steps: list_of(task_step()),
    }
}

/// Parallel arrays in order of creation; `parent` and `retry_of` are indexes into them.
fn node_columns() -> Schema {
    record! { "NodeColumns":
        count: count(), id: list_of(id()), parent: list_of(nullable(count())), title: list_of(text()),
        status: list_of(node_status()), role: list_of(role()), paused: list_of(flag()), depth: list_of(count()),
        band: list_of(count()), step: list_of(count()), step_id: list_of(nullable(text())),
        generation: list_of(count()), retry_of: list_of(nullable(count())), message: list_of(nullable(text())),
        outcome: list_of(nullable(super::outcome())), error: list_of(nullable(text())), stale: list_of(flag()),
        question: list_of(nullable(id())), artifacts: list_of(count()), documents: list_of(count()), in_flight: list_of(count()),
        cost_usd: list_of(amount()), tokens_in: list_of(count()), tokens_out: list_of(count()), tokens_presumed: list_of(count()),
        llm_calls: list_of(count()), tool_calls: list_of(count()), created_ms: list_of(count()),
        started_ms: list_of(nullable(count())), ended_ms: list_of(nullable(count())),
    }
}

/// Steps of the newest plans that no node works on; `node` is an index into the node columns.
fn step_columns() -> Schema {
    let status = one_of(["pending", "running", "completed", "failed", "canceled", "superseded", "skipped"]);
    record! { "StepColumns":
        count: count(), node: list_of(count()), step_id: list_of(text()), band: list_of(count()),
        step: list_of(count()), title: list_of(text()), status: list_of(named("StepStatus", status)),
    }
}
