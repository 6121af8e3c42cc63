//! Reading what a role answered: leniently (nullable fields may be absent, unknown fields are ignored, prose
//! around the JSON is tolerated), then checked strictly, so that one repair can put right what is wrong.
//! It knows no role; each machine declares its own answers.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Tool calls of one answer that are carried out.
pub const MAX_TOOL_CALLS: usize = 8;
/// The result of what is over a limit.
pub const NOT_RUN: &str = "not run: limit";
const MAX_TEXT: usize = 20_000;
const MAX_LIST: usize = 50;

/// `null` and absent both mean the default.
pub(crate) fn nullable<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct CallAnswer {
    pub tool: String,
    #[serde(default, deserialize_with = "nullable")]
    pub arguments: Value,
    #[serde(default, deserialize_with = "nullable")]
    pub purpose: String,
}

/// Everything wrong with an answer of the right shape.
pub trait Check {
    fn errors(&self) -> Vec<String>;
}

/// An answer, or everything that is wrong with it.
pub fn read<T: DeserializeOwned + Check>(reply: &crate::effect::ModelReply) -> Result<T, Vec<String>> {
    if reply.truncated {
        return Err(vec!["the answer was cut off at the token limit; answer again, shorter".into()]);
    }
    let value = crate::json::extract(&reply.text).map_err(|error| vec![error])?;
    let answer: T = serde_json::from_value(value).map_err(|error| vec![error.to_string()])?;
    let errors = answer.errors();
    if errors.is_empty() { Ok(answer) } else { Err(errors) }
}

pub(crate) fn too_long(field: &str, text: &str) -> Option<String> {
    (text.len() > MAX_TEXT).then(|| format!("{field} has {} bytes; {MAX_TEXT} is the most", text.len()))
}

pub(crate) fn too_many(field: &str, length: usize) -> Option<String> {
    (length > MAX_LIST).then(|| format!("{field} has {length} items; {MAX_LIST} is the most"))
}
