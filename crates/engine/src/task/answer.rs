//! What a subagent answers: its next step, and what it wants to remember.

use crate::answer::{CheckedAnswer, nullable, too_long};
use crate::facts::task::StepAction;
use serde::Deserialize;
use serde_json::Value;

const MAX_PARAMS_BYTES: usize = 200_000;

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StepAnswer {
    pub action: StepAction,
    #[serde(default)]
    pub path: Option<String>,
    #[serde(default)]
    pub action_name: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub params: Value,
    #[serde(default)]
    pub message: Option<String>,
    #[serde(default)]
    pub thought: Option<String>,
}

impl CheckedAnswer for StepAnswer {
    fn errors(&self) -> Vec<String> {
        let mut errors: Vec<String> = Vec::new();
        let mut text =
            |field: &str, text: &Option<String>| errors.extend(text.iter().filter_map(|text| too_long(field, text)));
        text("path", &self.path);
        text("action_name", &self.action_name);
        text("message", &self.message);
        text("thought", &self.thought);
        match self.action {
            StepAction::Navigate if !self.path.as_ref().is_some_and(|path| path.starts_with('/')) => {
                errors.push("navigate needs a path that begins with /".into());
            }
            StepAction::Execute if self.action_name.as_ref().is_none_or(|name| name.trim().is_empty()) => {
                errors.push("execute needs action_name, one of the actions listed on the page".into());
            }
            StepAction::Execute if !(self.params.is_object() || self.params.is_null()) => {
                errors.push("params must be an object".into());
            }
            _ => {}
        }
        let params = self.params.to_string().len();
        if params > MAX_PARAMS_BYTES {
            errors.push(format!("params have {params} bytes; {MAX_PARAMS_BYTES} is the most"));
        }
        errors
    }
}

/// `null` and `""` keep what is there.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ReflectionAnswer {
    #[serde(default)]
    pub scratchpad: Option<String>,
}

impl CheckedAnswer for ReflectionAnswer {
    fn errors(&self) -> Vec<String> {
        Vec::new()
    }
}
