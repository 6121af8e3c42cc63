//! Tools for projects.

use super::arguments::{
    ArgumentType, Arguments, Field, LIMIT, MAX_CONTENT_CHARS, NEW_TITLE, PROPS, TITLE, VERSION, optional, required,
};
use super::props;
use super::tool_context::{ToolContext, check_version, page};
use super::{Action, ActionError, ActionOutput, Changes, refuse};
use engine::ids::ProjectId;
use engine::workspace::{Mutation, Project};
use serde_json::{Value, json};

const ID: Field = required("project_id", ArgumentType::Id, "The project.");
const DESCRIPTION: Field =
    optional("description", ArgumentType::Text { max: MAX_CONTENT_CHARS }, "What the project is about.");

pub(super) const ACTIONS: &[Action] = &[
    Action {
        name: "list_projects",
        description: "List the projects that may be used here, newest first.",
        changes: Changes::Nothing,
        fields: &[LIMIT],
        handler: |context, arguments| Box::pin(list(context, arguments)),
    },
    Action {
        name: "get_project",
        description: "Read one project: title, description, props, version.",
        changes: Changes::Nothing,
        fields: &[ID],
        handler: |context, arguments| Box::pin(get(context, arguments)),
    },
    Action {
        name: "create_project",
        description: "Create a project. Refused where only some projects may be used.",
        changes: Changes::NewProject,
        fields: &[TITLE, DESCRIPTION],
        handler: |context, arguments| Box::pin(create(context, arguments)),
    },
    Action {
        name: "update_project",
        description: "Change a project's title or description; merge props. With `version`, only if it is still at that version.",
        changes: Changes::Existing,
        fields: &[ID, NEW_TITLE, DESCRIPTION, PROPS, VERSION],
        handler: |context, arguments| Box::pin(update(context, arguments)),
    },
];

fn shown(project: &Project) -> Value {
    json!({
        "id": project.id, "title": project.title, "description": project.description,
        "version": project.version, "updated_at": project.updated_at,
    })
}

async fn list(context: &ToolContext<'_>, arguments: &Arguments) -> Result<ActionOutput, ActionError> {
    let limit = arguments.limit();
    let (projects, more) = page(context.library.projects(context.scope, None, limit + 1).await?, limit);
    let summary = format!("{} projects", projects.len());
    Ok(ActionOutput::read(json!({"projects": projects.iter().map(shown).collect::<Vec<_>>(), "more": more}), summary))
}

async fn get(context: &ToolContext<'_>, arguments: &Arguments) -> Result<ActionOutput, ActionError> {
    let project = context.project(arguments.required_id("project_id")).await?;
    let mut whole = shown(&project);
    whole["props"] = project.props;
    Ok(ActionOutput::read(whole, format!("project \"{}\"", project.title)))
}

async fn create(context: &ToolContext<'_>, arguments: &Arguments) -> Result<ActionOutput, ActionError> {
    let Some(owner) = context.global_owner() else {
        return refuse(
            "create_project is refused here: only some projects may be used, and a new one would not be among them",
        );
    };
    let id: ProjectId = context.mint(0);
    let title = arguments.line("title").unwrap_or_default();
    let description = arguments.text("description").unwrap_or_default().to_owned();
    let props = props::stamped(None, context.stamp())?;
    Ok(ActionOutput::changed(
        json!({"id": id, "title": title, "version": 1}),
        format!("created project \"{title}\""),
        vec![Mutation::CreateProject { id, title, description, props, owner }],
    ))
}

async fn update(context: &ToolContext<'_>, arguments: &Arguments) -> Result<ActionOutput, ActionError> {
    if !arguments.has_any(&["title", "description", "props"]) {
        return refuse("nothing to change: give title, description or props");
    }
    let project = context.project(arguments.required_id("project_id")).await?;
    check_version("project", arguments.version(), project.version)?;
    let title = arguments.line("title").unwrap_or_else(|| project.title.clone());
    let description = arguments.text("description").filter(|text| *text != project.description).map(str::to_owned);
    let props = props::patch(arguments.object("props"), &project.props)?;
    if title == project.title && description.is_none() && props.is_none() {
        let content = json!({"id": project.id, "title": title, "version": project.version, "unchanged": true});
        return Ok(ActionOutput::unchanged(content, format!("project \"{title}\" has these values already")));
    }
    Ok(ActionOutput::changed(
        json!({"id": project.id, "title": title, "version": project.version + 1}),
        format!("updated project \"{title}\""),
        vec![Mutation::UpdateProject {
            id: project.id,
            expected_version: project.version,
            title: Some(title),
            description,
            props,
        }],
    ))
}
