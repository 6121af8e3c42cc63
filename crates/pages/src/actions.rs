//! The actions of each page, and who may take them. Permission is checked when a page is opened and again when an action is
//! executed, since it may have been revoked in between.

use crate::Pages;
use crate::nodes::MAX_NODES_LISTED;
use crate::path::PageSubject;
use effects::tools::{Action, Authorization, Registry};
use engine::batch::RunRow;
use engine::budget::BudgetPatch;
use engine::effect::RepeatSafety;
use engine::ids::{DocumentId, ProjectId, RunId, TaskId};
use engine::run::{Command, Lane, NodeCommand, Status};
use runtime::ports::StoreError;
use serde_json::{Map, Value, json};

/// A command to a run, as the page of the run offers it. With its parameters it becomes a `Command` of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferedCommand {
    Answer,
    Say,
    Pause,
    Resume,
    Cancel,
    Continue,
    Retry,
}

impl OfferedCommand {
    const ALL: [OfferedCommand; 7] = [
        OfferedCommand::Answer,
        OfferedCommand::Say,
        OfferedCommand::Pause,
        OfferedCommand::Resume,
        OfferedCommand::Cancel,
        OfferedCommand::Continue,
        OfferedCommand::Retry,
    ];

    /// Whether a run in this state would take it; the engine has the last word.
    fn fits(self, run: &RunRow, has_ended_nodes: bool) -> bool {
        let over = run.status.is_terminal();
        let asks = || run.questions.as_array().into_iter().flatten().any(|question| question["answer"].is_null());
        match self {
            OfferedCommand::Answer => !over && asks(),
            OfferedCommand::Say => !matches!(run.status, Status::Completed | Status::Canceled),
            OfferedCommand::Pause => !over && run.status != Status::Paused,
            OfferedCommand::Resume => run.status == Status::Paused || run.provider_wait.is_some(),
            OfferedCommand::Cancel => !over,
            OfferedCommand::Continue => matches!(run.status, Status::Stopped | Status::Failed),
            OfferedCommand::Retry => has_ended_nodes && run.status != Status::Canceled,
        }
    }

    /// Name, parameters, description.
    fn usage(self) -> (&'static str, &'static str, &'static str) {
        match self {
            OfferedCommand::Answer => ("answer", "text, question_id?", "Answer the run's open question."),
            OfferedCommand::Say => ("say", "text", "Tell the run something; its next model call sees it."),
            OfferedCommand::Pause => ("pause", "", "Start nothing new; calls in flight finish."),
            OfferedCommand::Resume => ("resume", "", "Let a paused run go on."),
            OfferedCommand::Cancel => ("cancel", "", "End the run."),
            OfferedCommand::Continue => {
                ("continue", "budgets?, message?", "Let it go on, with raised limits where one stopped it.")
            }
            OfferedCommand::Retry => {
                ("retry", "node_id", "Do the step of a node that has ended again, with a new node.")
            }
        }
    }

    fn schema(self) -> Value {
        let text = json!({"type": "string", "minLength": 1});
        let (properties, required) = match self {
            OfferedCommand::Answer => {
                (json!({"text": text, "question_id": {"type": "string", "format": "uuid"}}), json!(["text"]))
            }
            OfferedCommand::Say => (json!({"text": text}), json!(["text"])),
            OfferedCommand::Continue => (json!({"budgets": {"type": "object"}, "message": text}), json!([])),
            OfferedCommand::Retry => (json!({"node_id": {"type": "string", "format": "uuid"}}), json!(["node_id"])),
            OfferedCommand::Pause | OfferedCommand::Resume | OfferedCommand::Cancel => (json!({}), json!([])),
        };
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }

    pub(crate) fn command(self, arguments: &Value) -> Result<Command, String> {
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
        let node = || match arguments["node_id"].as_str().and_then(|id| id.parse().ok()) {
            Some(node) => Ok(node),
            None => Err("missing argument `node_id`: expected the full UUID of a node".to_owned()),
        };
        let budgets = || match &arguments["budgets"] {
            Value::Null => Ok(BudgetPatch::default()),
            patch => serde_json::from_value(patch.clone()).map_err(|error| format!("`budgets`: {error}")),
        };
        Ok(match self {
            OfferedCommand::Answer => Command::Answer { question, text: text()? },
            OfferedCommand::Say => Command::Say { text: text()?, node: None, lane: Lane::Steer },
            OfferedCommand::Pause => Command::Pause,
            OfferedCommand::Resume => Command::Resume,
            OfferedCommand::Cancel => Command::Cancel,
            OfferedCommand::Continue => {
                let message = arguments["message"].as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned);
                Command::Continue { budgets: budgets()?, message }
            }
            OfferedCommand::Retry => Command::Node { node: node()?, order: NodeCommand::Retry },
        })
    }
}

/// What a reader may do on one page.
#[derive(Clone, Debug)]
pub enum PageAction {
    /// An action of the registry, with the parameters that the page fixes.
    Tool { at: PageSubject, action: Action, fixed: Vec<(&'static str, String)> },
    /// A command to the run whose page it is.
    Command { run: RunId, command: OfferedCommand },
}

impl PageAction {
    pub fn name(&self) -> &'static str {
        match self {
            PageAction::Tool { action, .. } => action.name,
            PageAction::Command { command, .. } => command.usage().0,
        }
    }

    pub fn description(&self) -> &'static str {
        match self {
            PageAction::Tool { action, .. } => action.description,
            PageAction::Command { command, .. } => command.usage().2,
        }
    }

    /// The names and the schema of the parameters that its reader gives, such as `title, content, type_key?`.
    pub fn params(&self) -> (String, Value) {
        match self {
            PageAction::Tool { action, fixed, .. } => {
                action.without(&fixed.iter().map(|(name, _)| *name).collect::<Vec<_>>())
            }
            PageAction::Command { command, .. } => (command.usage().1.into(), command.schema()),
        }
    }

