//! Reading what a role answered: leniently (nullable fields may be absent, unknown fields are ignored, prose
//! around the JSON is tolerated), then checked strictly, so that one repair can put right what is wrong.
//! It knows no role; each machine declares its own answers.

use crate::schema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The most tool calls of one answer that are carried out.
pub const MAX_TOOL_CALLS: usize = 8;
/// The result recorded for a call beyond a limit.
pub const NOT_RUN: &str = "not run: limit";
/// The most errors sent back: one repair can fix about this many.
const MAX_ERRORS: usize = 20;
const MAX_TEXT_BYTES: usize = 20_000;
const MAX_LIST_ITEMS: usize = 50;

/// `null` and absent both mean the default.
pub fn nullable<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct CallAnswer {
    pub tool: String,
    #[serde(default, deserialize_with = "arguments")]
    pub arguments: Value,
    #[serde(default, deserialize_with = "nullable")]
    pub purpose: String,
}

/// An object, or, as some models write it, the text of one.
pub(crate) fn arguments<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Object(map)) => Value::Object(map),
            _ => Value::String(text),
        },
        other => other,
    })
}

/// Everything wrong with an answer of the right shape.
pub trait CheckedAnswer {
    /// The role whose schema it must fit.
    fn role() -> Option<crate::model::Role> {
        None
    }
    fn errors(&self) -> Vec<String>;
}

/// An answer, or everything that is wrong with it.
pub fn read<T: DeserializeOwned + CheckedAnswer>(reply: &crate::effect::ModelReply) -> Result<T, Vec<String>> {
    if reply.truncated {
        return Err(vec!["the answer was cut off at the token limit; answer again, shorter".into()]);
    }
    let value = crate::json::extract(&reply.text).map_err(|error| vec![error])?;
    let answer: T = T::deserialize(&value).map_err(|error| schema_errors::<T>(&value, &error))?;
    let mut errors = answer.errors();
    let mut said = std::collections::HashSet::new();
    errors.retain(|error| said.insert(error.clone()));
    errors.truncate(MAX_ERRORS);
    if errors.is_empty() { Ok(answer) } else { Err(errors) }
}

/// Everything in which an answer departs from its role's schema, by place; what the schema cannot say, in serde's words.
fn schema_errors<T: CheckedAnswer>(value: &Value, error: &serde_json::Error) -> Vec<String> {
    let mut errors = Vec::new();
    if let Some(role) = T::role() {
        schema::schema_errors(value, &crate::prompts::schema(role).value, "", &mut errors);
    }
    if errors.is_empty() {
        errors.push(error.to_string());
    }
    errors.truncate(MAX_ERRORS);
    errors
}

pub(crate) fn too_long(field: &str, text: &str) -> Option<String> {
    (text.len() > MAX_TEXT_BYTES).then(|| format!("{field} has {} bytes; {MAX_TEXT_BYTES} is the most", text.len()))
}

pub(crate) fn too_many(field: &str, length: usize) -> Option<String> {
    (length > MAX_LIST_ITEMS).then(|| format!("{field} has {length} items; {MAX_LIST_ITEMS} is the most"))
}
