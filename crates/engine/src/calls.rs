//! Tool calls as a machine remembers them, and what is recorded of their outcomes. Each machine
//! decides which of its facts carry that record.

use crate::answer::NOT_RUN;
use crate::blob::BlobRef;
use crate::effect::{EffectId, ToolOutcome};
use crate::ids::ActorId;
use crate::lessons::LessonRef;
use crate::run::Facts;
use crate::workspace::Artifacts;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool call as the state of a run has it: requested, and perhaps answered. `ToolCall` is what a performer is given.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecordedCall {
    pub id: EffectId,
    pub tool: String,
    pub arguments: Value,
    pub purpose: String,
    pub repair_of: Option<EffectId>,
    pub result: Option<CallResult>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CallResult {
    pub ok: bool,
    pub summary: String,
    pub content: BlobRef,
    /// How many characters the content has, where they are fewer than its bytes.
    #[serde(default)]
    pub chars: Option<u32>,
    pub seq: u64,
}

impl CallResult {
    /// About how many bytes so many characters of the content take.
    pub fn bytes_of(&self, chars: u32) -> u32 {
        let (bytes, all) = (u64::from(self.content.bytes), u64::from(self.chars.unwrap_or(self.content.bytes)).max(1));
        u32::try_from((u64::from(chars) * bytes).div_ceil(all)).unwrap_or(u32::MAX)
    }
}

/// An answer that did not fit its role's schema.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RejectedAnswer {
    pub errors: Vec<String>,
    pub response: BlobRef,
}

pub fn open(calls: &[RecordedCall]) -> impl Iterator<Item = &RecordedCall> {
    calls.iter().filter(|call| call.result.is_none())
}

pub fn answered(calls: &[RecordedCall]) -> impl Iterator<Item = (&RecordedCall, &CallResult)> {
    calls.iter().filter_map(|call| Some((call, call.result.as_ref()?)))
}

/// The most calls beyond the limit that are recorded one by one. The next call's record stands for all the rest, because an
/// answer may hold thousands.
const RECORDED_OVER_LIMIT: usize = 32;

/// The calls of one answer that are recorded (`most` of them are carried out), and how many were left out.
pub fn calls_to_record<T>(mut calls: Vec<T>, most: usize) -> (Vec<T>, usize) {
    let left_out = calls.len().saturating_sub(most + RECORDED_OVER_LIMIT + 1);
    calls.truncate(most + RECORDED_OVER_LIMIT + 1);
    (calls, left_out)
}

/// The refusal of the call that stands for all that were left out.
pub fn refusal_of_left_out(index: usize, most: usize, left_out: usize) -> Option<String> {
    let last = index == most + RECORDED_OVER_LIMIT && left_out > 0;
    last.then(|| format!("{NOT_RUN}; nor were {left_out} more calls of this answer"))
}

/// The recorded outcome of one call.
pub struct CallRecord {
    pub ok: bool,
    /// One or two lines for the journal.
    pub summary: String,
    /// What goes back to the model, whole.
    pub result: BlobRef,
    pub chars: Option<u32>,
    pub artifacts: Artifacts,
    pub lesson: Option<LessonRef>,
}

/// Records a call's result and changes; they belong to the next fact pushed. `by` is the subagent that made the call.
pub fn record(outcome: &ToolOutcome, by: Option<ActorId>, facts: &mut Facts) -> CallRecord {
    match &outcome.result {
        Ok(output) => {
            outcome.mutations.iter().for_each(|mutation| facts.mutate_by(by, mutation.clone()));
            let text = output.content.to_string();
            let chars = fewer_chars(&text);
            CallRecord {
                ok: true,
                summary: output.summary.clone(),
                result: facts.store_text(text),
                chars,
                artifacts: Artifacts::of(&outcome.mutations),
                lesson: LessonRef::by(&outcome.mutations),
            }
        }
        Err(error) => refused(error, facts),
    }
}

/// The record of a call that was not carried out, or failed.
pub fn refused(error: &str, facts: &mut Facts) -> CallRecord {
    CallRecord {
        ok: false,
        summary: error.chars().take(400).collect(),
        result: facts.store_text(Value::from(error).to_string()),
        chars: None,
        artifacts: Artifacts::default(),
        lesson: None,
    }
}

/// The arguments of a call for a journal: short ones whole, the beginning of long ones.
pub fn key_arguments(arguments: &Value) -> String {
    match arguments.as_object() {
        Some(map) => {
            map.iter().map(|(name, value)| format!("{name}: {}", argument(value))).collect::<Vec<_>>().join(", ")
        }
        None => argument(arguments),
    }
}

/// A text stays within its quotes when it is cut.
pub(crate) fn argument(value: &Value) -> String {
    const MAX_ARGUMENT_CHARS: usize = 60;
    let json = match value {
        Value::String(text) if text.chars().count() > MAX_ARGUMENT_CHARS => {
            let beginning: String = text.chars().take(MAX_ARGUMENT_CHARS).collect();
            return Value::from(format!("{beginning}…")).to_string();
        }
        other => other.to_string(),
    };
    match json.char_indices().nth(MAX_ARGUMENT_CHARS).filter(|_| !value.is_string()) {
        Some((end, _)) => format!("{}…", &json[..end]),
        None => json,
    }
}

/// The text's length in characters, when that is less than its length in bytes.
fn fewer_chars(text: &str) -> Option<u32> {
    let chars = text.chars().count();
    (chars < text.len()).then(|| u32::try_from(chars).unwrap_or(u32::MAX))
}
