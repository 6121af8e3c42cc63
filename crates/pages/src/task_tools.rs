//! The tools of a task run: open a page, take an action on a page, read and write the subagent's scratchpad. It only reads
//! the library: what a tool changes is returned, and commits with its result. It must not know HTTP.

use crate::{Cause, Page, PagePath, Pages, Reader};
use async_trait::async_trait;
use effects::tools::{Registry, TaskTools};
use engine::effect::{EffectId, RunContext, ToolCall, ToolOutcome, ToolOutput};
use engine::task::{OPEN_PAGE, READ_SCRATCHPAD, WRITE_SCRATCHPAD};
use engine::workspace::{Mutation, Scope};
use runtime::agents::AgentRecord;
use runtime::ports::{Library, StoreError};
use serde_json::{Value, json};
use std::sync::Arc;

/// The longest part of a page that one step sees, in characters.
const MAX_PAGE_CHARS: usize = 24_000;

/// Carries out task tools on pages.
pub struct PageTools {
    store: Arc<dyn Library>,
    registry: Registry,
}

impl PageTools {
    pub fn new(store: Arc<dyn Library>) -> PageTools {
        PageTools { store, registry: Registry::builtin() }
    }
}

#[async_trait]
impl TaskTools for PageTools {
    /// Reads the subagent and its grants at every call, since they may change during the run.
    async fn call(&self, run: &RunContext, call: &ToolCall, effect: &EffectId) -> Result<ToolOutcome, StoreError> {
        let store = &*self.store;
        let (agent, owner) = match (&run.scope, &call.agent) {
            (Scope::OnBehalf { agent, owner }, _) | (Scope::Within(owner, _), Some(agent)) => (*agent, *owner),
            _ => return Ok(ToolOutcome::refused("only the task run of a subagent can use pages")),
        };
        let Some(agent) = store.agent(&agent.to_string()).await?.filter(|known| known.owner == owner) else {
            return Ok(ToolOutcome::refused("this subagent no longer exists"));
        };
        match call.tool.as_str() {
            READ_SCRATCHPAD => read(store, &agent).await,
            WRITE_SCRATCHPAD => write(store, &agent, &call.arguments).await,
            _ => {
                let reader = Reader::agent(agent);
                step(&Pages { store, registry: &self.registry, reader: &reader }, run, call, effect).await
            }
        }
    }
}

async fn step(
    pages: &Pages<'_>,
    run: &RunContext,
    call: &ToolCall,
    effect: &EffectId,
) -> Result<ToolOutcome, StoreError> {
    let path = call.arguments["path"].as_str().unwrap_or_default();
    if call.tool == OPEN_PAGE {
        let page = pages.open(path).await?;
        let summary = page.title.clone();
        return Ok(outcome(&page, summary, true, Vec::new()));
    }
    let name = call.arguments["action"].as_str().unwrap_or_default();
    let Some(path) = PagePath::parse(path) else {
        let not_found = pages.open(path).await?;
        return Ok(outcome(&not_found, String::new(), false, Vec::new()));
    };
    let (subject, name) = match path {
        PagePath::Action(subject, named) if name.is_empty() || name == named => (subject, named),
        path => (path.subject(), name.to_owned()),
    };
    let cause = Cause { run_id: run.run_id, effect, props: call.props.clone(), now: run.now };
    let result = pages.execute(subject, &name, &call.arguments["params"], &cause).await?;
    let summary = format!("{name} at {subject}");
    Ok(outcome(&result.page, summary, result.mutations.is_empty(), result.mutations))
}

/// The error comes first, since users are shown only the beginning.
fn outcome(page: &Page, summary: String, read: bool, mutations: Vec<Mutation>) -> ToolOutcome {
    match page.is_ok() {
        true => {
            let content = cut(&page.markdown()).into();
            ToolOutcome { result: Ok(ToolOutput { content, summary, read }), mutations }
        }
        false => {
            let error = page.facts.iter().find(|(name, _)| *name == "error").and_then(|(_, error)| error.as_str());
            ToolOutcome::refused(cut(&format!(
                "{} {}: {}\n\n{}",
                page.status,
                page.title,
                error.unwrap_or_default(),
                page.markdown()
            )))
        }
    }
}

/// Says how much is left out.
fn cut(text: &str) -> String {
    let characters = text.chars().count();
    if characters <= MAX_PAGE_CHARS {
        return text.to_owned();
    }
    let marker = format!("\n\n[cut here: {MAX_PAGE_CHARS} of {characters} characters are shown]");
    let room = MAX_PAGE_CHARS - marker.chars().count();
    text.chars().take(room).chain(marker.chars()).collect()
}

async fn read(store: &dyn Library, agent: &AgentRecord) -> Result<ToolOutcome, StoreError> {
    let pad = store.scratchpad(agent.id).await?;
    let (version, content) = pad.map_or((0, String::new()), |pad| (pad.version, pad.content));
    let output = ToolOutput {
        content: json!({"version": version, "content": content}),
        summary: format!("scratchpad, version {version}"),
        read: true,
    };
    Ok(ToolOutcome { result: Ok(output), mutations: Vec::new() })
}

/// Stores the scratchpad of a reflection, unless it was changed meanwhile.
async fn write(store: &dyn Library, agent: &AgentRecord, arguments: &Value) -> Result<ToolOutcome, StoreError> {
    let based_on = arguments["version"].as_i64().unwrap_or_default();
    let content = arguments["content"].as_str().unwrap_or_default().to_owned();
    let current = store.scratchpad(agent.id).await?.map_or(0, |pad| pad.version);
    if current != based_on {
        return Ok(ToolOutcome::refused(format!(
            "the scratchpad was changed meanwhile: the reflection is based on version {based_on}, and the current version is {current}; nothing was changed"
        )));
    }
    let output = ToolOutput {
        content: json!({"version": based_on + 1}),
        summary: format!("scratchpad stored: {} characters", content.chars().count()),
        read: false,
    };
    let write = Mutation::WriteScratchpad { agent: agent.id, content, based_on, step: None };
    Ok(ToolOutcome { result: Ok(output), mutations: vec![write] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_was_cut_says_how_much_is_shown() {
        assert_eq!(cut("short"), "short");
        let long = cut(&"ä".repeat(30_000));
        assert_eq!(long.chars().count(), MAX_PAGE_CHARS);
        assert!(long.ends_with("[cut here: 24000 of 30000 characters are shown]"), "{}", &long[long.len() - 80..]);
    }
}
