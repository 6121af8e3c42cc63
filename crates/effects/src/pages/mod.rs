//! The product as pages: what people and subagents read in a terminal, and what a subagent works through on an errand.
//!
//! One module serves both: a page shows what its reader may see at this moment and offers what its reader may do. The same
//! registry of actions stands behind tools, pages and the list of tools; what an action does to a run is a command, what it
//! does to the workspace are mutations. Nothing is written here.

mod address;
mod offers;
mod page;
mod task_tools;
mod views;

pub use address::{Address, PageSubject};
pub(crate) use page::quoted;
pub use page::{Offer, Page};
pub use task_tools::{is_task_tool, perform};

use crate::tools::{Registry, VIEWER_ONLY};
use engine::actor::ActorKind;
use engine::effect::{EffectId, RunContext, ToolCall};
use engine::ids::{ProjectId, RunId};
use engine::run::Command;
use engine::time::Timestamp;
use engine::workspace::{ActorRecord, Mutation, Scope};
use offers::{Does, Given};
use page::{QUOTED, line};
use runtime::agents::AgentRecord;
use runtime::ports::{Library, StoreError};
use serde_json::{Map, Value, json};

/// Who reads, as they are at this moment.
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

    /// Whoever this is; `None` for a subagent that is no longer kept.
    pub async fn of(store: &dyn Library, actor: ActorRecord) -> Result<Option<Reader>, StoreError> {
        match actor.kind {
            ActorKind::Person => Ok(Some(Reader::person(actor))),
            ActorKind::Subagent => Ok(store.agent(&actor.id.to_string()).await?.map(Reader::agent)),
        }
    }
}

/// The effect an action is carried out for: what its ids and stamps are made from.
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

/// What an action comes to: a page for whoever asked, and what is to be done with it.
pub struct Carried {
    pub page: Page,
    pub mutations: Vec<Mutation>,
    pub command: Option<(RunId, Command)>,
}

impl Carried {
    fn refused(page: Page) -> Carried {
        Carried { page, mutations: Vec::new(), command: None }
    }
}

impl Pages<'_> {
    /// Any page, a list of actions or the description of one.
    pub async fn open(&self, path: &str) -> Result<Page, StoreError> {
        let Some(address) = Address::parse(path) else { return Ok(nowhere()) };
        match address {
            Address::Page { subject, from } => Ok(self.view(subject, from).await?.unwrap_or_else(nowhere)),
            Address::Actions(subject) => match self.seen(subject).await? {
                true => self.actions(subject).await,
                false => Ok(nowhere()),
            },
            Address::Action(subject, name) => match self.seen(subject).await? {
                true => self.description(subject, &name).await,
                false => Ok(nowhere()),
            },
        }
    }

    async fn actions(&self, subject: PageSubject) -> Result<Page, StoreError> {
        let offers = self.offers(subject).await?;
        let lines = offers.iter().map(|offer| {
            format!(
                "- `{}({})`: {} Describe: GET {}. Execute: POST there.\n",
                offer.name,
                offer.params,
                offer.description,
                offer.path()
            )
        });
        let text = page::listed(lines.collect(), "There is nothing you may do here but read.");
        Ok(Page::new(200, format!("{subject}/actions"), format!("Actions at {subject}")).words(text).offers(offers))
    }

    async fn description(&self, subject: PageSubject, name: &str) -> Result<Page, StoreError> {
        let offer = match self.permitted(subject, name).await? {
            Ok(given) => given.offer(self.registry, subject),
            Err(refused) => return Ok(*refused),
        };
        let Some(offer) = offer else { return Ok(nowhere()) };
        let schema = serde_json::to_string_pretty(&offer.schema).unwrap_or_default();
        Ok(Page::new(200, offer.path(), name)
            .fact("class", offer.class)
            .fact("params", offer.params.as_str())
            .words(offer.description)
            .section("Parameters", &format!("```json\n{schema}\n```"))
            .section("Execute", &format!("POST {} with a JSON object of these parameters.", offer.path()))
            .offers(vec![offer]))
    }

    /// Carry out an action of a page. The caller commits what comes of it.
    pub async fn execute(
        &self,
        subject: PageSubject,
        name: &str,
        params: &Value,
        cause: &Cause<'_>,
    ) -> Result<Carried, StoreError> {
        if !self.seen(subject).await? {
            return Ok(Carried::refused(nowhere()));
        }
        let given = match self.permitted(subject, name).await? {
            Ok(given) => given,
            Err(refused) => return Ok(Carried::refused(*refused)),
        };
        let arguments = match given.fill(params) {
            Ok(arguments) => arguments,
            Err(why) => return Ok(Carried::refused(unfit(subject, name, &why))),
        };
        match given.does {
            Does::Tool(tool) => self.call(subject, tool, arguments, cause).await,
            Does::Command(order) => Ok(match order.command(subject, &arguments) {
                Ok(command) => {
                    let said = format!("The run was told: {name}.");
                    Carried {
                        page: done(subject, name, &said, Value::Null),
                        mutations: Vec::new(),
                        command: Some(command),
                    }
                }
                Err(why) => Carried::refused(unfit(subject, name, &why)),
            }),
        }
    }

    async fn call(
        &self,
        subject: PageSubject,
        tool: &str,
        arguments: Value,
        cause: &Cause<'_>,
    ) -> Result<Carried, StoreError> {
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
            outside: None,
            told: None,
            agent: None,
        };
        let outcome = self.registry.call(self.store, &run, &call, cause.effect).await?;
        Ok(match outcome.result {
            Ok(output) => Carried {
                page: done(subject, tool, &output.summary, output.content),
                mutations: outcome.mutations,
                command: None,
            },
            Err(why) => Carried::refused(match why.strip_prefix(VIEWER_ONLY) {
                Some(why) => for_viewers(subject, tool, &format!("{tool} was not carried out: {why}")),
                None => unfit(subject, tool, &why),
            }),
        })
    }

    /// The action, or a page that says why not and what is valid.
    async fn permitted(&self, subject: PageSubject, name: &str) -> Result<Result<Given, Box<Page>>, StoreError> {
        let known = offers::at(subject, self.registry).into_iter().find(|given| given.name() == name);
        let (page, said) = match known {
            Some(given) if !self.may(&given) => (Page::new(403, subject.action(name), "Forbidden"), self.why_not(name)),
            Some(given) if self.standing(subject).await?.allows(&given, self.registry) => return Ok(Ok(given)),
            Some(_) => {
                let said =
                    format!("{name} is for editors: you may only read what is at {subject}. Nothing was changed.");
                return Ok(Err(Box::new(for_viewers(subject, name, &said))));
            }
            None => {
                let said = format!("There is no action {} at {subject}.", line(shortened(name)));
                (Page::new(404, subject.action(&shortened(name)), "No such action"), said)
            }
        };
        Ok(Err(Box::new(self.valid_here(page, subject, &said).await?)))
    }

    fn why_not(&self, name: &str) -> String {
        match (&self.reader.agent, name) {
            (None, _) => format!("{name} is for subagents: only they have a scratchpad. Nothing was changed."),
            (Some(agent), _) => {
                format!("{name} was not granted to {}. Its owner may grant it. Nothing was changed.", agent.handle)
            }
        }
    }

    async fn valid_here(&self, page: Page, subject: PageSubject, said: &str) -> Result<Page, StoreError> {
        let offers = self.offers(subject).await?;
        let names: Vec<&str> = offers.iter().map(|offer| offer.name).collect();
        let valid = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let said = format!("{said} Valid actions at {subject}: {valid}.");
        Ok(page.fact("error", said.as_str()).words(said).offers(offers))
    }
}

