//! What may be done where, and by whom. Who may is judged when a page is opened and again when an action is carried out.

use super::address::PageSubject;
use super::page::{Offer, offer};
use super::{Pages, merged};
use crate::tools::{Action, Authorization, Registry};
use engine::ids::{DocumentId, ProjectId, RunId};
use engine::run::{Command, Lane};
use runtime::ports::StoreError;
use serde_json::{Value, json};

/// What people tell a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Answer,
    Say,
    Pause,
    Resume,
    Cancel,
}

impl Order {
    const ALL: [Order; 5] = [Order::Answer, Order::Say, Order::Pause, Order::Resume, Order::Cancel];

    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Order::Answer => ("answer", "text, question_id?", "Answer the run's open question."),
            Order::Say => ("say", "text", "Tell the run something; its next model call sees it."),
            Order::Pause => ("pause", "", "Start nothing new; calls in flight finish."),
            Order::Resume => ("resume", "", "Let a paused run go on."),
            Order::Cancel => ("cancel", "", "End the run."),
        }
    }

    fn schema(self) -> Value {
        let text = json!({"type": "string", "minLength": 1});
        let (properties, required) = match self {
            Order::Answer => {
                (json!({"text": text, "question_id": {"type": "string", "format": "uuid"}}), json!(["text"]))
            }
            Order::Say => (json!({"text": text}), json!(["text"])),
            Order::Pause | Order::Resume | Order::Cancel => (json!({}), json!([])),
        };
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }

    pub fn command(self, subject: PageSubject, arguments: &Value) -> Result<(RunId, Command), String> {
        let PageSubject::Run(run) = subject else { return Err("only runs take orders".into()) };
        let known: Vec<&str> = self.words().1.split(", ").map(|name| name.trim_end_matches('?')).collect();
        if let Some(other) =
            arguments.as_object().and_then(|map| map.keys().find(|name| !known.contains(&name.as_str())))
        {
            return Err(format!("unknown argument {other:?}; valid arguments: {}", self.words().1));
        }
        let text = || match arguments["text"].as_str().map(str::trim).filter(|text| !text.is_empty()) {
            Some(text) => Ok(text.to_owned()),
            None => Err("missing argument `text`: expected words".to_owned()),
        };
        let question = match &arguments["question_id"] {
            Value::Null => None,
            id => Some(id.as_str().and_then(|id| id.parse().ok()).ok_or("`question_id` must be a full UUID")?),
        };
        Ok((
            run,
            match self {
                Order::Answer => Command::Answer { question, text: text()? },
                Order::Say => Command::Say { text: text()?, node: None, lane: Lane::Steer },
                Order::Pause => Command::Pause,
                Order::Resume => Command::Resume,
                Order::Cancel => Command::Cancel,
            },
        ))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// By its name in the registry.
    Tool(&'static str),
    Command(Order),
}

/// An action at a place, with the parameters that the place gives.
#[derive(Clone, Debug)]
pub struct Given {
    pub does: Does,
    params: Vec<(&'static str, String)>,
}

impl Given {
    pub fn name(&self) -> &'static str {
        match self.does {
            Does::Tool(name) => name,
            Does::Command(order) => order.words().0,
        }
    }

    pub fn fill(&self, params: &Value) -> Result<Value, String> {
        merged(params, &self.params)
    }

    /// As it is offered there; `None` for a tool that this registry does not have.
    pub fn offer(&self, registry: &Registry, at: PageSubject) -> Option<Offer> {
        let given: Vec<&str> = self.params.iter().map(|(name, _)| *name).collect();
        match self.does {
            Does::Tool(name) => registry.find(name).map(|action| offer(action, at, &given)),
            Does::Command(order) => {
                let (name, params, description) = order.words();
                Some(Offer { name, description, params: params.into(), schema: order.schema(), class: "once", at })
            }
        }
    }
}

/// Whether somebody may change what is at a place, or only read it.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    may_change: bool,
}

impl Standing {
    pub fn allows(self, given: &Given, registry: &Registry) -> bool {
        let reads = match given.does {
            Does::Tool(name) => registry.find(name).is_some_and(Action::is_read),
            Does::Command(_) => false,
        };
        reads || self.may_change
    }
}

