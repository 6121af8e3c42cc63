//! The built-in tools: one registry of actions with their schemas, the same names everywhere.
//!
//! A tool reads through `Library` within the run's scope as it is at the moment of the call, and *returns* its changes: they
//! commit together with its outcome. It never writes, and no input makes it panic.

mod agent_scope;
mod approval;
mod arguments;
mod documents;
mod files;
mod hosts;
mod links;
mod memory;
mod projects;
mod props;
mod schema;
mod search;
mod task_tools;
mod tasks;
mod tool_context;
mod toolbox;
mod web;
mod write_permission;

pub use agent_scope::agent_scope;
pub use files::Files;
pub use hosts::Hosts;
pub use schema::schema_violations;
pub use task_tools::{TaskTools, is_task_tool};
pub use toolbox::{Approval, MAX_STORED_RESULT_CHARS, OfferedTool, OfferedTools, Toolbox, Toolboxes, answered};
pub use web::Web;
pub(crate) use web::read_page;
pub use write_permission::VIEWER_ONLY;

use arguments::{Arguments, Field, list};
use engine::effect::{EffectId, RepeatSafety, RunContext, ToolCall, ToolOutcome, ToolOutput, ToolSpec};
use engine::workspace::Mutation;
use futures::future::BoxFuture;
use runtime::ports::{Library, StoreError};
use serde_json::Value;
use tool_context::ToolContext;

/// Who may take an action. Where it may be taken is always decided by the scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authorization {
    /// Everybody who may see what it reads.
    Everybody,
    /// People, and subagents that were granted it.
    PeopleAndGrantedSubagents,
    /// Subagents, without a grant.
    SubagentsOnly,
}

/// What an action changes. Everything else that callers must know of it follows from this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Changes {
    /// It only reads.
    Nothing,
    /// It creates a project, which is possible only where all projects may be used.
    NewProject,
    /// It creates a document or a task.
    NewItem,
    /// It links two things that exist.
    NewEdge,
    /// It changes or removes something that exists.
    Existing,
    /// It changes the memory of the subagent that takes it.
    OwnMemory,
}

/// One entry of the registry. A model is offered it as a tool, a page as a `PageAction`, and other programs as an MCP tool.
#[derive(Clone, Copy, Debug)]
pub struct Action {
    pub name: &'static str,
    pub description: &'static str,
    changes: Changes,
    fields: &'static [Field],
    handler: Handler,
}

type Handler = for<'a> fn(&'a ToolContext<'a>, &'a Arguments) -> BoxFuture<'a, Result<ActionOutput, ActionError>>;

impl Action {
    /// The JSON schema of its arguments.
    pub fn schema(&self) -> Value {
        arguments::schema(self.fields)
    }

    pub fn is_read(&self) -> bool {
        self.changes == Changes::Nothing
    }

    /// Shown to callers only: a run carries out every built-in tool inline.
    pub fn class(&self) -> RepeatSafety {
        if self.is_read() { RepeatSafety::ReadOnly } else { RepeatSafety::Idempotent }
    }

    /// Whether it only creates, so that it need not see what calls before it changed.
    pub(crate) fn only_creates(&self) -> bool {
        matches!(self.changes, Changes::NewProject | Changes::NewItem)
    }

    /// Whether it changes something that existed before, instead of only adding.
    pub fn changes_existing(&self) -> bool {
        matches!(self.changes, Changes::Existing | Changes::OwnMemory)
    }

    /// Whether it is always refused to a caller that may use only some projects.
    pub fn needs_all_projects(&self) -> bool {
        self.changes == Changes::NewProject
    }

    pub fn authorization(&self) -> Authorization {
        match self.changes {
            Changes::Nothing => Authorization::Everybody,
            Changes::NewProject | Changes::NewItem | Changes::NewEdge | Changes::Existing => {
                Authorization::PeopleAndGrantedSubagents
            }
            Changes::OwnMemory => Authorization::SubagentsOnly,
        }
    }

    /// The names and the schema of its arguments, without those that the caller fixes.
    pub fn without(&self, fixed: &[&str]) -> (String, Value) {
        let open: Vec<Field> = self.fields.iter().filter(|field| !fixed.contains(&field.name)).copied().collect();
        (arguments::names(&open), arguments::schema(&open))
    }

    async fn carry_out(&self, context: &ToolContext<'_>) -> Result<ActionOutput, ActionError> {
        let arguments = Arguments::check(self.fields, context.arguments())?;
        (self.handler)(context, &arguments).await
    }
}

