//! The built-in tools: one registry of actions with their schemas, the same names everywhere.
//!
//! A tool reads through `Library` with the run's scope, evaluated when it is called, and *returns* the
//! changes it wants; they commit with its outcome. It never writes, and no input makes it panic.

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

pub use agent_scope::{Denied, agent_scope};
pub use files::Files;
pub use hosts::Hosts;
pub use schema::schema_violations;
pub use task_tools::{TaskTools, is_task_tool};
pub use toolbox::{Approval, LONGEST_RESULT, Offer, Offers, Toolbox, Toolboxes, output};
pub use web::Web;
pub(crate) use web::read_page;
pub use write_permission::VIEWER_ONLY;

use arguments::{Arguments, Field, list};
use engine::effect::{Class, EffectId, RunContext, ToolCall, ToolOutcome, ToolOutput, ToolSpec, only_creates};
use engine::workspace::Mutation;
use futures::future::BoxFuture;
use runtime::ports::{Library, StoreError};
use serde_json::Value;
use tool_context::ToolContext;

/// Who may do it. Where it is done is judged by the scope, always.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authorization {
    /// Whoever may see what it reads.
    Reading,
    /// A person; a subagent that was granted it.
    Granted,
    /// A subagent, to itself.
    Own,
}

/// One thing a model, a person or another program may ask for.
#[derive(Clone, Copy)]
pub struct Action {
    pub name: &'static str,
    pub description: &'static str,
    /// For those who show it; a run carries every built-in tool out inline.
    pub class: Class,
    fields: &'static [Field],
    handler: Handler,
}

type Handler = for<'a> fn(&'a ToolContext<'a>, &'a Arguments) -> BoxFuture<'a, Result<Done, Refused>>;

impl Action {
    /// The JSON schema of its arguments.
    pub fn schema(&self) -> Value {
        arguments::schema(self.fields)
    }

    pub fn is_read(&self) -> bool {
        self.class == Class::ReadOnly
    }

    /// What it changes was there before, and is then no more what it was.
    pub fn alters(&self) -> bool {
        !self.is_read() && !only_creates(self.name) && self.name != "link_entities"
    }

    pub fn authorization(&self) -> Authorization {
        match self.class {
            _ if memory::is_own(self.name) => Authorization::Own,
            Class::ReadOnly => Authorization::Reading,
            Class::Idempotent | Class::Once => Authorization::Granted,
        }
    }

    /// The names and the schema of its arguments, some of which are given elsewhere.
    pub fn without(&self, given: &[&str]) -> (String, Value) {
        let asked: Vec<Field> = self.fields.iter().filter(|field| !given.contains(&field.name)).copied().collect();
        (arguments::names(&asked), arguments::schema(&asked))
    }

    async fn carry_out(&self, context: &ToolContext<'_>) -> Result<Done, Refused> {
        let arguments = Arguments::check(self.fields, context.arguments())?;
        (self.handler)(context, &arguments).await
    }
}

/// What an action came to: the answer, and the changes it asks for.
struct Done {
    content: Value,
    summary: String,
    mutations: Vec<Mutation>,
    /// Something of the world was read; may count as progress when it is new.
    read: bool,
}

impl Done {
    fn read(content: Value, summary: String) -> Done {
        Done { content, summary, mutations: Vec::new(), read: true }
    }

    fn changed(content: Value, summary: String, mutations: Vec<Mutation>) -> Done {
        Done { content, summary, mutations, read: false }
    }

    /// Nothing was changed and nothing new can have been learned.
    fn settled(content: Value, summary: String) -> Done {
        Done::changed(content, summary, Vec::new())
    }
}

/// Why an action was not carried out.
enum Refused {
    /// In words that help the caller do better.
    Request(String),
    /// Nobody's fault: the workspace could not be read.
    Store(StoreError),
}

impl From<String> for Refused {
    fn from(reason: String) -> Self {
        Refused::Request(reason)
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Refused::Store(error)
    }
}

/// Every action there is.
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
            outside: None,
        };
        let general = self.actions.iter().filter(|action| action.authorization() != Authorization::Own);
        general.map(spec).collect()
    }

    /// Carry out one call. Whatever is wrong with it comes back as an error result that lists what is valid;
    /// an error of the store is nobody's result, and the call is to be made again.
    pub async fn call(
        &self,
        library: &dyn Library,
        run: &RunContext,
        call: &ToolCall,
        effect: &EffectId,
    ) -> Result<ToolOutcome, StoreError> {
        let done = match self.granted(call) {
            Ok(action) => {
                let context = ToolContext::new(library, run, call, effect);
                match action.carry_out(&context).await {
                    Ok(done) => write_permission::check(&context, &done.mutations).await.map(|()| done),
                    refused => refused,
                }
            }
            Err(refused) => Err(refused),
        };
        match done {
            Ok(Done { content, summary, mutations, read }) => {
                Ok(ToolOutcome { result: Ok(ToolOutput { content, summary: one_line(&summary), read }), mutations })
            }
            Err(Refused::Request(reason)) => Ok(ToolOutcome::refused(reason)),
            Err(Refused::Store(error)) => Err(error),
        }
    }

    fn granted(&self, call: &ToolCall) -> Result<&Action, Refused> {
        let is_granted = |name: &str| call.granted.iter().any(|granted| granted == name);
        let own = || self.actions.iter().map(|action| action.name).filter(|name| is_granted(name));
        let others = || call.granted.iter().map(String::as_str).filter(|name| self.find(name).is_none());
        let valid = || list(own().chain(others()));
        let asked: String = call.tool.chars().take(80).collect();
        match self.find(&call.tool) {
            Some(action) if is_granted(action.name) => Ok(action),
            Some(_) => Err(Refused::Request(format!(
                "tool_not_granted: {asked} was not given to this caller; granted tools: {}",
                valid()
            ))),
            None => {
                Err(Refused::Request(format!("unknown_tool: there is no tool {asked:?}; valid tools: {}", valid())))
            }
        }
    }
}

/// At most 200 characters without line breaks, for the journal.
fn one_line(text: &str) -> String {
    const SUMMARY_MAX: usize = 200;
    let line = engine::lines::one_line(text);
    match line.char_indices().nth(SUMMARY_MAX) {
        None => line,
        Some(_) => line.chars().take(SUMMARY_MAX - 1).chain(['…']).collect(),
    }
}
