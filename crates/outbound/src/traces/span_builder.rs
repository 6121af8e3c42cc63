//! Folds a run's log into spans. A span exists only once its end is in the log. The same log gives the same spans, so an exporter
//! that starts again knows by the seq of each end which spans were exported.

use super::span::{Span, SpanId, SpanKind};
use engine::effect::EffectId;
use engine::event::Event;
use engine::facts::effect::{Finished, FinishedAs, Started};
use engine::facts::{EffectFact, Fact, HomeworkFact, RunFact, TreeFact};
use engine::ids::{NodeId, RunId};
use engine::time::Timestamp;
use serde_json::{Value, json};
use std::collections::HashMap;

pub(crate) struct SpanBuilder {
    run: RunId,
    /// Folded up to here.
    pub seq: u64,
    kind: &'static str,
    /// When the run last started or was continued, and how often it had ended before.
    began: Option<Timestamp>,
    stretch: u32,
    attempts: HashMap<(EffectId, u32), Call>,
    /// When planning began: its first attempt.
    plans: HashMap<EffectId, Timestamp>,
    tools: HashMap<EffectId, Timestamp>,
    nodes: HashMap<NodeId, Node>,
    /// By iteration and index.
    executors: HashMap<(u32, u32), Timestamp>,
}

struct Call {
    began: Timestamp,
    what: String,
    model: Option<String>,
}

#[derive(Clone)]
struct Node {
    /// Absent between two generations.
    began: Option<Timestamp>,
    generation: u32,
    parent: Option<NodeId>,
    role: &'static str,
}

impl SpanBuilder {
    pub(crate) fn new(run: RunId) -> SpanBuilder {
        SpanBuilder {
            run,
            seq: 0,
            kind: "run",
            began: None,
            stretch: 0,
            attempts: HashMap::new(),
            plans: HashMap::new(),
            tools: HashMap::new(),
            nodes: HashMap::new(),
            executors: HashMap::new(),
        }
    }

    /// The run has ended, so this builder may be dropped. If the run continues, its log is folded again.
    pub(crate) fn is_over(&self) -> bool {
        self.began.is_none()
    }

    /// The spans that end with this event.
    pub(crate) fn take(&mut self, event: &Event) -> Vec<Span> {
        self.seq = event.seq;
        match &event.fact {
            Fact::Run(fact) => self.of_run(event, fact),
            Fact::Effect(fact) => self.of_effect(event, fact),
            Fact::Tree(fact) => self.of_tree(event, fact),
            Fact::Homework(fact) => self.of_homework(event, fact),
            _ => Vec::new(),
        }
    }

    fn of_run(&mut self, event: &Event, fact: &RunFact) -> Vec<Span> {
        match fact {
            RunFact::Queued(queued) => {
                self.kind = queued.kind.name();
                self.began = Some(event.at);
                Vec::new()
            }
            RunFact::Resumed(_) => {
                self.began.get_or_insert(event.at);
                Vec::new()
            }
            RunFact::Completed(_) => self.run_ended(event.at, json!("completed"), false),
            RunFact::Canceled(_) => self.run_ended(event.at, json!("canceled"), false),
            RunFact::Stopped(stopped) => self.run_ended(event.at, json!(stopped.stop_reason), false),
            RunFact::Failed(failed) => self.run_ended(event.at, json!(failed.stop_reason), true),
            _ => Vec::new(),
        }
    }

    fn run_ended(&mut self, at: Timestamp, reason: Value, failed: bool) -> Vec<Span> {
        let Some(began) = self.began.take() else { return Vec::new() };
        let error = failed.then(|| reason.as_str().unwrap_or("error").to_owned());
        let attributes = vec![
            ("gen_ai.operation.name", json!("invoke_workflow")),
            ("gen_ai.workflow.name", json!(self.kind)),
            ("gen_ai.conversation.id", json!(self.run)),
            ("pleach.stop_reason", reason),
        ];
        let name = format!("invoke_workflow {}", self.kind);
        let span = Span { parent: None, error, ..self.span(self.run_span(), name, (began, at), attributes) };
        self.stretch += 1;
        vec![span]
    }