/// Everything that can be done at a place, by somebody.
pub fn at(subject: PageSubject, registry: &Registry) -> Vec<Given> {
    let tools = |names: &[&'static str], params: Vec<(&'static str, String)>| -> Vec<Given> {
        names.iter().map(|name| Given { does: Does::Tool(name), params: params.clone() }).collect()
    };
    match subject {
        PageSubject::Whoami => tools(&["update_scratchpad", "search", "list_projects", "create_project"], vec![]),
        PageSubject::Projects => tools(&["list_projects", "create_project"], vec![]),
        PageSubject::Runs => Vec::new(),
        PageSubject::Tools => tools(&registry.list().iter().map(|action| action.name).collect::<Vec<_>>(), vec![]),
        PageSubject::Project(id) => tools(
            &["list_documents", "list_tasks", "search_documents", "create_document", "create_task", "update_project"],
            vec![("project_id", id.to_string())],
        ),
        PageSubject::Document(id) => {
            let mut all = tools(&["update_document"], vec![("document_id", id.to_string())]);
            all.extend(tools(&["create_document", "create_task"], vec![("parent_document_id", id.to_string())]));
            all.extend(tools(&["link_entities"], vec![("src_id", id.to_string())]));
            all
        }
        PageSubject::Task(id) => {
            let mut all = tools(&["update_task"], vec![("task_id", id.to_string())]);
            all.extend(tools(&["link_entities"], vec![("src_id", id.to_string())]));
            all
        }
        PageSubject::Run(_) => {
            Order::ALL.into_iter().map(|order| Given { does: Does::Command(order), params: vec![] }).collect()
        }
    }
}

impl Pages<'_> {
    /// What this reader may do there.
    pub(super) async fn offers(&self, subject: PageSubject) -> Result<Vec<Offer>, StoreError> {
        let standing = self.standing(subject).await?;
        let may = |given: &Given| self.may(given) && standing.allows(given, self.registry);
        let offered = at(subject, self.registry).into_iter().filter(may);
        Ok(offered.filter_map(|given| given.offer(self.registry, subject)).collect())
    }

    /// What this reader's role allows there.
    pub(super) async fn standing(&self, subject: PageSubject) -> Result<Standing, StoreError> {
        let scope = &self.reader.scope;
        let may_change = match (subject, self.home(subject).await?.0) {
            (PageSubject::Run(run), _) => self.store.may_steer(scope, run).await?,
            (_, Some(project)) => self.store.may_write(scope, project).await?,
            // Where it goes is said with the action, and judged then.
            (_, None) => true,
        };
        Ok(Standing { may_change })
    }

    /// Closed unless it is opened: a subagent does what it was granted, and nothing to runs.
    pub(super) fn may(&self, given: &Given) -> bool {
        let Does::Tool(name) = given.does else { return self.reader.agent.is_none() };
        let needed = self.registry.find(name).map(Action::authorization);
        match (&self.reader.agent, needed) {
            (_, None) => false,
            (None, Some(needed)) => needed != Authorization::Own,
            (Some(_), Some(Authorization::Own | Authorization::Reading)) => true,
            (Some(agent), Some(Authorization::Granted)) => agent.is_granted(name),
        }
    }

    /// Where what is made at a place belongs.
    pub(super) async fn home(
        &self,
        subject: PageSubject,
    ) -> Result<(Option<ProjectId>, Option<DocumentId>), StoreError> {
        Ok(match subject {
            PageSubject::Project(id) => (Some(id), None),
            PageSubject::Document(id) => {
                let document = self.store.document(&self.reader.scope, id).await?;
                (document.map(|document| document.project_id), Some(id))
            }
            PageSubject::Task(id) => (self.store.task(&self.reader.scope, id).await?.map(|task| task.project_id), None),
            PageSubject::Whoami
            | PageSubject::Projects
            | PageSubject::Runs
            | PageSubject::Run(_)
            | PageSubject::Tools => (None, None),
        })
    }
}