fn shortened(name: &str) -> String {
    name.chars().take(80).collect()
}

/// The same for what does not exist and what may not be seen, whichever was asked for.
fn nowhere() -> Page {
    let said = "There is nothing at that path that you may see.";
    Page::new(404, "", "Not found")
        .fact("error", said)
        .words(format!("{said} Begin at /whoami, and follow the paths that pages show, with ids exactly as given."))
}

/// The reader may see it and not change it.
fn for_viewers(subject: PageSubject, name: &str, said: &str) -> Page {
    Page::new(403, subject.action(name), "Forbidden").fact("type", "viewer_only").fact("error", said).words(said)
}

fn unfit(subject: PageSubject, name: &str, why: &str) -> Page {
    let said = engine::lines::one_line(&format!("{name} was not carried out: {why}"));
    Page::new(422, subject.action(name), "Not carried out").fact("error", said.as_str()).words(said)
}

fn done(subject: PageSubject, name: &str, summary: &str, result: Value) -> Page {
    let mut page = Page::new(200, subject.action(name), format!("{name}: done")).fact("done", true);
    let made = result.get("id").and_then(Value::as_str);
    let place = made.and_then(|id| match name {
        "create_document" | "update_document" => Some(format!("/documents/{id}")),
        "create_task" | "update_task" => Some(format!("/tasks/{id}")),
        "create_project" | "update_project" => Some(format!("/projects/{id}")),
        _ => None,
    });
    if let Some(place) = &place {
        page = page.fact("see", place.as_str());
    }
    if !result.is_null() {
        page = page.fact("result", result.clone());
    }
    page.words(summary).words(match &place {
        Some(place) => format!("See {place}."),
        None if result.is_null() => String::new(),
        None => format!("{QUOTED}\n\n```json\n{}\n```", line(result)),
    })
}

/// The parameters a caller gave, under those that the page gives.
fn merged(params: &Value, given: &[(&'static str, String)]) -> Result<Value, String> {
    let mut merged: Map<String, Value> = match params {
        Value::Null => Map::new(),
        Value::Object(params) => params.clone(),
        _ => return Err("the parameters must be one JSON object".into()),
    };
    for (name, value) in given {
        match merged.get(*name) {
            Some(other) if !other.is_null() && other.as_str() != Some(value) => {
                return Err(format!("{name} is given by the page and is {value}; leave it out"));
            }
            _ => drop(merged.insert((*name).into(), json!(value))),
        }
    }
    Ok(Value::Object(merged))
}
