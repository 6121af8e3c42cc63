//! Tools for documents. The platform's own (those with a `doc_role`) can be read, never written. They grow with every iteration
//! by themselves, so reading them never counts as progress.

use super::arguments::{
    ArgumentType, Arguments, Field, LIMIT, MAX_CONTENT_CHARS, NEW_TITLE, PARENT_DOCUMENT, PROJECT_FILTER, PROPS,
    TARGET_PROJECT, TITLE, VERSION, optional, required,
};
use super::props;
use super::tool_context::{ToolContext, check_version, page};
use super::{Action, ActionError, ActionOutput, Changes, refuse};
use engine::ids::DocumentId;
use engine::workspace::{DOCUMENT_HAS_DOCUMENT, Document, Mutation};
use runtime::ports::DocumentFilter;
use serde_json::{Value, json};

/// The type of a document that was created without one.
const DEFAULT_TYPE: &str = "document.note";

/// Only the platform creates documents of these types.
const RESERVED_TYPES: [&str; 2] = ["document.homework.", "document.tree_agent."];

pub(super) fn is_platform_type(type_key: &str) -> bool {
    RESERVED_TYPES.iter().any(|reserved| type_key.starts_with(reserved))
}

const ID: Field = required("document_id", ArgumentType::Id, "The document.");

pub(super) const ACTIONS: &[Action] = &[
    Action {
        name: "list_documents",
        description: "List documents, newest first, without their content. The platform's own documents only by \
                      type_key.",
        changes: Changes::Nothing,
        fields: &[
            PROJECT_FILTER,
            optional("type_key", ArgumentType::TypeKey, "Only this type, e.g. document.note."),
            LIMIT,
        ],
        handler: |context, arguments| Box::pin(list(context, arguments)),
    },
    Action {
        name: "get_document",
        description: "Read one document with its content and version.",
        changes: Changes::Nothing,
        fields: &[ID],
        handler: |context, arguments| Box::pin(get(context, arguments)),
    },
    Action {
        name: "create_document",
        description: "Create a document. It links under parent_document_id; without one, a run's own under its branch or \
                      workspace.",
        changes: Changes::NewItem,
        fields: &[
            TITLE,
            required("content", ArgumentType::Text { max: MAX_CONTENT_CHARS }, "Its text, in Markdown."),
            TARGET_PROJECT,
            PARENT_DOCUMENT,
            optional("type_key", ArgumentType::TypeKey, "What kind of document; default: document.note."),
            PROPS,
        ],
        handler: |context, arguments| Box::pin(create(context, arguments)),
    },
    Action {
        name: "update_document",
        description: "Change a document: replace its content, or append to it; rename it; merge props. \
                      With `version`, only if it is still at that version.",
        changes: Changes::Existing,
        fields: &[
            ID,
            NEW_TITLE,
            optional(
                "content",
                ArgumentType::Text { max: MAX_CONTENT_CHARS },
                "The whole new text; not together with append.",
            ),
            optional(
                "append",
                ArgumentType::Text { max: MAX_CONTENT_CHARS },
                "Text to add at the end, on a line of its own.",
            ),
            PROPS,
            VERSION,
        ],
        handler: |context, arguments| Box::pin(update(context, arguments)),
    },
];

fn listed(document: &Document) -> Value {
    json!({
        "id": document.id, "title": document.title, "type_key": document.type_key, "project_id": document.project_id,
        "version": document.version, "updated_at": document.updated_at,
    })
}

fn shown(document: &Document) -> Value {
    let mut shown = listed(document);
    shown["props"] = document.props.clone();
    shown["content"] = json!(document.content);
    if document.is_platform() {
        shown["platform"] = json!(true);
    }
    shown
}

async fn list(context: &ToolContext<'_>, arguments: &Arguments) -> Result<ActionOutput, ActionError> {
    let limit = arguments.limit();
    let filter = DocumentFilter {
        project_id: context.requested_project(arguments).await?,
        type_key: arguments.text("type_key").map(str::to_owned),
        limit: limit + 1,
        ..DocumentFilter::default()
    };
    let (documents, more) = page(context.library.documents(context.scope, filter).await?, limit);
    let summary = format!("{} documents", documents.len());
    let content = json!({"documents": documents.iter().map(listed).collect::<Vec<_>>(), "more": more});
    Ok(ActionOutput { read: !documents.iter().any(Document::is_platform), ..ActionOutput::read(content, summary) })
}

