//! What a subagent does to its own memory.

use super::arguments::{Arguments, Kind, required};
use super::reach::Reach;
use super::{Action, Done, Refused};
use engine::effect::Class;
use engine::task::SCRATCHPAD_CHARACTERS;
use engine::workspace::{Mutation, Scope};
use serde_json::json;

pub const UPDATE_SCRATCHPAD: &str = "update_scratchpad";

pub const ACTIONS: &[Action] = &[Action {
    name: UPDATE_SCRATCHPAD,
    description: "Replace your scratchpad with notes for your future self (at most 10,000 characters; empty clears it).",
    class: Class::Idempotent,
    fields: &[required(
        "content",
        Kind::Text { max: SCRATCHPAD_CHARACTERS },
        "The whole new text. What is there now is replaced.",
    )],
    handler: |reach, arguments| Box::pin(update(reach, arguments)),
}];

async fn update(reach: &Reach<'_>, arguments: &Arguments) -> Result<Done, Refused> {
    let Scope::OnBehalf { agent, .. } = reach.scope else {
        return Err(Refused::Request("only subagents have a scratchpad".into()));
    };
    let content = arguments.required_text("content").to_owned();
    let current = reach.library.scratchpad(*agent).await?;
    let (version, text) = current.map_or((0, String::new()), |pad| (pad.version, pad.content));
    let characters = content.chars().count();
    if content == text {
        let content = json!({"version": version, "characters": characters, "unchanged": true});
        return Ok(Done::settled(content, "the scratchpad already says that".into()));
    }
    let step = reach.stamp()["step"].as_u64().and_then(|step| u32::try_from(step).ok());
    Ok(Done::changed(
        json!({"version": version + 1, "characters": characters}),
        format!("scratchpad updated: {characters} of {SCRATCHPAD_CHARACTERS} characters"),
        vec![Mutation::WriteScratchpad { agent: *agent, content, based_on: version, step }],
    ))
}
