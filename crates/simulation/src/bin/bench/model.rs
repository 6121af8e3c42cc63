//! A model that answers at once, with about 320 bytes, so that a figure shows the cost of the product alone. It takes
//! the iteration from the effect id, so that it need not read the prompt.

use crate::meter::own_cpu;
use crate::tree::TreeShape;
use async_trait::async_trait;
use effects::performer::ModelPort;
use engine::effect::{CallError, ModelCall, ModelReply, Usage};
use engine::model::Role;
use engine::request::Speaker;
use serde_json::{Value, json};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

const PROSE: &str = "Early peas and radishes go in first; they stand a late frost and are out of the way by June. ";
const EXECUTORS: usize = 3;

/// The shape of a homework run by its number of calls: iterations of a planner and three executors, one iteration with
/// the remaining executors, the exit and the report.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub calls: usize,
    /// Planners also list the documents. That read must wait for the commit of what the plan changes.
    pub reading: bool,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape { calls: 16, reading: false }
    }
}

impl Shape {
    /// The fewest calls: a planner, an executor, the exit and the report.
    pub const FEWEST: usize = 4;

    pub fn name(self) -> String {
        format!("{} calls{}", self.calls, if self.reading { ", reading" } else { "" })
    }

    /// The number of executors in an iteration. `None` for the last iteration.
    fn executors(self, iteration: usize) -> Option<usize> {
        let working = self.calls - 2;
        let left = working.saturating_sub((iteration - 1) * (EXECUTORS + 1));
        (left > 0).then(|| (left - 1).min(EXECUTORS))
    }
}

/// The kind and shape of the runs that are measured.
#[derive(Clone, Debug)]
pub enum Workload {
    Homework(Shape),
    Tree(TreeShape),
}

impl Workload {
    pub fn name(&self) -> String {
        match self {
            Workload::Homework(shape) => shape.name(),
            Workload::Tree(shape) => shape.name(),
        }
    }

    pub fn calls(&self) -> usize {
        match self {
            Workload::Homework(shape) => shape.calls,
            Workload::Tree(shape) => shape.calls(),
        }
    }

    pub fn nodes(&self) -> usize {
        match self {
            Workload::Homework(shape) => shape.calls,
            Workload::Tree(shape) => shape.nodes(),
        }
    }
}

pub struct InstantModel {
    workload: Workload,
    pub calls: AtomicUsize,
    first_call: OnceLock<f64>,
}

impl InstantModel {
    pub fn new(workload: Workload) -> InstantModel {
        InstantModel { workload, calls: AtomicUsize::new(0), first_call: OnceLock::new() }
    }

    pub fn workload(&self) -> &Workload {
        &self.workload
    }

    /// Processor time in seconds that this process had used at the first model call.
    pub fn first_call(&self) -> Option<f64> {
        self.first_call.get().copied()
    }
}

impl Shape {
    fn answer(self, role: Role, key: &str) -> Value {
        match role {
            Role::HomeworkPlanner => self.planner(iteration_of(key)),
            Role::HomeworkExecutor => executor(key),
            Role::HomeworkReport => {
                json!({"title": "The beds", "summary": PROSE, "findings": [PROSE, PROSE], "not_done": []})
            }
            _ => json!({"corrected_calls": []}),
        }
    }

    fn planner(self, iteration: usize) -> Value {
        let executors = self.executors(iteration);
        let status = if executors.is_some() { "doing" } else { "done" };
        let steps: Vec<Value> =
            (0..EXECUTORS).map(|index| json!({"id": format!("s{index}"), "title": "Bed", "status": status})).collect();
        let tasks: Vec<Value> = (0..executors.unwrap_or(0)).map(|index| task(iteration, index)).collect();
        let mut calls = Vec::new();
        if self.reading && executors.is_some() {
            calls.push(json!({"tool": "list_documents", "arguments": {}}));
        }
        // An iteration without executors must create something, or it counts as one without progress.
        if executors == Some(0) {
            calls.push(json!({"tool": "create_document", "arguments": {"title": format!("Beds {iteration}"), "content": PROSE}}));
        }
        json!({
            "progress_summary": format!("Iteration {iteration}. {PROSE}"),
            "plan": {"steps": steps},
            "executor_tasks": tasks,
            "tool_calls": calls,
            "remaining_work": if executors.is_some() { vec!["the other beds"] } else { vec![] },
            "exit_signal": executors.is_none(),
        })
    }
}

fn task(iteration: usize, index: usize) -> Value {
    json!({"branch_id": format!("b{index}"), "step_id": format!("s{index}"), "title": format!("Bed {iteration}.{index}"),
        "objective": "Say what grows there.", "tools": ["create_document"]})
}

fn executor(effect: &str) -> Value {
    json!({
        "thought": "write it down", "done": true, "summary": "Written.", "completed_step_ids": [],
        "tool_calls": [{"tool": "create_document", "arguments": {"title": format!("Bed {effect}"), "content": format!("{effect}: {PROSE}")}}],
    })
}

/// The key is `<tag>.i<iteration>.<place>:<attempt>`.
fn iteration_of(key: &str) -> usize {
    key.split('.').nth(1).and_then(|part| part.strip_prefix('i')?.parse().ok()).unwrap_or(1)
}

#[async_trait]
impl ModelPort for InstantModel {
    async fn call(
        &self,
        call: &ModelCall,
        messages: Vec<(Speaker, String)>,
        key: &str,
        _on_delta: Option<effects::model::OnDelta<'_>>,
    ) -> Result<ModelReply, CallError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.first_call.get_or_init(own_cpu);
        let answer = match &self.workload {
            Workload::Homework(shape) => shape.answer(call.role, key),
            Workload::Tree(shape) => shape.answer(call.role, &messages),
        };
        let text = answer.to_string();
        let input = messages.iter().map(|(_, text)| text.len() as u64 / 4).sum();
        let usage = Usage { input, cached: 0, output: text.len() as u64 / 4, estimated: false };
        Ok(ModelReply { text, usage, truncated: false, provider_request_id: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_has_as_many_calls_as_it_says() {
        for calls in Shape::FEWEST..200 {
            let shape = Shape { calls, reading: false };
            let planned: usize =
                (1..).map_while(|iteration| shape.executors(iteration)).map(|executors| executors + 1).sum();
            assert_eq!(planned + 2, calls);
        }
    }

    #[test]
    fn the_iteration_is_in_the_key() {
        assert_eq!(iteration_of("9f3c00112233.i12.x0.r1:1"), 12);
    }
}
