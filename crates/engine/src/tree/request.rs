//! Builds the request of each tree role: its node's task, allowances and earlier results. A call is shown the node's
//! scratchpad, the envelopes of earlier bands and, when it aggregates, exactly what its children's hints name.

use super::answer::MAX_ROUNDS;
use super::effect_id::NodeCall as At;
use super::node::{Artifact, Node};
use super::plan::Step;
use super::state::State;
use crate::answer::MAX_TOOL_CALLS;
use crate::calls::RecordedCall;
use crate::effect::{EffectId, ToolCall};
use crate::ids::NodeNumber;
use crate::lessons::{self, ADD_LESSON};
use crate::prompt::{self, Quote, Sections};
use crate::run::{Rules, Shared};
use crate::task::READ_SCRATCHPAD;
use serde_json::{Value, json};

impl State {
    pub(super) fn tool_call(&self, shared: &Shared, node: &Node, call: &RecordedCall) -> ToolCall {
        let mut granted: Vec<String> = shared.brief.tools.iter().map(|tool| tool.name.clone()).collect();
        match self.position_of(&call.id).map(|position| position.part) {
            Some(At::Recall) => granted = vec![READ_SCRATCHPAD.into()],
            _ => granted.extend(node.agent.as_ref().map(|_| ADD_LESSON.into())),
        }
        ToolCall {
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
            granted,
            home_document: Some(node.scratchpad),
            props: json!({ "tree_agent_run_id": shared.id, "tree_agent_node_id": node.id }),
            external: shared.external_tool(&call.tool).cloned(),
            answered: shared.answered_question(&call.id),
            agent: node.agent.as_deref().map(|handle| shared.agent_id(handle)),
        }
    }

    pub(super) fn planner(&self, shared: &Shared, number: NodeNumber, effect: &EffectId) -> Sections {
        let mut out = self.opening(shared, number, effect);
        out.add_written("tools", prompt::tool_lines(shared.brief.tools.iter()));
        lessons::list_agents(shared, &mut out);
        let node = self.at(number);
        if let Some(plan) = &node.plan {
            out.add("plan", json!({ "version": plan.version, "summary": plan.summary, "steps": plan.steps.iter().map(step_line).collect::<Vec<_>>() }));
            self.envelopes("results", plan.steps.iter(), &mut out);
        }
        if let Some(reason) = &node.work.replan {
            out.add("replan_reason", reason);
        }
        out
    }

    pub(super) fn executor(&self, shared: &Shared, number: NodeNumber, effect: &EffectId) -> Sections {
        let mut out = self.opening(shared, number, effect);
        let node = self.at(number);
        out.add_written("tools", lessons::tool_lines(shared.brief.tools.iter(), node.agent.is_some()));
        out.add(
            "workspace",
            json!({
                "scratchpad_document_id": node.scratchpad,
                "home_project_id": shared.home_project(),
                "project_ids": shared.brief.project_ids,
            }),
        );
        if let Some(plan) = &node.plan {
            self.envelopes("results", plan.steps.iter(), &mut out);
        }
        out.add(
            "round",
            json!({ "round": node.work.round - node.work.asked, "of": MAX_ROUNDS, "max_tool_calls": MAX_TOOL_CALLS }),
        );
        out.add_some("result_refused", &node.work.refused);
        out.add_some("artifacts", &node.current_artifacts().map(artifact_line).collect::<Vec<_>>());
        out.share(6).results(lessons::results(&node.work.calls));
        out
    }

    pub(super) fn aggregator(&self, shared: &Shared, number: NodeNumber, effect: &EffectId) -> Sections {
        let mut out = self.opening(shared, number, effect);
        let Some(plan) = &self.at(number).plan else { return out };
        out.add("plan", json!({ "version": plan.version, "summary": plan.summary, "replans_left": self.replans_left(shared, number) }));
        self.envelopes("results", plan.steps.iter(), &mut out);
        let read: Vec<(&Step, &Artifact)> = plan
            .children()
            .flat_map(|(step, child)| self.readable(child).map(move |artifact| (step, artifact)))
            .collect();
        let quote = |(step, artifact): (&Step, &Artifact)| Quote {
            frame: json!({ "step_id": step.of.id, "artifact_id": artifact.id, "type": artifact.kind, "label": artifact.label, "title": artifact.title, "document_id": artifact.document }),
            field: "content",
            content: artifact.content,
            limit: u32::MAX,
        };
        out.share(8).quoted("artifacts_read", read.into_iter().map(quote).collect());
        out
    }

