//! Keeps the platform's properties apart from the caller's: callers may add their own, and cannot change the platform's.

use super::{ActionError, refuse};
use engine::workspace::DOC_ROLE;
use serde_json::{Map, Value};

const PLATFORM_KEYS: [&str; 6] =
    ["homework_run_id", "tree_agent_run_id", "agent_task_run_id", DOC_ROLE, "branch_id", "iteration"];

fn refuse_role(given: &Map<String, Value>) -> Result<(), ActionError> {
    match given.contains_key(DOC_ROLE) {
        true => refuse(format!("props may not contain `{DOC_ROLE}`: it marks the platform's own documents")),
        false => Ok(()),
    }
}

/// The caller's properties, with those of the creating run written over them.
pub(super) fn stamped(given: Option<&Map<String, Value>>, stamp: &Value) -> Result<Value, ActionError> {
    let mut props = given.cloned().unwrap_or_default();
    refuse_role(&props)?;
    props.extend(stamp.as_object().cloned().unwrap_or_default());
    Ok(Value::Object(props))
}

/// What an update merges: the caller's own keys whose values change.
pub(super) fn patch(given: Option<&Map<String, Value>>, current: &Value) -> Result<Option<Value>, ActionError> {
    let Some(given) = given else { return Ok(None) };
    refuse_role(given)?;
    let changes = |key: &str, value: &Value| !PLATFORM_KEYS.contains(&key) && current.get(key) != Some(value);
    let patch: Map<_, _> =
        given.iter().filter(|(key, value)| changes(key, value)).map(|(k, v)| (k.clone(), v.clone())).collect();
    Ok((!patch.is_empty()).then_some(Value::Object(patch)))
}