async fn get(context: &ToolContext<'_>, arguments: &Arguments) -> Result<ActionOutput, ActionError> {
    let document = context.document(arguments.required_id("document_id")).await?;
    let summary = format!("document \"{}\", {} characters", document.title, document.content.chars().count());
    Ok(ActionOutput { read: !document.is_platform(), ..ActionOutput::read(shown(&document), summary) })
}

async fn create(context: &ToolContext<'_>, arguments: &Arguments) -> Result<ActionOutput, ActionError> {
    let id: DocumentId = context.mint(0);
    let project_id = context.target_project(arguments).await?;
    let props = props::stamped(arguments.object("props"), context.stamp())?;
    let link = context.link_under(arguments, id.0, project_id, DOCUMENT_HAS_DOCUMENT).await?;
    let title = arguments.line("title").unwrap_or_default();
    let type_key = arguments.text("type_key").unwrap_or(DEFAULT_TYPE).to_owned();
    if let Some(reserved) = RESERVED_TYPES.iter().find(|reserved| type_key.starts_with(*reserved)) {
        return refuse(format!(
            "type_key {type_key:?} is reserved for the platform, like every type that begins with {reserved}; leave it out \
             ({DEFAULT_TYPE}) or choose another, e.g. document.report"
        ));
    }
    let content = arguments.required_text("content").to_owned();
    Ok(ActionOutput::changed(
        json!({"id": id, "title": title, "type_key": type_key, "project_id": project_id, "version": 1}),
        format!("created document \"{title}\", {} characters", content.chars().count()),
        [Mutation::CreateDocument { id, project_id, title, type_key, content, props }]
            .into_iter()
            .chain(link)
            .collect(),
    ))
}

async fn update(context: &ToolContext<'_>, arguments: &Arguments) -> Result<ActionOutput, ActionError> {
    if !arguments.has_any(&["title", "content", "append", "props"]) {
        return refuse("nothing to change: give title, content, append or props");
    }
    let document = context.document(arguments.required_id("document_id")).await?;
    if document.is_platform() {
        return refuse(format!(
            "document {} (\"{}\") belongs to the platform, and only the platform writes it; create a document of your own \
             instead",
            document.id, document.title
        ));
    }
    check_version("document", arguments.version(), document.version)?;
    let title = arguments.line("title").unwrap_or_else(|| document.title.clone());
    let content = new_content(&document.content, arguments)?;
    let props = props::patch(arguments.object("props"), &document.props)?;
    if title == document.title && content.is_none() && props.is_none() {
        let content = json!({"id": document.id, "title": title, "version": document.version, "unchanged": true});
        return Ok(ActionOutput::unchanged(content, format!("document \"{title}\" has these values already")));
    }
    Ok(ActionOutput::changed(
        json!({"id": document.id, "title": title, "version": document.version + 1}),
        format!("updated document \"{title}\""),
        vec![Mutation::UpdateDocument {
            id: document.id,
            expected_version: Some(document.version),
            title: Some(title),
            // The whole text, so that the stored change can be shown without reading an older version.
            content: Some(content.unwrap_or(document.content)),
            props,
        }],
    ))
}

/// `None` when the text stays as it is.
fn new_content(current: &str, arguments: &Arguments) -> Result<Option<String>, ActionError> {
    let content = match (arguments.text("content"), arguments.text("append")) {
        (Some(_), Some(_)) => {
            return refuse("give content (the whole new text) or append (what to add), not both");
        }
        (Some(content), None) => content.to_owned(),
        (None, Some(added)) => appended(current, added),
        (None, None) => return Ok(None),
    };
    let length = content.chars().count();
    if length > MAX_CONTENT_CHARS {
        return refuse(format!("the document would have {length} characters; at most {MAX_CONTENT_CHARS} are allowed"));
    }
    Ok((content != current).then_some(content))
}

fn appended(current: &str, added: &str) -> String {
    let is_separate = current.is_empty() || added.is_empty() || current.ends_with('\n') || added.starts_with('\n');
    format!("{current}{}{added}", if is_separate { "" } else { "\n" })
}