    /// The sections of every call of a node. The title comes first and is the one line that is not JSON.
    fn opening(&self, shared: &Shared, number: NodeNumber, effect: &EffectId) -> Sections {
        let node = self.at(number);
        let mut out = Sections::default();
        out.text(format!("Node: {}\n\n", crate::lines::one_line(&node.title)));
        out.add("objective", &shared.brief.objective);
        let mut path: Vec<&str> = self.path(number).skip(1).map(|at| self.at(at).title.as_str()).collect();
        path.reverse();
        out.add("path", path);
        out.add("task", json!({
            "title": node.title, "reason": node.reason, "success_criteria": node.criteria, "deliverable": node.deliverable,
            "depth": node.depth, "generation": node.generation,
        }));
        if let Some(handle) = &node.agent {
            lessons::describe_agent(shared, handle, &node.work.calls, &mut out);
        }
        if let Some(before) = node.retry_of.and_then(|id| self.node(id)) {
            let mut earlier = json!({ "node_id": before.id, "status": before.status, "error": before.error, "result": before.result });
            if before.stale {
                earlier["stale"] = json!(true);
            }
            out.add("retry_of", earlier);
        }
        out.add("allowances", self.allowances(shared, number));
        self.earlier_bands(number, &mut out);
        out.add_some("questions", &prompt::questions(shared));
        let shown = shared.messages.iter().filter(|message| self.shows_message(shared, effect, message));
        out.newest("messages", &prompt::messages(shown, |message| !message.delivered));
        out.lines("scratchpad", &node.tail);
        out
    }

    fn allowances(&self, shared: &Shared, number: NodeNumber) -> Value {
        let (budgets, node) = (&shared.budgets, self.at(number));
        let left = self.accounts.left(number, shared.kept_reserve());
        json!({
            "depth_left": budgets.max_depth.saturating_sub(node.depth),
            "nodes_left": self.nodes_left(shared),
            "max_bands": budgets.max_bands,
            "max_steps_per_band": budgets.max_steps_per_band,
            "replans_left": self.replans_left(shared, number),
            "cost_usd": budgets.max_cost_usd.map(|_| left.cost_usd),
            "tokens": budgets.max_tokens.map(|_| left.tokens),
            "working_ms": budgets.max_wall_ms.map(|limit| (limit - shared.metrics.running_ms).max(0)),
        })
    }

    fn replans_left(&self, shared: &Shared, number: NodeNumber) -> u32 {
        shared.budgets.max_replans.saturating_sub(self.at(number).replans)
    }

    /// The results of the bands before this node's own.
    fn earlier_bands(&self, number: NodeNumber, out: &mut Sections) {
        let node = self.at(number);
        let Some(plan) = node.parent.and_then(|parent| self.at(parent).plan.as_ref()) else { return };
        self.envelopes("earlier_results", plan.before(node.band, number), out);
    }

    fn envelopes<'a>(&self, name: &str, steps: impl Iterator<Item = &'a Step>, out: &mut Sections) {
        out.share(3).records(name, steps.map(|step| self.envelope_line(step)));
    }

    fn envelope_line(&self, step: &Step) -> Value {
        let child = step.child.map(|child| self.at(child));
        let mut line = json!({
            "step_id": step.of.id,
            "title": step.of.title,
            "status": step.status,
            "outcome": child.and_then(|child| child.outcome),
            "error": child.and_then(|child| child.error.clone()),
            "result": child.and_then(|child| child.result.as_deref()),
        });
        if child.is_some_and(|child| child.stale) {
            line["stale"] = json!(true);
        }
        line
    }
}

fn step_line(step: &Step) -> Value {
    json!({ "id": step.of.id, "band": step.band, "title": step.of.title, "status": step.status })
}

fn artifact_line(artifact: &Artifact) -> Value {
    json!({ "label": artifact.label, "type": artifact.kind, "artifact_id": artifact.id, "document_id": artifact.document })
}
