//! The product as markdown pages. Users and programs read them over HTTP; a subagent works through them in a task run.
//!
//! A page shows what its reader may see now and offers the actions its reader may take: those of the tool registry, and commands
//! to runs. This crate writes nothing: an action returns mutations or a command, and the caller commits them. It uses the
//! status numbers of HTTP for its results, and must not know the HTTP library or the log.

#![warn(unreachable_pub)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod actions;
mod nodes;
mod page;
pub mod parsers;
mod path;
mod task_tools;
mod views;

pub use actions::{OfferedCommand, PageAction};
pub use page::Page;
pub use path::{PagePath, PageSubject};
pub use task_tools::PageTools;

use effects::tools::{Registry, VIEWER_ONLY};
use engine::actor::ActorKind;
use engine::effect::{EffectId, RunContext, ToolCall};
use engine::ids::{ProjectId, RunId};
use engine::run::Command;
use engine::time::Timestamp;
use engine::workspace::{ActorRecord, Mutation, Scope};
use page::{QUOTED_NOTICE, line};
use runtime::agents::AgentRecord;
use runtime::ports::{Library, StoreError};
use serde_json::Value;

/// The reader of a page, with current permissions.
#[derive(Clone, Debug)]
pub struct Reader {
    pub actor: ActorRecord,
    pub agent: Option<AgentRecord>,
    pub scope: Scope,
}

impl Reader {
    pub fn person(actor: ActorRecord) -> Reader {
        let scope = Scope::Actor(actor.id);
        Reader { actor, agent: None, scope }
    }

    pub fn agent(agent: AgentRecord) -> Reader {
        let scope = agent.scope();
        Reader { actor: agent.actor(), agent: Some(agent), scope }
    }

    /// `None` for a subagent that no longer exists.
    pub async fn of(store: &dyn Library, actor: ActorRecord) -> Result<Option<Reader>, StoreError> {
        match actor.kind {
            ActorKind::Person => Ok(Some(Reader::person(actor))),
            ActorKind::Subagent => Ok(store.agent(&actor.id.to_string()).await?.map(Reader::agent)),
        }
    }
}

/// The effect an action is carried out for. Ids and properties of new things are derived from it.
pub struct Cause<'a> {
    pub run_id: RunId,
    pub effect: &'a EffectId,
    pub props: Value,
    pub now: Timestamp,
}

pub struct Pages<'a> {
    pub store: &'a dyn Library,
    pub registry: &'a Registry,
    pub reader: &'a Reader,
}

/// A page for the reader, and what the caller commits.
pub struct ActionResult {
    pub page: Page,
    pub mutations: Vec<Mutation>,
    pub command: Option<(RunId, Command)>,
}

impl ActionResult {
    fn refused(page: Page) -> ActionResult {
        ActionResult { page, mutations: Vec::new(), command: None }
    }
}

