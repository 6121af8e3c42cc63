//! Tools for documents. The platform's own (those with a `doc_role`) can be read, never written; since
//! they grow with every iteration by themselves, reading them never counts as having learned something.

use super::arguments::{ArgumentType, Arguments, CONTENT_MAX, Field, TITLE_MAX, optional, required};
use super::props;
use super::tool_context::{ToolContext, check_version, page};
use super::{Action, Done, Refused};
use engine::effect::Class;
use engine::ids::DocumentId;
use engine::workspace::{DOCUMENT_HAS_DOCUMENT, Document, Mutation};
use runtime::ports::DocumentFilter;
use serde_json::{Value, json};

/// What a document is when nobody said.
const DEFAULT_TYPE: &str = "document.note";

/// Types only the platform makes documents of.
const RESERVED_TYPES: [&str; 2] = ["document.homework.", "document.tree_agent."];

const ID: Field = required("document_id", ArgumentType::Id, "The document.");
const PROPS: Field = optional("props", ArgumentType::Object, "Properties of your own; merged key by key.");

pub const ACTIONS: &[Action] = &[
    Action {
        name: "list_documents",
        description: "List documents, newest first, without their content. The platform's own documents only by \
                      type_key.",
        class: Class::ReadOnly,
        fields: &[
            optional("project_id", ArgumentType::Id, "Only this project's."),
            optional("type_key", ArgumentType::TypeKey, "Only this type, e.g. document.note."),
            optional("limit", ArgumentType::Limit, "How many at most."),
        ],
        handler: |context, arguments| Box::pin(list(context, arguments)),
    },
    Action {
        name: "get_document",
        description: "Read one document with its content and version.",
        class: Class::ReadOnly,
        fields: &[ID],
        handler: |context, arguments| Box::pin(get(context, arguments)),
    },
    Action {
        name: "create_document",
        description: "Create a document. It links under parent_document_id; without one, a run's own under its branch or \
                      workspace.",
        class: Class::Idempotent,
        fields: &[
            required("title", ArgumentType::Line { max: TITLE_MAX }, "Its title."),
            required("content", ArgumentType::Text { max: CONTENT_MAX }, "Its text, in Markdown."),
            optional(
                "project_id",
                ArgumentType::Id,
                "Where it goes; may be left out in a run that has a project of its own.",
            ),
            optional("parent_document_id", ArgumentType::Id, "The document it belongs under."),
            optional("type_key", ArgumentType::TypeKey, "What kind of document; default: document.note."),
            PROPS,
        ],
        handler: |context, arguments| Box::pin(create(context, arguments)),
    },
    Action {
        name: "update_document",
        description: "Change a document: replace its content, or append to it; rename it; merge props. \
                      With `version`, only if it is still at that version.",
        class: Class::Idempotent,
        fields: &[
            ID,
            optional("title", ArgumentType::Line { max: TITLE_MAX }, "The new title."),
            optional(
                "content",
                ArgumentType::Text { max: CONTENT_MAX },
                "The whole new text; not together with append.",
            ),
            optional(
                "append",
                ArgumentType::Text { max: CONTENT_MAX },
                "Text to add at the end, on a line of its own.",
            ),
            PROPS,
            optional("version", ArgumentType::Version, "The version you read; refused when it is stale."),
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

async fn list(context: &ToolContext<'_>, arguments: &Arguments) -> Result<Done, Refused> {
    let limit = arguments.limit();
    let filter = DocumentFilter {
        project_id: context.asked_project(arguments).await?,
        type_key: arguments.text("type_key").map(str::to_owned),
        limit: limit + 1,
        ..DocumentFilter::default()
    };
    let (documents, more) = page(context.library.documents(context.scope, filter).await?, limit);
    let summary = format!("{} documents", documents.len());
    let content = json!({"documents": documents.iter().map(listed).collect::<Vec<_>>(), "more": more});
    Ok(Done { read: !documents.iter().any(Document::is_platform), ..Done::read(content, summary) })
}

async fn get(context: &ToolContext<'_>, arguments: &Arguments) -> Result<Done, Refused> {
    let document = context.document(arguments.required_id("document_id")).await?;
    let summary = format!("document \"{}\", {} characters", document.title, document.content.chars().count());
    Ok(Done { read: !document.is_platform(), ..Done::read(shown(&document), summary) })
}

async fn create(context: &ToolContext<'_>, arguments: &Arguments) -> Result<Done, Refused> {
    let id: DocumentId = context.mint(0);
    let project_id = context.target_project(arguments).await?;
    let props = props::stamped(arguments.object("props"), context.stamp())?;
    let link = context.link_under(arguments, id.0, project_id, DOCUMENT_HAS_DOCUMENT).await?;
    let title = arguments.line("title").unwrap_or_default();
    let type_key = arguments.text("type_key").unwrap_or(DEFAULT_TYPE).to_owned();
    if let Some(reserved) = RESERVED_TYPES.iter().find(|reserved| type_key.starts_with(*reserved)) {
        return Err(Refused::Request(format!(
            "type_key {type_key:?} is the platform's own, like all that begin with {reserved}; leave it out ({DEFAULT_TYPE}) \
             or choose another, e.g. document.report"
        )));
    }
    let content = arguments.required_text("content").to_owned();
    Ok(Done::changed(
        json!({"id": id, "title": title, "type_key": type_key, "project_id": project_id, "version": 1}),
        format!("created document \"{title}\", {} characters", content.chars().count()),
        [Mutation::CreateDocument { id, project_id, title, type_key, content, props }]
            .into_iter()
            .chain(link)
            .collect(),
    ))
}

async fn update(context: &ToolContext<'_>, arguments: &Arguments) -> Result<Done, Refused> {
    if !arguments.has_any(&["title", "content", "append", "props"]) {
        return Err(Refused::Request("nothing to change: give title, content, append or props".into()));
    }
    let document = context.document(arguments.required_id("document_id")).await?;
    if document.is_platform() {
        return Err(Refused::Request(format!(
            "document {} (\"{}\") belongs to the platform, which alone writes it; create a document of your own \
             instead",
            document.id, document.title
        )));
    }
    check_version("document", arguments.version(), document.version)?;
    let title = arguments.line("title").unwrap_or_else(|| document.title.clone());
    let content = new_content(&document.content, arguments)?;
    let props = props::patch(arguments.object("props"), &document.props)?;
    if title == document.title && content.is_none() && props.is_none() {
        let content = json!({"id": document.id, "title": title, "version": document.version, "unchanged": true});
        return Ok(Done::settled(content, format!("document \"{title}\" already says that")));
    }
    Ok(Done::changed(
        json!({"id": document.id, "title": title, "version": document.version + 1}),
        format!("updated document \"{title}\""),
        vec![Mutation::UpdateDocument {
            id: document.id,
            expected_version: Some(document.version),
            title: Some(title),
            // The whole text at the new version, so that whoever keeps the change need not look it up.
            content: Some(content.unwrap_or(document.content)),
            props,
        }],
    ))
}

/// `None` when the text stays as it is.
fn new_content(current: &str, arguments: &Arguments) -> Result<Option<String>, Refused> {
    let content = match (arguments.text("content"), arguments.text("append")) {
        (Some(_), Some(_)) => {
            return Err(Refused::Request("give content (the whole new text) or append (what to add), not both".into()));
        }
        (Some(content), None) => content.to_owned(),
        (None, Some(added)) => appended(current, added),
        (None, None) => return Ok(None),
    };
    let length = content.chars().count();
    if length > CONTENT_MAX {
        return Err(Refused::Request(format!(
            "the document would have {length} characters; at most {CONTENT_MAX} are allowed"
        )));
    }
    Ok((content != current).then_some(content))
}

fn appended(current: &str, added: &str) -> String {
    let apart = current.is_empty() || added.is_empty() || current.ends_with('\n') || added.starts_with('\n');
    format!("{current}{}{added}", if apart { "" } else { "\n" })
}