    pub fn class(&self) -> &'static str {
        match self {
            PageAction::Tool { action, .. } => action.class(),
            PageAction::Command { .. } => RepeatSafety::Once,
        }
        .name()
    }

    pub fn path(&self) -> String {
        match self {
            PageAction::Tool { at, action, .. } => at.action(action.name),
            PageAction::Command { run, command } => PageSubject::Run(*run).action(command.usage().0),
        }
    }

    pub(crate) fn json(&self) -> Value {
        let (params, schema) = self.params();
        json!({
            "name": self.name(), "params": params, "description": self.description(), "class": self.class(),
            "path": self.path(), "schema": schema,
        })
    }

    pub(crate) fn only_reads(&self) -> bool {
        matches!(self, PageAction::Tool { action, .. } if action.is_read())
    }

    /// The reader's parameters, with those that the page fixes.
    pub(crate) fn fill(&self, params: &Value) -> Result<Value, String> {
        let mut filled: Map<String, Value> = match params {
            Value::Null => Map::new(),
            Value::Object(params) => params.clone(),
            _ => return Err("the parameters must be one JSON object".into()),
        };
        let PageAction::Tool { fixed, .. } = self else { return Ok(Value::Object(filled)) };
        for (name, value) in fixed {
            match filled.get(*name) {
                Some(other) if !other.is_null() && other.as_str() != Some(value) => {
                    return Err(format!("{name} is fixed by the page and is {value}; leave it out"));
                }
                _ => drop(filled.insert((*name).into(), json!(value))),
            }
        }
        Ok(Value::Object(filled))
    }
}

/// Every action of a page, for any reader.
pub(crate) fn actions_of(subject: PageSubject, registry: &Registry) -> Vec<PageAction> {
    let tool = |action: &Action, fixed: &[(&'static str, String)]| PageAction::Tool {
        at: subject,
        action: *action,
        fixed: fixed.to_vec(),
    };
    let tools = |names: &[&str], fixed: &[(&'static str, String)]| -> Vec<PageAction> {
        names.iter().filter_map(|name| registry.find(name)).map(|action| tool(action, fixed)).collect()
    };
    match subject {
        PageSubject::Whoami => tools(&["update_scratchpad", "search", "list_projects", "create_project"], &[]),
        PageSubject::Projects => tools(&["list_projects", "create_project"], &[]),
        PageSubject::Runs => Vec::new(),
        PageSubject::Tools => registry.list().iter().map(|action| tool(action, &[])).collect(),
        PageSubject::Project(id) => tools(
            &["list_documents", "list_tasks", "search_documents", "create_document", "create_task", "update_project"],
            &[("project_id", id.to_string())],
        ),
        PageSubject::Document(id) => {
            let mut all = tools(&["update_document"], &[("document_id", id.to_string())]);
            all.extend(tools(&["create_document", "create_task"], &[("parent_document_id", id.to_string())]));
            all.extend(tools(&["link_entities"], &[("src_id", id.to_string())]));
            all
        }
        PageSubject::Task(id) => {
            let mut all = tools(&["update_task"], &[("task_id", id.to_string())]);
            all.extend(tools(&["link_entities"], &[("src_id", id.to_string())]));
            all
        }
        PageSubject::Run(run) => OfferedCommand::ALL.map(|command| PageAction::Command { run, command }).into(),
    }
}

/// The kinds of pages on which an action is offered.
pub(crate) fn places_of(name: &str, registry: &Registry) -> Vec<&'static str> {
    let nowhere = uuid::Uuid::nil();
    let pages = [
        ("whoami", PageSubject::Whoami),
        ("projects", PageSubject::Project(ProjectId(nowhere))),
        ("documents", PageSubject::Document(DocumentId(nowhere))),
        ("tasks", PageSubject::Task(TaskId(nowhere))),
    ];
    let offers = |subject| actions_of(subject, registry).iter().any(|action| action.name() == name);
    pages.into_iter().filter(|(_, subject)| offers(*subject)).map(|(place, _)| place).collect()
}

impl Pages<'_> {
    /// The actions that this reader may take there now.
    pub(super) async fn permitted_actions(&self, subject: PageSubject) -> Result<Vec<PageAction>, StoreError> {
        let may_change = self.may_change(subject).await?;
        let run = match subject {
            PageSubject::Run(id) => self.store.run(&self.reader.scope, id).await?,
            _ => None,
        };
        let has_ended_nodes = match &run {
            Some(run) if run.root_node_id.is_some() => {
                let nodes = self.store.first_nodes(&self.reader.scope, run.id, MAX_NODES_LISTED).await?;
                nodes.iter().any(|node| node.status.is_terminal())
            }
            _ => false,
        };
        let fits = |action: &PageAction| match (action, &run) {
            (PageAction::Command { command, .. }, Some(run)) => command.fits(run, has_ended_nodes),
            _ => true,
        };
        let actions = actions_of(subject, self.registry).into_iter();
        let is_permitted = |action: &PageAction| self.is_allowed(action) && (may_change || action.only_reads());
        Ok(actions.filter(|action| is_permitted(action) && fits(action)).collect())
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
    pub(super) fn is_allowed(&self, action: &PageAction) -> bool {
        let PageAction::Tool { action, .. } = action else { return self.reader.agent.is_none() };
        match (&self.reader.agent, action.authorization()) {
            (None, needed) => needed != Authorization::SubagentsOnly,
            (Some(_), Authorization::SubagentsOnly | Authorization::Everybody) => true,
            (Some(agent), Authorization::PeopleAndGrantedSubagents) => agent.is_granted(action.name),
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
