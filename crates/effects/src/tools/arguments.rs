//! The arguments of a tool. One declaration per argument gives the JSON schema that models read, the check of what they send,
//! and the error that lists what is valid. Knows nothing of the workspace.

use serde_json::{Map, Value, json};
use std::fmt::Display;
use uuid::Uuid;

const MAX_TITLE_CHARS: usize = 500;
pub(super) const MAX_CONTENT_CHARS: usize = 1_000_000;
pub(super) const MAX_QUERY_CHARS: usize = 500;
pub(super) const DEFAULT_LIMIT: usize = 20;
pub(super) const MAX_LIMIT: usize = 50;
const MAX_TYPE_KEY_CHARS: usize = 100;
const MAX_RELATION_CHARS: usize = 64;
const MAX_PROPS_BYTES: usize = 20_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArgumentType {
    /// A UUID, written in full.
    Id,
    /// One line that is not blank.
    Line {
        max: usize,
    },
    Text {
        max: usize,
    },
    /// `[a-z_]{1,64}`.
    Relation,
    /// Dotted lower-case words.
    TypeKey,
    OneOf(&'static [&'static str]),
    /// How many at most; a larger number counts as the maximum.
    Limit,
    Version,
    Object,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub name: &'static str,
    pub kind: ArgumentType,
    pub required: bool,
    pub about: &'static str,
}

pub(super) const fn required(name: &'static str, kind: ArgumentType, about: &'static str) -> Field {
    Field { name, kind, required: true, about }
}

pub(super) const fn optional(name: &'static str, kind: ArgumentType, about: &'static str) -> Field {
    Field { name, kind, required: false, about }
}

pub(super) const TITLE: Field = required("title", ArgumentType::Line { max: MAX_TITLE_CHARS }, "Its title.");
pub(super) const NEW_TITLE: Field = optional("title", ArgumentType::Line { max: MAX_TITLE_CHARS }, "The new title.");
pub(super) const PROPS: Field = optional("props", ArgumentType::Object, "Properties of your own; merged key by key.");
pub(super) const VERSION: Field =
    optional("version", ArgumentType::Version, "The version you read; refused when it is stale.");
pub(super) const LIMIT: Field = optional("limit", ArgumentType::Limit, "How many at most.");
pub(super) const PROJECT_FILTER: Field = optional("project_id", ArgumentType::Id, "Only this project's.");
pub(super) const TARGET_PROJECT: Field =
    optional("project_id", ArgumentType::Id, "Where it goes; may be left out in a run that has a project of its own.");
pub(super) const PARENT_DOCUMENT: Field =
    optional("parent_document_id", ArgumentType::Id, "The document it belongs under.");

