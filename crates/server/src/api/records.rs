//! Schemas of the records that several routes use: runs, limits, nodes, documents, people.

pub(super) mod run_schemas;

use super::schema::*;
use engine::facts::evidence::{CriterionState, RunOutcome};
use engine::member_role::MemberRole;
use engine::run::{Kind, ScopeKind, Status, StopReason};
use engine::tree::status::NodeStatus;
use engine::workspace::TaskState;
use serde_json::json;

pub(super) fn run() -> Schema {
    record! { "Run":
        id: id(), kind: kind(), objective: text(), scope: scope(), project_ids: list_of(id()), status: status(),
        activity: text(), outcome: nullable(run_outcome()), stop_reason: nullable(stop_reason()), stop_detail: nullable(text()), iteration: count(),
        budgets: run_schemas::limits(), metrics: metrics(), plan: nullable(run_schemas::plan()),
        success_criteria: list_of(criterion()), questions: list_of(question()), workspace_document_id: nullable(id()),
        workspace_project_id: id(), report: nullable(run_schemas::report()), model: text(), warnings: list_of(text()),
        owner: id(), created_at: time(), started_at: nullable(time()), updated_at: time(),
        ended_at: nullable(time()), last_seq: count(), head: text();
        root_node_id: id(), paused_nodes: list_of(id()), agent: text(), agent_id: id(), max_steps: count(), agents: list_of(text()),
        provider_wait: record([("provider", text()), ("until", time())], [("error", text())]),
        running: run_schemas::running(),
    }
}

/// A success criterion with what is known of it.
pub(super) fn criterion() -> Schema {
    let cited = record([("ref", text()), ("quotes", list_of(text()))], [("version", count())]);
    record! { "Criterion":
        id: text(), text: text(), state: criterion_state(), evidence: list_of(cited), stale: flag();
        reason: text(), model: text(), checking: flag(),
    }
}

/// Enumerations of the engine, by the names of their values.
macro_rules! enumerations {
    ($($function:ident: $name:literal of $type:ident),* $(,)?) => {
        $(pub(super) fn $function() -> Schema {
            named($name, one_of($type::ALL.iter().map(|value| value.name())))
        })*
    };
}

enumerations! {
    kind: "Kind" of Kind,
    status: "Status" of Status,
    scope: "Scope" of ScopeKind,
    stop_reason: "StopReason" of StopReason,
    run_outcome: "RunOutcome" of RunOutcome,
    criterion_state: "CriterionState" of CriterionState,
    node_status: "NodeStatus" of NodeStatus,
    task_state: "TaskState" of TaskState,
    member_role: "MemberRole" of MemberRole,
}

fn role() -> Schema {
    named("Role", one_of(["planner", "executor"]))
}

fn outcome() -> Schema {
    named("Outcome", one_of(["success", "partial", "no_op"]))
}

pub(super) fn metrics() -> Schema {
    record! { "Metrics":
        tokens_in: count(), tokens_out: count(), tokens_cached: count(), tokens_presumed: count(),
        cost_usd: amount(), cost_presumed_usd: amount(), cost_known: flag(), running_ms: count(),
        llm_calls: count(), tool_calls: count(), no_progress_streak: count(),
        by_model: map_of(run_schemas::model_metrics());
        verifier: run_schemas::model_metrics(), wrap_up: run_schemas::model_metrics(),
        outside_iterations: open(),
    }
}

pub(super) fn question() -> Schema {
    record! { "Question":
        id: id(), text: text(), options: list_of(text()), deadline_at: nullable(time()), default: nullable(text()),
        answer: nullable(text()), asked_at: time(), answered_at: nullable(time());
        node_id: id(), closed: one_of(["default", "unanswered", "withdrawn"]),
    }
}

/// Limits to set; absent ones stay as they are.
pub(super) fn budgets() -> Schema {
    let limit = || whole(0, u32::MAX.into());
    form! { "Budgets":
        ;
        max_cost_usd: json!({"type": "number", "minimum": 0, "maximum": 1e9}), max_tokens: nullable(count()),
        max_wall_ms: count(), max_iterations: limit(), max_depth: limit(), max_nodes: limit(), max_bands: limit(),
        max_steps_per_band: limit(), max_replans: limit(), max_parallel: limit(), no_progress_limit: limit(),
        repeat_limit: limit(),
    }
}

/// A node of a tree. `metrics` cover its subtree, `own_metrics` the node alone.
pub(super) fn node() -> Schema {
    record! { "Node":
        id: id(), run_id: id(), ordinal: count(), parent_node_id: nullable(id()), title: text(), reason: text(),
        success_criteria: list_of(text()), band_index: count(), step_index: count(), step_id: nullable(text()),
        depth: count(), status: node_status(), role_state: role(), message: nullable(text()), paused: flag(),
        generation: count(), retry_of: nullable(id()), scratchpad_doc_id: id(), scratchpad_tail: text(),
        outcome: nullable(outcome()), error: nullable(text()), shortfall: nullable(text()), retryable: flag(),
        stale: flag(), current: flag(),
        result: nullable(run_schemas::envelope()), metrics: metrics(), own_metrics: metrics(),
        started_at: nullable(time()), ended_at: nullable(time()), created_at: time(), updated_at: time();
        agent: text(),
    }
}

pub(super) fn artifact() -> Schema {
    record! { "Artifact":
        id: id(), run_id: id(), node_id: nullable(id()), artifact_type: one_of(["document", "json", "summary", "other"]),
        document_id: nullable(id()), json_payload: anything(), content: anything(), is_primary: flag(),
        label: text(), created_at: time();
        title: nullable(text()), stale: flag(), current: flag(),
        task_id: nullable(id()), change: one_of(["created", "updated"]), iteration: count(), branch_id: nullable(text()),
    }
}

/// An event of the log, as it is stored and streamed.
pub(super) fn event() -> Schema {
    record! { "Event":
        runId: id(), seq: whole(1, i64::MAX), type: text(), timestamp: time(), hash: text(), payload: open();
        nodeId: id(), parentNodeId: id(), actor: record([("kind", text())], [("id", text())]),
    }
}

pub(super) fn actor() -> Schema {
    record! { "Actor":
        id: id(), kind: one_of(["person", "subagent"]), handle: text(), name: text(), created_at: time(),
    }
}

/// An actor who belongs to a project or is invited to it.
pub(super) fn member() -> Schema {
    let own = record([("role", member_role()), ("invited", flag())], []);
    named("Member", extended(actor(), own))
}

/// Who wrote something, the platform included.
pub(super) fn author() -> Schema {
    record([("kind", one_of(["platform", "person", "subagent"]))], [("id", id())])
}

pub(super) fn project() -> Schema {
    record! { "Project":
        id: id(), title: text(), description: text(), props: open(), version: count(), created_at: time(),
        updated_at: time();
        role: member_role(),
    }
}

pub(super) fn document() -> Schema {
    record! { "Document":
        id: id(), project_id: id(), title: text(), type_key: text(), content: text(), props: open(),
        version: count(), created_at: time(), updated_at: time(),
    }
}

pub(super) fn task() -> Schema {
    record! { "Task":
        id: id(), project_id: id(), title: text(), description: text(), state: task_state(), props: open(),
        version: count(), created_at: time(), updated_at: time(),
    }
}

pub(super) fn edge() -> Schema {
    record! { "Edge":
        id: id(), project_id: id(), src: id(), dst: id(), rel: text(), props: open(), created_at: time(),
    }
}

pub(super) fn problem() -> Schema {
    named("Problem", record([("type", text()), ("title", text()), ("status", whole(400, 599)), ("detail", text())], []))
}
