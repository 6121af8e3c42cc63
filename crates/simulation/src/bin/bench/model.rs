//! A model that costs nothing and answers at once, about 320 bytes each time: whatever a figure shows is the product.
//! The effect's id says which part of the play is asked for, so no prompt needs to be read.

use crate::meter::own_cpu;
use crate::tree::Fans;
use async_trait::async_trait;
use effects::performer::ModelPort;
use engine::effect::{CallError, ModelCall, ModelReply, Usage};
use engine::model::Role;
use engine::request::Speaker;
use serde_json::{Value, json};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

pub const PROSE: &str = "Early peas and radishes go in first; they stand a late frost and are out of the way by June. ";
const EXECUTORS: usize = 3;

/// How many calls a run makes: iterations of a planner and three executors, one with the rest, an exit and a report.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub calls: usize,
    /// Planners also list the documents, which must wait for what the plan changes.
    pub reading: bool,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape { calls: 16, reading: false }
    }
}

impl Shape {
    /// One planner with an executor, the exit, the report.
    pub const FEWEST: usize = 4;

    pub fn name(self) -> String {
        format!("{} calls{}", self.calls, if self.reading { ", reading" } else { "" })
    }

    /// Executors of an iteration; `None` when it is the last.
    fn executors(self, iteration: usize) -> Option<usize> {
        let working = self.calls - 2;
        let left = working.saturating_sub((iteration - 1) * (EXECUTORS + 1));
        (left > 0).then(|| (left - 1).min(EXECUTORS))
    }
}

/// What is played.
#[derive(Clone, Debug)]
pub enum Play {
    Homework(Shape),
    Tree(Fans),
}

impl Play {
    pub fn name(&self) -> String {
        match self {
            Play::Homework(shape) => shape.name(),
            Play::Tree(fans) => fans.name(),
        }
    }

    pub fn calls(&self) -> usize {
        match self {
            Play::Homework(shape) => shape.calls,
            Play::Tree(fans) => fans.calls(),
        }
    }

    pub fn nodes(&self) -> usize {
        match self {
            Play::Homework(shape) => shape.calls,
            Play::Tree(fans) => fans.nodes(),
        }
    }
}

pub struct Instant {
    play: Play,
    pub calls: AtomicUsize,
    first_call: OnceLock<f64>,
}

impl Instant {
    pub fn new(play: Play) -> Instant {
        Instant { play, calls: AtomicUsize::new(0), first_call: OnceLock::new() }
    }

    pub fn play(&self) -> &Play {
        &self.play
    }

    /// Processor seconds this process had used when it was first asked.
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
        // An iteration without executors must show something for itself.
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

/// `<tag>.i<iteration>.<place>:<attempt>`
fn iteration_of(key: &str) -> usize {
    key.split('.').nth(1).and_then(|part| part.strip_prefix('i')?.parse().ok()).unwrap_or(1)
}

#[async_trait]
impl ModelPort for Instant {
    async fn call(
        &self,
        call: &ModelCall,
        messages: Vec<(Speaker, String)>,
        key: &str,
        _on_delta: Option<effects::model::OnDelta<'_>>,
    ) -> Result<ModelReply, CallError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.first_call.get_or_init(own_cpu);
        let answer = match &self.play {
            Play::Homework(shape) => shape.answer(call.role, key),
            Play::Tree(fans) => fans.answer(call.role, &messages),
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