    /// Within the process, without a parent or an error.
    fn span(
        &self,
        id: SpanId,
        name: String,
        (began, ended): (Timestamp, Timestamp),
        attributes: Vec<(&'static str, Value)>,
    ) -> Span {
        let (parent, kind, error) = (None, SpanKind::Internal, None);
        Span { run: self.run, id, parent, name, kind, began, ended, attributes, error }
    }

    /// The span of an agent: a node of a tree, or an executor.
    fn agent_span(&self, own: SpanId, name: &str, agent: Value, times: (Timestamp, Timestamp)) -> Span {
        let attributes = vec![
            ("gen_ai.operation.name", json!("invoke_agent")),
            ("gen_ai.agent.name", json!(name)),
            ("gen_ai.agent.id", agent),
            ("gen_ai.conversation.id", json!(self.run)),
        ];
        self.span(own, format!("invoke_agent {name}"), times, attributes)
    }

    fn run_span(&self) -> SpanId {
        SpanId::of(self.run, &format!("run {}", self.stretch))
    }

    fn of_effect(&mut self, event: &Event, fact: &EffectFact) -> Vec<Span> {
        match fact {
            EffectFact::Started(started) => {
                self.began.get_or_insert(event.at);
                self.started(event.at, started);
                Vec::new()
            }
            EffectFact::Finished(finished) => self.finished(event, finished),
            EffectFact::Unknown(unknown) => {
                let call = self.attempts.remove(&(unknown.effect.clone(), unknown.attempt));
                let span = |call| self.tool(event, &unknown.effect, &unknown.what, call, Some("unknown".into()));
                call.map(|call| span(call.began)).into_iter().collect()
            }
            EffectFact::Resolved(_) => Vec::new(),
        }
    }

    fn started(&mut self, at: Timestamp, started: &Started) {
        let call = Call { began: at, what: started.what.clone(), model: started.model.clone() };
        if is_planner(&call.what) {
            self.plans.entry(started.effect.clone()).or_insert(at);
        }
        self.attempts.insert((started.effect.clone(), started.attempt), call);
    }

    fn finished(&mut self, event: &Event, finished: &Finished) -> Vec<Span> {
        let Some(call) = self.attempts.remove(&(finished.effect.clone(), finished.attempt)) else { return Vec::new() };
        let error = match finished.outcome {
            FinishedAs::Ok => None,
            other => serde_json::to_value(other).ok().and_then(|word| word.as_str().map(str::to_owned)),
        };
        let Some(model) = &call.model else {
            return vec![self.tool(event, &finished.effect, &call.what, call.began, error)];
        };
        let mut spans = vec![self.chat(event, finished, &call, model, error.clone())];
        let is_tried_again = matches!(finished.outcome, FinishedAs::Transient | FinishedAs::Lost);
        if is_planner(&call.what) && !is_tried_again {
            spans.extend(self.plans.remove(&finished.effect).map(|began| self.plan(event, finished, began, error)));
        }
        spans
    }

    fn chat(&self, event: &Event, finished: &Finished, call: &Call, model: &str, error: Option<String>) -> Span {
        let (provider, model) = model.split_once('/').unwrap_or(("", model));
        let settled = &finished.settled;
        let mut attributes = vec![
            ("gen_ai.operation.name", json!("chat")),
            ("gen_ai.provider.name", json!(provider)),
            ("gen_ai.request.model", json!(model)),
            ("gen_ai.conversation.id", json!(self.run)),
            ("gen_ai.usage.input_tokens", json!(settled.tokens_in)),
            ("gen_ai.usage.output_tokens", json!(settled.tokens_out)),
            ("gen_ai.usage.cache_read.input_tokens", json!(settled.tokens_cached)),
            ("pleach.role", json!(call.what)),
            ("pleach.effect", json!(finished.effect)),
            ("pleach.attempt", json!(finished.attempt)),
            ("pleach.cost_usd", json!(settled.cost_usd)),
        ];
        attributes.extend(finished.provider_request_id.as_ref().map(|id| ("gen_ai.response.id", json!(id))));
        let parent = match is_planner(&call.what) {
            true => plan_span(self.run, &finished.effect),
            false => self.around(event, &finished.effect),
        };
        let id = SpanId::of(self.run, &format!("call {} {}", finished.effect, finished.attempt));
        let span = self.span(id, format!("chat {model}"), (call.began, event.at), attributes);
        Span { parent: Some(parent), kind: SpanKind::Client, error, ..span }
    }

    /// All attempts at one plan.
    fn plan(&self, event: &Event, finished: &Finished, began: Timestamp, error: Option<String>) -> Span {
        let agent = self.agent(event);
        let attributes = vec![("gen_ai.operation.name", json!("plan")), ("gen_ai.agent.name", json!(agent))];
        let id = plan_span(self.run, &finished.effect);
        let span = self.span(id, format!("plan {agent}"), (began, event.at), attributes);
        Span { parent: Some(self.around(event, &finished.effect)), error, ..span }
    }

    fn tool(&self, event: &Event, call: &EffectId, tool: &str, began: Timestamp, error: Option<String>) -> Span {
        let attributes = vec![
            ("gen_ai.operation.name", json!("execute_tool")),
            ("gen_ai.tool.name", json!(tool)),
            ("gen_ai.tool.type", json!("function")),
            ("gen_ai.tool.call.id", json!(call)),
        ];
        let id = SpanId::of(self.run, &format!("tool {call} {}", event.seq));
        let span = self.span(id, format!("execute_tool {tool}"), (began, event.at), attributes);
        Span { parent: Some(self.around(event, call)), error, ..span }
    }

    fn of_tree(&mut self, event: &Event, fact: &TreeFact) -> Vec<Span> {
        let Some(node) = event.node_id else { return Vec::new() };
        match fact {
            TreeFact::NodeCreated(_) => {
                let parent = event.parent_node_id;
                self.nodes.insert(node, Node { began: Some(event.at), generation: 1, parent, role: "node" });
                Vec::new()
            }
            TreeFact::NodeStatusChanged(changed) => {
                if let Some(node) = self.nodes.get_mut(&node) {
                    node.role = changed.role.name();
                }
                Vec::new()
            }
            TreeFact::NodeReopened(reopened) => {
                if let Some(node) = self.nodes.get_mut(&node) {
                    (node.began, node.generation) = (Some(event.at), reopened.generation);
                }
                Vec::new()
            }
            TreeFact::NodeCompleted(_) => self.node_ended(event, node, None),
            TreeFact::NodeFailed(_) => self.node_ended(event, node, Some("failed")),
            TreeFact::NodeCanceled(_) => self.node_ended(event, node, Some("canceled")),
            TreeFact::ToolCallRequested(asked) => self.tool_asked(event, &asked.call_id),
            TreeFact::ToolCallResult(result) => self.tool_answered(event, &result.call_id, &result.tool, result.ok),
            _ => Vec::new(),
        }
    }

    fn node_ended(&mut self, event: &Event, id: NodeId, error: Option<&str>) -> Vec<Span> {
        let Some(began) = self.nodes.get_mut(&id).and_then(|node| node.began.take()) else { return Vec::new() };
        let parent = self.nodes.get(&id).and_then(|node| node.parent).and_then(|parent| self.node_span(parent));
        let own = self.node_span(id).unwrap_or_else(|| self.run_span());
        let span = self.agent_span(own, self.agent(event), json!(id), (began, event.at));
        let parent = parent.unwrap_or_else(|| self.run_span());
        vec![Span { parent: Some(parent), error: error.map(str::to_owned), ..span }]
    }

    fn node_span(&self, id: NodeId) -> Option<SpanId> {
        let generation = self.nodes.get(&id)?.generation;
        Some(SpanId::of(self.run, &format!("node {id} {generation}")))
    }

    /// The agent name on a span: the node's role, or the kind of run. It has few values, so that spans can be grouped by it.
    fn agent(&self, event: &Event) -> &'static str {
        match event.node_id.and_then(|id| self.nodes.get(&id)) {
            Some(node) => node.role,
            None => self.kind,
        }
    }