/// The JSON schema of a whole call.
pub(super) fn schema(fields: &[Field]) -> Value {
    let properties: Map<String, Value> = fields.iter().map(|field| (field.name.to_owned(), field.schema())).collect();
    let required: Vec<&str> = fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

impl Field {
    fn schema(&self) -> Value {
        let mut schema = match self.kind {
            ArgumentType::Id => json!({"type": "string", "format": "uuid"}),
            ArgumentType::Line { max } => json!({"type": "string", "minLength": 1, "maxLength": max}),
            ArgumentType::Text { max } => json!({"type": "string", "maxLength": max}),
            ArgumentType::Relation => json!({"type": "string", "pattern": "^[a-z_]{1,64}$"}),
            ArgumentType::TypeKey => json!({"type": "string", "pattern": "^[a-z0-9_.]{1,100}$"}),
            ArgumentType::OneOf(words) => json!({"type": "string", "enum": words}),
            ArgumentType::Limit => {
                json!({"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT})
            }
            ArgumentType::Version => json!({"type": "integer", "minimum": 1}),
            ArgumentType::Object => json!({"type": "object"}),
        };
        schema["description"] = json!(self.about);
        schema
    }

    fn accepts(&self, value: &Value) -> bool {
        let text = value.as_str();
        match self.kind {
            ArgumentType::Id => text.is_some_and(|text| Uuid::parse_str(text.trim()).is_ok()),
            ArgumentType::Line { max } => text.is_some_and(|text| !text.trim().is_empty() && within(text, max)),
            ArgumentType::Text { max } => text.is_some_and(|text| within(text, max)),
            ArgumentType::Relation => {
                text.is_some_and(|text| is_word(text, MAX_RELATION_CHARS, |c| c.is_ascii_lowercase() || c == '_'))
            }
            ArgumentType::TypeKey => text.is_some_and(|text| {
                is_word(text, MAX_TYPE_KEY_CHARS, |c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.".contains(c))
            }),
            ArgumentType::OneOf(words) => text.is_some_and(|text| words.contains(&text)),
            ArgumentType::Limit | ArgumentType::Version => value.as_i64().is_some_and(|number| number >= 1),
            ArgumentType::Object => value.is_object() && value.to_string().len() <= MAX_PROPS_BYTES,
        }
    }

    /// Without a comma: commas separate arguments.
    fn in_short(&self) -> String {
        match self.kind {
            ArgumentType::Id => "uuid".into(),
            ArgumentType::Line { max } => format!("1-{max} characters"),
            ArgumentType::Text { max } => format!("up to {max} characters"),
            ArgumentType::Relation => "a-z and _".into(),
            ArgumentType::TypeKey => "dotted lower-case words".into(),
            ArgumentType::OneOf(words) => words.join("|"),
            ArgumentType::Limit => format!("1-{MAX_LIMIT}"),
            ArgumentType::Version => "whole number".into(),
            ArgumentType::Object => "object".into(),
        }
    }

    fn expected(&self) -> String {
        match self.kind {
            ArgumentType::Id => "a full UUID as a string".into(),
            ArgumentType::Line { max } => format!("a string of 1 to {max} characters that is not blank"),
            ArgumentType::Text { max } => format!("a string of at most {max} characters"),
            ArgumentType::Relation => format!("1 to {MAX_RELATION_CHARS} characters of a-z and _"),
            ArgumentType::TypeKey => format!("1 to {MAX_TYPE_KEY_CHARS} characters of a-z, 0-9, _ and ."),
            ArgumentType::OneOf(words) => format!("one of: {}", words.join(", ")),
            ArgumentType::Limit => format!("a whole number from 1 to {MAX_LIMIT}"),
            ArgumentType::Version => "the version as a whole number from 1".into(),
            ArgumentType::Object => format!("an object of at most {MAX_PROPS_BYTES} bytes as JSON"),
        }
    }
}

fn within(text: &str, max: usize) -> bool {
    text.len() <= max || text.chars().nth(max).is_none()
}

fn is_word(text: &str, max: usize, allowed: impl Fn(char) -> bool) -> bool {
    !text.is_empty() && text.len() <= max && text.chars().all(allowed)
}

/// A value for an error text: enough to recognise it, never all of it.
fn shown(value: &Value) -> String {
    const SHOWN_CHARS: usize = 60;
    let characters = value.as_str().map(|text| text.chars().count());
    let text = value.to_string();
    match (text.chars().nth(SHOWN_CHARS), characters) {
        (None, _) => text,
        (Some(_), Some(count)) => {
            format!("{}… ({count} characters)", text.chars().take(SHOWN_CHARS).collect::<String>())
        }
        (Some(_), None) => format!("{}…", text.chars().take(SHOWN_CHARS).collect::<String>()),
    }
}

/// Arguments that fit their fields. Null counts as absent.
#[derive(Debug)]
pub(super) struct Arguments(Map<String, Value>);

impl Arguments {
    pub(super) fn check(fields: &[Field], given: &Value) -> Result<Arguments, String> {
        let valid = || listing(fields);
        let given = match given {
            Value::Null => &Map::new(),
            Value::Object(map) => map,
            other => return Err(format!("arguments must be an object, not {}; {}", shown(other), valid())),
        };
        if let Some(name) = given.keys().find(|name| !fields.iter().any(|field| field.name == name.as_str())) {
            return Err(format!("unknown argument {}; {}", shown(&json!(name)), valid()));
        }
        for field in fields {
            match given.get(field.name) {
                None | Some(Value::Null) if field.required => {
                    return Err(format!(
                        "missing argument `{}`: expected {}; {}",
                        field.name,
                        field.expected(),
                        valid()
                    ));
                }
                Some(value) if !value.is_null() && !field.accepts(value) => {
                    let (name, expected) = (field.name, field.expected());
                    return Err(format!("argument `{name}` is {}: expected {expected}; {}", shown(value), valid()));
                }
                _ => {}
            }
        }
        Ok(Arguments(given.iter().filter(|(_, value)| !value.is_null()).map(|(k, v)| (k.clone(), v.clone())).collect()))
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    /// `check` has made sure that a required field is present.
    pub(super) fn required_text(&self, name: &str) -> &str {
        self.text(name).unwrap_or_default()
    }

    /// Without surrounding blanks.
    pub(super) fn line(&self, name: &str) -> Option<String> {
        self.text(name).map(|text| text.trim().to_owned())
    }

    pub(super) fn id<T: From<Uuid>>(&self, name: &str) -> Option<T> {
        Uuid::parse_str(self.text(name)?.trim()).ok().map(T::from)
    }

    /// `check` has made sure that a required field is present.
    pub(super) fn required_id<T: From<Uuid>>(&self, name: &str) -> T {
        self.id(name).unwrap_or_else(|| Uuid::nil().into())
    }

    pub(super) fn version(&self) -> Option<i64> {
        self.0.get("version")?.as_i64()
    }

    pub(super) fn limit(&self) -> usize {
        let asked =
            self.0.get("limit").and_then(Value::as_u64).map(|limit| usize::try_from(limit).unwrap_or(MAX_LIMIT));
        asked.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT)
    }

    pub(super) fn object(&self, name: &str) -> Option<&Map<String, Value>> {
        self.0.get(name)?.as_object()
    }

    pub(super) fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.0.contains_key(*name))
    }
}

/// `title: 1-500 characters, project_id?: uuid`: each name, whether it is optional, and what it may be.
pub(super) fn names(fields: &[Field]) -> String {
    let name = |field: &Field| format!("{}{}: {}", field.name, if field.required { "" } else { "?" }, field.in_short());
    list(fields.iter().map(name))
}

fn listing(fields: &[Field]) -> String {
    if fields.is_empty() {
        return "this tool takes no arguments".into();
    }
    let name =
        |field: &Field| if field.required { format!("{} (required)", field.name) } else { field.name.to_owned() };
    format!("valid arguments: {}", list(fields.iter().map(name)))
}

/// `a, b, c`.
pub(super) fn list<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &[Field] = &[
        required("title", ArgumentType::Line { max: 5 }, "A title."),
        optional("project_id", ArgumentType::Id, "A project."),
        optional("limit", ArgumentType::Limit, "How many."),
        optional("rel", ArgumentType::Relation, "A relation."),
    ];

    fn refused(given: Value, says: &[&str]) {
        let error = Arguments::check(FIELDS, &given).expect_err("refused");
        for part in says {
            assert!(error.contains(part), "{error:?} does not say {part:?}");
        }
        assert!(error.contains("valid arguments: title (required), project_id, limit, rel"), "{error}");
    }

    #[test]
    fn an_error_names_the_argument_what_was_expected_and_what_is_valid() {
        refused(json!([1]), &["must be an object", "[1]"]);
        refused(json!({}), &["missing argument `title`"]);
        refused(json!({"title": null}), &["missing argument `title`"]);
        refused(json!({"title": "x", "colour": 1}), &["unknown argument \"colour\""]);
        refused(json!({"title": 7}), &["`title` is 7", "expected a string of 1 to 5 characters"]);
        refused(json!({"title": "sixsix"}), &["`title` is \"sixsix\""]);
        refused(json!({"title": "  "}), &["not blank"]);
        refused(json!({"title": "x", "project_id": "p1"}), &["`project_id` is \"p1\"", "a full UUID"]);
        refused(json!({"title": "x", "limit": 0}), &["`limit` is 0"]);
        refused(json!({"title": "x", "limit": "5"}), &["`limit` is \"5\""]);
        refused(json!({"title": "x", "rel": "Has Document"}), &["`rel`"]);
    }

    #[test]
    fn lengths_count_characters_not_bytes_and_limits_are_capped() {
        let arguments = Arguments::check(FIELDS, &json!({"title": "ééééé", "limit": 9_000})).expect("fits");
        assert_eq!(arguments.limit(), MAX_LIMIT);
        assert_eq!(arguments.required_text("title"), "ééééé");
    }

    #[test]
    fn a_null_is_an_argument_not_given() {
        let arguments = Arguments::check(FIELDS, &json!({"title": "x", "limit": null})).expect("fits");
        assert_eq!(arguments.limit(), DEFAULT_LIMIT);
    }

    #[test]
    fn a_long_value_is_not_echoed_whole() {
        let error = Arguments::check(FIELDS, &json!({"title": "y".repeat(10_000)})).expect_err("refused");
        assert!(error.len() < 400 && error.contains("(10000 characters)"), "{error}");
    }
}