/// What an action returns: its answer, and the changes to commit.
struct ActionOutput {
    content: Value,
    summary: String,
    mutations: Vec<Mutation>,
    /// Something was read that counts as progress when it is new.
    read: bool,
}

impl ActionOutput {
    fn read(content: Value, summary: String) -> ActionOutput {
        ActionOutput { content, summary, mutations: Vec::new(), read: true }
    }

    fn changed(content: Value, summary: String, mutations: Vec<Mutation>) -> ActionOutput {
        ActionOutput { content, summary, mutations, read: false }
    }

    /// Nothing was changed, and nothing new can have been learned.
    fn unchanged(content: Value, summary: String) -> ActionOutput {
        ActionOutput::changed(content, summary, Vec::new())
    }
}

/// Why an action was not carried out.
pub enum ActionError {
    /// The caller's request was refused; the text says why and what is valid.
    Refused(String),
    /// The store did not answer, so the call is made again.
    Store(StoreError),
}

impl From<String> for ActionError {
    fn from(reason: String) -> Self {
        ActionError::Refused(reason)
    }
}

fn refuse<T>(reason: impl Into<String>) -> Result<T, ActionError> {
    Err(ActionError::Refused(reason.into()))
}

impl From<StoreError> for ActionError {
    fn from(error: StoreError) -> Self {
        ActionError::Store(error)
    }
}

/// Every built-in action.
pub struct Registry {
    actions: Vec<Action>,
}

impl Registry {
    pub fn builtin() -> Registry {
        let families =
            [projects::ACTIONS, documents::ACTIONS, tasks::ACTIONS, links::ACTIONS, search::ACTIONS, memory::ACTIONS];
        Registry { actions: families.concat() }
    }

    pub fn list(&self) -> &[Action] {
        &self.actions
    }

    pub fn find(&self, name: &str) -> Option<&Action> {
        self.actions.iter().find(|action| action.name == name)
    }

    /// Every action that runs may be given, as a prompt shows it.
    pub fn catalogue(&self) -> Vec<ToolSpec> {
        let spec = |action: &Action| ToolSpec {
            name: action.name.into(),
            arguments: arguments::names(action.fields),
            description: action.description.into(),
            read: action.is_read(),
            external: None,
        };
        let general = self.actions.iter().filter(|action| action.authorization() != Authorization::SubagentsOnly);
        general.map(spec).collect()
    }

    /// Carries out one call. An invalid call returns an error result that lists what is valid. An error of the store is no
    /// result: the call has to be made again.
    pub async fn call(
        &self,
        library: &dyn Library,
        run: &RunContext,
        call: &ToolCall,
        effect: &EffectId,
    ) -> Result<ToolOutcome, StoreError> {
        let output = match self.granted(call) {
            Ok(action) => {
                let context = ToolContext::new(library, run, call, effect);
                match action.carry_out(&context).await {
                    Ok(output) => write_permission::check(&context, &output.mutations).await.map(|()| output),
                    refused => refused,
                }
            }
            Err(refused) => Err(refused),
        };
        match output {
            Ok(ActionOutput { content, summary, mutations, read }) => {
                Ok(ToolOutcome { result: Ok(ToolOutput { content, summary: one_line(&summary), read }), mutations })
            }
            Err(ActionError::Refused(reason)) => Ok(ToolOutcome::refused(reason)),
            Err(ActionError::Store(error)) => Err(error),
        }
    }

    fn granted(&self, call: &ToolCall) -> Result<&Action, ActionError> {
        let is_granted = |name: &str| call.granted.iter().any(|granted| granted == name);
        let built_in = || self.actions.iter().map(|action| action.name).filter(|name| is_granted(name));
        let others = || call.granted.iter().map(String::as_str).filter(|name| self.find(name).is_none());
        let valid = || list(built_in().chain(others()));
        let asked: String = call.tool.chars().take(80).collect();
        match self.find(&call.tool) {
            Some(action) if is_granted(action.name) => Ok(action),
            Some(_) => {
                refuse(format!("tool_not_granted: {asked} was not given to this caller; granted tools: {}", valid()))
            }
            None => refuse(format!("unknown_tool: there is no tool {asked:?}; valid tools: {}", valid())),
        }
    }
}

/// At most 200 characters without line breaks, for the journal.
fn one_line(text: &str) -> String {
    const MAX_SUMMARY_CHARS: usize = 200;
    let line = engine::lines::one_line(text);
    match line.char_indices().nth(MAX_SUMMARY_CHARS) {
        None => line,
        Some(_) => line.chars().take(MAX_SUMMARY_CHARS - 1).chain(['…']).collect(),
    }
}