    fn of_homework(&mut self, event: &Event, fact: &HomeworkFact) -> Vec<Span> {
        match fact {
            HomeworkFact::ToolCallRequested(asked) => self.tool_asked(event, &asked.call_id),
            HomeworkFact::ToolCallResult(result) => self.tool_answered(event, &result.call_id, &result.tool, result.ok),
            HomeworkFact::ExecutorStarted(started) => {
                self.executors.insert((started.iteration, started.index), event.at);
                Vec::new()
            }
            HomeworkFact::ExecutorFinished(finished) => {
                let place = (finished.iteration, finished.index);
                let Some(began) = self.executors.remove(&place) else { return Vec::new() };
                let own = executor_span(self.run, place);
                let span = self.agent_span(own, "executor", json!(finished.branch_id), (began, event.at));
                let error = (!finished.ok).then(|| "failed".into());
                vec![Span { parent: Some(self.run_span()), error, ..span }]
            }
            _ => Vec::new(),
        }
    }

    fn tool_asked(&mut self, event: &Event, call: &EffectId) -> Vec<Span> {
        self.tools.insert(call.clone(), event.at);
        Vec::new()
    }

    fn tool_answered(&mut self, event: &Event, call: &EffectId, tool: &str, ok: bool) -> Vec<Span> {
        let began = self.tools.remove(call);
        let error = (!ok).then(|| "tool_error".to_owned());
        began.map(|began| self.tool(event, call, tool, began, error)).into_iter().collect()
    }

    /// What a call is made within: its node, its executor, or the run.
    fn around(&self, event: &Event, effect: &EffectId) -> SpanId {
        let node = event.node_id.and_then(|id| self.node_span(id));
        let executor = || executor_of(effect).map(|place| executor_span(self.run, place));
        node.or_else(executor).unwrap_or_else(|| self.run_span())
    }
}

fn is_planner(role: &str) -> bool {
    role.ends_with("_planner")
}

fn plan_span(run: RunId, effect: &EffectId) -> SpanId {
    SpanId::of(run, &format!("plan {effect}"))
}

fn executor_span(run: RunId, (iteration, index): (u32, u32)) -> SpanId {
    SpanId::of(run, &format!("executor {iteration} {index}"))
}

/// Iteration and executor of `….i2.x0.r1`.
fn executor_of(effect: &EffectId) -> Option<(u32, u32)> {
    let number = |part: Option<&str>, prefix: char| part?.strip_prefix(prefix)?.parse().ok();
    let mut parts = effect.0.split('.').skip(1);
    Some((number(parts.next(), 'i')?, number(parts.next(), 'x')?))
}
