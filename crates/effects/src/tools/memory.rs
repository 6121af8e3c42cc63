//! The actions by which a subagent changes its own memory: its scratchpad, and lessons from a run.

use super::arguments::{ArgumentType, Arguments, required};
use super::tool_context::ToolContext;
use super::{Action, ActionError, ActionOutput, Changes, refuse};
use engine::ids::LessonId;
use engine::lessons::{self, ADD_LESSON, LessonStatus};
use engine::task::MAX_SCRATCHPAD_CHARS;
use engine::workspace::{Mutation, Scope};
use serde_json::json;

pub(super) const ACTIONS: &[Action] = &[
    Action {
        name: "update_scratchpad",
        description: "Replace your scratchpad with notes for your future self (at most 10,000 characters; empty clears it).",
        changes: Changes::OwnMemory,
        fields: &[required(
            "content",
            ArgumentType::Text { max: MAX_SCRATCHPAD_CHARS },
            "The whole new text. What is there now is replaced.",
        )],
        handler: |context, arguments| Box::pin(update(context, arguments)),
    },
    Action {
        name: ADD_LESSON,
        description: lessons::DESCRIPTION,
        changes: Changes::OwnMemory,
        fields: &[required(
            "text",
            ArgumentType::Line { max: lessons::MAX_LESSON_CHARS },
            "One or two sentences: the fact, and where you know it from.",
        )],
        handler: |context, arguments| Box::pin(add_lesson(context, arguments)),
    },
];

async fn update(context: &ToolContext<'_>, arguments: &Arguments) -> Result<ActionOutput, ActionError> {
    let Scope::OnBehalf { agent, .. } = context.scope else {
        return refuse("only subagents have a scratchpad");
    };
    let content = arguments.required_text("content").to_owned();
    let current = context.library.scratchpad(*agent).await?;
    let (version, text) = current.map_or((0, String::new()), |pad| (pad.version, pad.content));
    let characters = content.chars().count();
    if content == text {
        let content = json!({"version": version, "characters": characters, "unchanged": true});
        return Ok(ActionOutput::unchanged(content, "the scratchpad has this text already".into()));
    }
    let step = context.stamp()["step"].as_u64().and_then(|step| u32::try_from(step).ok());
    Ok(ActionOutput::changed(
        json!({"version": version + 1, "characters": characters}),
        format!("scratchpad updated: {characters} of {MAX_SCRATCHPAD_CHARS} characters"),
        vec![Mutation::WriteScratchpad { agent: *agent, content, based_on: version, step }],
    ))
}

/// Only for a subagent that works on a part of a run. A task run reflects at its end instead.
async fn add_lesson(context: &ToolContext<'_>, arguments: &Arguments) -> Result<ActionOutput, ActionError> {
    let Some(agent) = context.agent() else {
        return refuse("only a subagent that works on a part of a run can add lessons");
    };
    let text = engine::lines::one_line(arguments.required_text("text"));
    let id: LessonId = context.mint(0);
    let stamp = context.stamp();
    let lesson = Mutation::AddLesson {
        id,
        agent,
        iteration: stamp["iteration"].as_u64().and_then(|iteration| u32::try_from(iteration).ok()),
        branch_id: stamp["branch_id"].as_str().map(str::to_owned),
        node_id: stamp["tree_agent_node_id"].as_str().and_then(|node| node.parse().ok()),
        text,
    };
    let content = json!({"lesson_id": id, "status": LessonStatus::Pending});
    Ok(ActionOutput::changed(content, "a lesson was stored and is pending review".into(), vec![lesson]))
}
