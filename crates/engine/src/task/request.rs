//! Builds a subagent's requests: its task, the pages it has seen, and the page it is on.

use super::state::{State, Step};
use super::{OPEN_PAGE, PAGE_ACTION, READ_SCRATCHPAD, WRITE_SCRATCHPAD};
use crate::effect::ToolCall;
use crate::prompt::{self, Quote, Sections};
use crate::run::{Kind, Shared};
use crate::workspace::Artifacts;
use serde_json::{Value, json};

/// How many of the newest pages are shown in full; of older steps only one line and the path are shown.
const SHOWN_PAGES: usize = 3;

impl State {
    /// A call of a built-in tool. Its properties mark everything that the step creates.
    pub(super) fn tool(&self, shared: &Shared, tool: &str, arguments: Value) -> ToolCall {
        let mut props = json!({ Kind::Task.run_key(): shared.id });
        if let Some(step) = self.open_step() {
            props["step"] = step.step.into();
        }
        ToolCall {
            tool: tool.into(),
            arguments,
            granted: [OPEN_PAGE, PAGE_ACTION, READ_SCRATCHPAD, WRITE_SCRATCHPAD].map(str::to_owned).to_vec(),
            home_document: None,
            props,
            external: None,
            answered: None,
            agent: None,
        }
    }

    pub(super) fn step_request(&self, shared: &Shared) -> Sections {
        let mut out = Sections::default();
        self.who_and_what(shared, &mut out);
        out.add("page", &self.page);
        out.add("steps_left", self.max_steps.saturating_sub(self.acted));
        out.newest("messages", &prompt::messages(shared.messages.iter(), |message| !message.delivered));
        self.conversation(&mut out);
        out
    }

    pub(super) fn reflection_request(&self, shared: &Shared) -> Sections {
        let mut out = Sections::default();
        self.who_and_what(shared, &mut out);
        if let Some(closing) = &self.closing {
            out.add("outcome", closing.ending.words());
            out.add("summary", &closing.message);
        }
        out.add("step_count", self.actions());
        if let Some((version, content)) = self.pad {
            let frame = json!({ "version": version });
            out.share(4).quoted(
                "scratchpad",
                vec![Quote { frame, field: "content", content: Some(content), limit: content.bytes }],
            );
        }
        self.conversation(&mut out);
        out
    }

    fn who_and_what(&self, shared: &Shared, out: &mut Sections) {
        out.add("task", &shared.brief.objective);
        if let Some(agent) = &shared.brief.agent {
            out.add("you", json!({ "handle": agent.handle, "identity": agent.identity }));
        }
    }

    /// Every step with what was chosen; the newest with what came of it, older ones without.
    fn conversation(&self, out: &mut Sections) {
        let first_shown = self.steps.len().saturating_sub(SHOWN_PAGES);
        let quote = |(index, step): (usize, &Step)| {
            let mut frame = step.frame();
            let shown = step.result.as_ref().filter(|_| index >= first_shown);
            if let (Some(result), None) = (&step.result, shown) {
                frame["came_of_it"] = result.summary.as_str().into();
                let made = places(&result.artifacts);
                if !made.is_empty() {
                    frame["made"] = made.into();
                }
            }
            Quote {
                frame,
                field: if shown.is_some_and(|result| !result.ok) { "error" } else { "result" },
                content: shown.map(|result| result.content),
                // The page was already cut to its limit when it was opened.
                limit: shown.map_or(0, |result| result.content.bytes),
            }
        };
        out.share(8).quoted("steps", self.steps.iter().enumerate().map(quote).collect());
    }
}

/// The pages of what a step made.
fn places(artifacts: &Artifacts) -> Vec<String> {
    let documents = artifacts.created_documents.iter().map(|made| format!("/documents/{}", made.id));
    documents.chain(artifacts.created_tasks.iter().map(|made| format!("/tasks/{}", made.id))).collect()
}

impl Step {
    pub(super) fn tool(&self) -> &'static str {
        match self.action {
            crate::facts::task::StepAction::Execute => PAGE_ACTION,
            _ => OPEN_PAGE,
        }
    }

    pub(super) fn arguments(&self) -> Value {
        match self.tool() {
            PAGE_ACTION => json!({ "path": self.path, "action": self.action_name, "params": self.params }),
            _ => json!({ "path": self.path }),
        }
    }

    /// One line for people.
    pub fn headline(&self) -> String {
        let position = self.path.as_deref().unwrap_or_default();
        match &self.action_name {
            Some(action) => format!("{action} at {position}"),
            None => position.to_owned(),
        }
    }

    fn frame(&self) -> Value {
        let mut frame = json!({ "step": self.step, "action": self.action });
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value.filter(|value| !value.is_null()) {
                frame[key] = value;
            }
        };
        put("path", self.path.clone().map(Value::from));
        put("action_name", self.action_name.clone().map(Value::from));
        put("params", Some(self.params.clone()));
        put("message", self.message.clone().map(Value::from));
        put("thought", self.thought.clone().map(Value::from));
        put("ok", self.result.as_ref().map(|result| Value::from(result.ok)));
        frame
    }
}
