//! The port for the tools of a task run. They act on pages, and pages offer the registry's actions, so the `pages` crate carries
//! them out. This crate only knows which calls those are.

use async_trait::async_trait;
use engine::effect::{EffectId, RunContext, ToolCall, ToolOutcome};
use engine::task::{OPEN_PAGE, PAGE_ACTION, READ_SCRATCHPAD, WRITE_SCRATCHPAD};
use runtime::ports::StoreError;

/// Carries out the tools that only task runs are granted.
#[async_trait]
pub trait TaskTools: Send + Sync + 'static {
    async fn call(&self, run: &RunContext, call: &ToolCall, effect: &EffectId) -> Result<ToolOutcome, StoreError>;
}

/// Whether the call is for `TaskTools`: by its name, and granted to this caller.
pub fn is_task_tool(call: &ToolCall) -> bool {
    let is_named = [OPEN_PAGE, PAGE_ACTION, READ_SCRATCHPAD, WRITE_SCRATCHPAD].contains(&call.tool.as_str());
    is_named && call.granted.contains(&call.tool)
}
