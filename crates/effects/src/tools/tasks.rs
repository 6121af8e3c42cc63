//! Tools for tasks.

use super::arguments::{
    ArgumentType, Arguments, Field, LIMIT, MAX_CONTENT_CHARS, NEW_TITLE, PARENT_DOCUMENT, PROJECT_FILTER, PROPS,
    TARGET_PROJECT, TITLE, VERSION, optional, required,
};
use super::props;
use super::tool_context::{ToolContext, check_version, page};
use super::{Action, ActionError, ActionOutput, Changes, refuse};
use engine::ids::TaskId;
use engine::workspace::{DOCUMENT_HAS_TASK, Mutation, Task, TaskState};
use runtime::ports::TaskFilter;
use serde_json::{Value, json};

const STATES: ArgumentType = ArgumentType::OneOf(&["todo", "in_progress", "blocked", "done"]);
const ID: Field = required("task_id", ArgumentType::Id, "The task.");
const DESCRIPTION: Field =
    optional("description", ArgumentType::Text { max: MAX_CONTENT_CHARS }, "What is to be done.");

pub(super) const ACTIONS: &[Action] = &[
    Action {
        name: "list_tasks",
        description: "List tasks, newest first, without their descriptions. state: todo, in_progress, blocked or done.",
        changes: Changes::Nothing,
        fields: &[PROJECT_FILTER, optional("state", STATES, "Only those in this state."), LIMIT],
        handler: |context, arguments| Box::pin(list(context, arguments)),
    },
    Action {
        name: "get_task",
        description: "Read one task with its description, state and version.",
        changes: Changes::Nothing,
        fields: &[ID],
        handler: |context, arguments| Box::pin(get(context, arguments)),
    },
    Action {
        name: "create_task",
        description: "Create a task (state: todo, in_progress, blocked or done). It links under \
                      parent_document_id; without one, a run's own under its branch or workspace.",
        changes: Changes::NewItem,
        fields: &[
            TITLE,
            DESCRIPTION,
            optional("state", STATES, "Where it stands; default: todo."),
            TARGET_PROJECT,
            PARENT_DOCUMENT,
            PROPS,
        ],
        handler: |context, arguments| Box::pin(create(context, arguments)),
    },
    Action {
        name: "update_task",
        description: "Change a task: title, description, state (todo, in_progress, blocked, done); merge props. \
                      With `version`, only if it is still at that version.",
        changes: Changes::Existing,
        fields: &[ID, NEW_TITLE, DESCRIPTION, optional("state", STATES, "Where it stands now."), PROPS, VERSION],
        handler: |context, arguments| Box::pin(update(context, arguments)),
    },
];

fn listed(task: &Task) -> Value {
    json!({
        "id": task.id, "title": task.title, "state": task.state, "project_id": task.project_id,
        "version": task.version, "updated_at": task.updated_at,
    })
}

fn requested_state(arguments: &Arguments) -> Option<TaskState> {
    arguments.text("state").and_then(TaskState::parse)
}

async fn list(context: &ToolContext<'_>, arguments: &Arguments) -> Result<ActionOutput, ActionError> {
    let limit = arguments.limit();
    let project_id = context.requested_project(arguments).await?;
    let filter =
        TaskFilter { project_id, state: requested_state(arguments), limit: limit + 1, ..TaskFilter::default() };
    let (tasks, more) = page(context.library.tasks(context.scope, filter).await?, limit);
    let summary = format!("{} tasks", tasks.len());
    Ok(ActionOutput::read(json!({"tasks": tasks.iter().map(listed).collect::<Vec<_>>(), "more": more}), summary))
}

async fn get(context: &ToolContext<'_>, arguments: &Arguments) -> Result<ActionOutput, ActionError> {
    let task = context.task(arguments.required_id("task_id")).await?;
    let mut shown = listed(&task);
    shown["description"] = json!(task.description);
    shown["props"] = task.props;
    Ok(ActionOutput::read(shown, format!("task \"{}\", {}", task.title, task.state.name())))
}

async fn create(context: &ToolContext<'_>, arguments: &Arguments) -> Result<ActionOutput, ActionError> {
    let id: TaskId = context.mint(0);
    let project_id = context.target_project(arguments).await?;
    let props = props::stamped(arguments.object("props"), context.stamp())?;
    let link = context.link_under(arguments, id.0, project_id, DOCUMENT_HAS_TASK).await?;
    let title = arguments.line("title").unwrap_or_default();
    let description = arguments.text("description").unwrap_or_default().to_owned();
    let state = requested_state(arguments).unwrap_or(TaskState::Todo);
    Ok(ActionOutput::changed(
        json!({"id": id, "title": title, "state": state, "project_id": project_id, "version": 1}),
        format!("created task \"{title}\", {}", state.name()),
        [Mutation::CreateTask { id, project_id, title, description, state, props }].into_iter().chain(link).collect(),
    ))
}

async fn update(context: &ToolContext<'_>, arguments: &Arguments) -> Result<ActionOutput, ActionError> {
    if !arguments.has_any(&["title", "description", "state", "props"]) {
        return refuse("nothing to change: give title, description, state or props");
    }
    let task = context.task(arguments.required_id("task_id")).await?;
    check_version("task", arguments.version(), task.version)?;
    let title = arguments.line("title").unwrap_or_else(|| task.title.clone());
    let description = arguments.text("description").filter(|text| *text != task.description).map(str::to_owned);
    let state = requested_state(arguments).filter(|state| *state != task.state);
    let props = props::patch(arguments.object("props"), &task.props)?;
    if title == task.title && description.is_none() && state.is_none() && props.is_none() {
        let content = json!({"id": task.id, "title": title, "version": task.version, "unchanged": true});
        return Ok(ActionOutput::unchanged(content, format!("task \"{title}\" has these values already")));
    }
    let now = state.unwrap_or(task.state);
    Ok(ActionOutput::changed(
        json!({"id": task.id, "title": title, "state": now, "version": task.version + 1}),
        format!("updated task \"{title}\", {}", now.name()),
        vec![Mutation::UpdateTask {
            id: task.id,
            expected_version: task.version,
            title: Some(title),
            description,
            state,
            props,
        }],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_lists_every_state_of_a_task() {
        let ArgumentType::OneOf(offered) = STATES else { panic!("one of some words") };
        assert_eq!(offered, TaskState::ALL.map(TaskState::name));
    }
}