impl Pages<'_> {
    /// Opens a page, a list of actions or the description of an action.
    pub async fn open(&self, path: &str) -> Result<Page, StoreError> {
        let Some(path) = PagePath::parse(path) else { return Ok(not_found()) };
        match path {
            PagePath::Page { subject, from } => Ok(self.view(subject, from).await?.unwrap_or_else(not_found)),
            PagePath::Actions(subject) => match self.is_visible(subject).await? {
                true => self.actions(subject).await,
                false => Ok(not_found()),
            },
            PagePath::Action(subject, name) => match self.is_visible(subject).await? {
                true => self.description(subject, &name).await,
                false => Ok(not_found()),
            },
        }
    }

    async fn actions(&self, subject: PageSubject) -> Result<Page, StoreError> {
        let actions = self.permitted_actions(subject).await?;
        let lines = actions.iter().map(|action| {
            format!(
                "- `{}({})`: {} Describe: GET {}. Execute: POST there.\n",
                action.name(),
                action.params().0,
                action.description(),
                action.path()
            )
        });
        let text = page::listed(lines.collect(), "There is nothing you may do here but read.");
        Ok(Page::new(200, format!("{subject}/actions"), format!("Actions at {subject}"))
            .paragraph(text)
            .actions(actions))
    }

    async fn description(&self, subject: PageSubject, name: &str) -> Result<Page, StoreError> {
        let action = match self.permitted_action(subject, name).await? {
            Ok(action) => action,
            Err(refused) => return Ok(*refused),
        };
        let (params, schema) = action.params();
        let schema = serde_json::to_string_pretty(&schema).unwrap_or_default();
        Ok(Page::new(200, action.path(), name)
            .fact("class", action.class())
            .fact("params", params)
            .paragraph(action.description())
            .section("Parameters", &format!("```json\n{schema}\n```"))
            .section("Execute", &format!("POST {} with a JSON object of these parameters.", action.path()))
            .actions(vec![action]))
    }

    /// Carries out an action of a page. The caller commits the result.
    pub async fn execute(
        &self,
        subject: PageSubject,
        name: &str,
        params: &Value,
        cause: &Cause<'_>,
    ) -> Result<ActionResult, StoreError> {
        if !self.is_visible(subject).await? {
            return Ok(ActionResult::refused(not_found()));
        }
        let action = match self.permitted_action(subject, name).await? {
            Ok(action) => action,
            Err(refused) => return Ok(ActionResult::refused(*refused)),
        };
        let arguments = match action.fill(params) {
            Ok(arguments) => arguments,
            Err(why) => return Ok(ActionResult::refused(rejected(subject, name, &why))),
        };
        match action {
            PageAction::Tool { action, .. } => self.call(subject, action.name, arguments, cause).await,
            PageAction::Command { run, command } => Ok(match command.command(&arguments) {
                Ok(command) => {
                    let said = format!("The run was sent the command {name}.");
                    ActionResult {
                        page: done(subject, name, &said, Value::Null),
                        mutations: Vec::new(),
                        command: Some((run, command)),
                    }
                }
                Err(why) => ActionResult::refused(rejected(subject, name, &why)),
            }),
        }
    }

    async fn call(
        &self,
        subject: PageSubject,
        tool: &str,
        arguments: Value,
        cause: &Cause<'_>,
    ) -> Result<ActionResult, StoreError> {
        let (home_project, home_document) = self.home(subject).await?;
        let run = RunContext {
            run_id: cause.run_id,
            scope: self.reader.scope.clone(),
            home_project: home_project.unwrap_or(ProjectId(uuid::Uuid::nil())),
            now: cause.now,
            projects: Vec::new(),
            tainted: false,
        };
        let granted = vec![tool.to_owned()];
        let props = cause.props.clone();
        let call = ToolCall {
            tool: tool.into(),
            arguments,
            granted,
            home_document,
            props,
            external: None,
            answered: None,
            agent: None,
        };
        let outcome = self.registry.call(self.store, &run, &call, cause.effect).await?;
        Ok(match outcome.result {
            Ok(output) => ActionResult {
                page: done(subject, tool, &output.summary, output.content),
                mutations: outcome.mutations,
                command: None,
            },
            Err(why) => ActionResult::refused(match why.strip_prefix(VIEWER_ONLY) {
                Some(why) => viewer_only(subject, tool, &format!("{tool} was not carried out: {why}")),
                None => rejected(subject, tool, &why),
            }),
        })
    }

    /// The action, or a page with the reason for the refusal and the valid actions.
    async fn permitted_action(
        &self,
        subject: PageSubject,
        name: &str,
    ) -> Result<Result<PageAction, Box<Page>>, StoreError> {
        let known = actions::actions_of(subject, self.registry).into_iter().find(|action| action.name() == name);
        let (page, said) = match known {
            Some(action) if !self.is_allowed(&action) => {
                (Page::new(403, subject.action(name), "Forbidden"), self.why_not(name))
            }
            Some(action) if action.only_reads() || self.may_change(subject).await? => return Ok(Ok(action)),
            Some(_) => {
                let said =
                    format!("{name} is for editors: you may only read what is at {subject}. Nothing was changed.");
                return Ok(Err(Box::new(viewer_only(subject, name, &said))));
            }
            None => {
                let said = format!("There is no action {} at {subject}.", line(shortened(name)));
                (Page::new(404, subject.action(&shortened(name)), "No such action"), said)
            }
        };
        Ok(Err(Box::new(self.valid_here(page, subject, &said).await?)))
    }

    fn why_not(&self, name: &str) -> String {
        match &self.reader.agent {
            None => format!("{name} is for subagents: only they have a scratchpad. Nothing was changed."),
            Some(agent) => {
                format!("{name} was not granted to {}. Its owner may grant it. Nothing was changed.", agent.handle)
            }
        }
    }

    async fn valid_here(&self, page: Page, subject: PageSubject, said: &str) -> Result<Page, StoreError> {
        let actions = self.permitted_actions(subject).await?;
        let names: Vec<&str> = actions.iter().map(PageAction::name).collect();
        let valid = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let said = format!("{said} Valid actions at {subject}: {valid}.");
        Ok(page.fact("error", said.as_str()).paragraph(said).actions(actions))
    }
}

fn shortened(name: &str) -> String {
    name.chars().take(80).collect()
}

/// The same page for what does not exist and for what the reader may not see.
fn not_found() -> Page {
    let said = "There is nothing at that path that you may see.";
    Page::new(404, "", "Not found")
        .fact("error", said)
        .paragraph(format!("{said} Begin at /whoami, and follow the paths that pages show, with ids exactly as given."))
}

/// The reader may see the page but not change anything on it.
fn viewer_only(subject: PageSubject, name: &str, said: &str) -> Page {
    Page::new(403, subject.action(name), "Forbidden").fact("type", "viewer_only").fact("error", said).paragraph(said)
}

fn rejected(subject: PageSubject, name: &str, why: &str) -> Page {
    let said = engine::lines::one_line(&format!("{name} was not carried out: {why}"));
    Page::new(422, subject.action(name), "Not carried out").fact("error", said.as_str()).paragraph(said)
}

fn done(subject: PageSubject, name: &str, summary: &str, result: Value) -> Page {
    let mut page = Page::new(200, subject.action(name), format!("{name}: done")).fact("done", true);
    let created = result.get("id").and_then(Value::as_str);
    let path = created.and_then(|id| match name {
        "create_document" | "update_document" => Some(format!("/documents/{id}")),
        "create_task" | "update_task" => Some(format!("/tasks/{id}")),
        "create_project" | "update_project" => Some(format!("/projects/{id}")),
        _ => None,
    });
    if let Some(path) = &path {
        page = page.fact("see", path.as_str());
    }
    if !result.is_null() {
        page = page.fact("result", result.clone());
    }
    page.paragraph(summary).paragraph(match &path {
        Some(path) => format!("See {path}."),
        None if result.is_null() => String::new(),
        None => format!("{QUOTED_NOTICE}\n\n```json\n{}\n```", line(result)),
    })
}
