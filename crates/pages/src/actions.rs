//! The actions of each page, and who may take them. Permission is checked when a page is opened and again when an action is
//! executed, since it may have been revoked in between.

use crate::page::OfferedAction;
use crate::path::PageSubject;
use crate::{Pages, merged};
use effects::tools::{Action, Authorization, Registry};
use engine::ids::{DocumentId, ProjectId, RunId};
use engine::run::{Command, Lane};
use runtime::ports::StoreError;
use serde_json::{Value, json};

/// The commands that the page of a run offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandKind {
    Answer,
    Say,
    Pause,
    Resume,
    Cancel,
}

impl CommandKind {
    const ALL: [CommandKind; 5] =
        [CommandKind::Answer, CommandKind::Say, CommandKind::Pause, CommandKind::Resume, CommandKind::Cancel];

    /// Name, parameters, description.
    fn usage(self) -> (&'static str, &'static str, &'static str) {
        match self {
            CommandKind::Answer => ("answer", "text, question_id?", "Answer the run's open question."),
            CommandKind::Say => ("say", "text", "Tell the run something; its next model call sees it."),
            CommandKind::Pause => ("pause", "", "Start nothing new; calls in flight finish."),
            CommandKind::Resume => ("resume", "", "Let a paused run go on."),
            CommandKind::Cancel => ("cancel", "", "End the run."),
        }
    }

    fn schema(self) -> Value {
        let text = json!({"type": "string", "minLength": 1});
        let (properties, required) = match self {
            CommandKind::Answer => {
                (json!({"text": text, "question_id": {"type": "string", "format": "uuid"}}), json!(["text"]))
            }
            CommandKind::Say => (json!({"text": text}), json!(["text"])),
            CommandKind::Pause | CommandKind::Resume | CommandKind::Cancel => (json!({}), json!([])),
        };
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }

    pub(crate) fn command(self, subject: PageSubject, arguments: &Value) -> Result<(RunId, Command), String> {
        let PageSubject::Run(run) = subject else {
            return Err("this page is not the page of a run, and only runs take commands".into());
        };
        let known: Vec<&str> = self.usage().1.split(", ").map(|name| name.trim_end_matches('?')).collect();
        if let Some(other) =
            arguments.as_object().and_then(|map| map.keys().find(|name| !known.contains(&name.as_str())))
        {
            return Err(format!("unknown argument {other:?}; valid arguments: {}", self.usage().1));
        }
        let text = || match arguments["text"].as_str().map(str::trim).filter(|text| !text.is_empty()) {
            Some(text) => Ok(text.to_owned()),
            None => Err("missing argument `text`: expected a text that is not blank".to_owned()),
        };
        let question = match &arguments["question_id"] {
            Value::Null => None,
            id => Some(id.as_str().and_then(|id| id.parse().ok()).ok_or("`question_id` must be a full UUID")?),
        };
        Ok((
            run,
            match self {
                CommandKind::Answer => Command::Answer { question, text: text()? },
                CommandKind::Say => Command::Say { text: text()?, node: None, lane: Lane::Steer },
                CommandKind::Pause => Command::Pause,
                CommandKind::Resume => Command::Resume,
                CommandKind::Cancel => Command::Cancel,
            },
        ))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// A tool, by its name in the registry.
    Tool(&'static str),
    Command(CommandKind),
}

/// An action on one page, with the parameters that the page fixes.
#[derive(Clone, Debug)]
pub(crate) struct PageAction {
    pub operation: Operation,
    fixed: Vec<(&'static str, String)>,
}

impl PageAction {
    pub(crate) fn name(&self) -> &'static str {
        match self.operation {
            Operation::Tool(name) => name,
            Operation::Command(command) => command.usage().0,
        }
    }

    pub(crate) fn fill(&self, params: &Value) -> Result<Value, String> {
        merged(params, &self.fixed)
    }

    /// The action as the page shows it; `None` if the registry has no such tool.
    pub(crate) fn offer(&self, registry: &Registry, at: PageSubject) -> Option<OfferedAction> {
        let fixed: Vec<&str> = self.fixed.iter().map(|(name, _)| *name).collect();
        match self.operation {
            Operation::Tool(name) => registry.find(name).map(|action| OfferedAction::new(action, at, &fixed)),
            Operation::Command(command) => {
                let (name, params, description) = command.usage();
                Some(OfferedAction {
                    name,
                    description,
                    params: params.into(),
                    schema: command.schema(),
                    class: "once",
                    at,
                })
            }
        }
    }
}

/// Every action of a page, for any reader.
pub(crate) fn actions_of(subject: PageSubject, registry: &Registry) -> Vec<PageAction> {
    let tools = |names: &[&'static str], fixed: Vec<(&'static str, String)>| -> Vec<PageAction> {
        names.iter().map(|name| PageAction { operation: Operation::Tool(name), fixed: fixed.clone() }).collect()
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
            CommandKind::ALL.map(|command| PageAction { operation: Operation::Command(command), fixed: vec![] }).into()
        }
    }
}

impl Pages<'_> {
    /// The actions that this reader may take there now.
    pub(super) async fn offers(&self, subject: PageSubject) -> Result<Vec<OfferedAction>, StoreError> {
        let may_change = self.may_change(subject).await?;
        let actions = actions_of(subject, self.registry).into_iter();
        let permitted = actions.filter(|action| self.is_granted(action) && (may_change || self.only_reads(action)));
        Ok(permitted.filter_map(|action| action.offer(self.registry, subject)).collect())
    }

    pub(super) fn only_reads(&self, action: &PageAction) -> bool {
        match action.operation {
            Operation::Tool(name) => self.registry.find(name).is_some_and(Action::is_read),
            Operation::Command(_) => false,
        }
    }

    /// Whether the reader's role allows changes there.
    pub(super) async fn may_change(&self, subject: PageSubject) -> Result<bool, StoreError> {
        let scope = &self.reader.scope;
        Ok(match (subject, self.home(subject).await?.0) {
            (PageSubject::Run(run), _) => self.store.may_steer(scope, run).await?,
            (_, Some(project)) => self.store.may_write(scope, project).await?,
            // The parameters name the project, so the tool checks the role.
            (_, None) => true,
        })
    }

    /// Denied by default: a subagent takes granted actions only, and sends no commands to runs.
    pub(super) fn is_granted(&self, action: &PageAction) -> bool {
        let Operation::Tool(name) = action.operation else { return self.reader.agent.is_none() };
        let needed = self.registry.find(name).map(Action::authorization);
        match (&self.reader.agent, needed) {
            (_, None) => false,
            (None, Some(needed)) => needed != Authorization::Own,
            (Some(_), Some(Authorization::Own | Authorization::Reading)) => true,
            (Some(agent), Some(Authorization::Granted)) => agent.is_granted(name),
        }
    }

    /// The project and document that something created on this page belongs to.
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
