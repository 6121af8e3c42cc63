//! The configured models, for all roles or for a profile. The model gateway interprets the names.

use super::origins::{BadValue, Layers, Setting};
use serde::{Deserialize, Serialize};

/// The configured names. A missing profile falls back to `all`, then to `balanced`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ModelChoice {
    pub all: Option<Setting<String>>,
    pub fast: Option<Setting<String>>,
    pub balanced: Option<Setting<String>>,
    pub powerful: Option<Setting<String>>,
}

/// The names without origins, as they are sent with a new run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ModelNames {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fast: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balanced: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub powerful: Option<String>,
}

impl ModelChoice {
    pub(crate) fn from_layers(layers: &Layers) -> Result<ModelChoice, BadValue> {
        let find = |key| layers.parse(key, "provider/model, e.g. openai/gpt-5-mini or rehearsal/default", well_formed);
        Ok(ModelChoice {
            all: find("model")?,
            fast: find("model_fast")?,
            balanced: find("model_balanced")?,
            powerful: find("model_powerful")?,
        })
    }

    /// A name for all roles beats a name for one profile from a lower layer: layers decide first.
    pub(crate) fn names(&self) -> ModelNames {
        let own = |profile: &Option<Setting<String>>| match (profile, &self.all) {
            (Some(own), Some(all)) if all.origin.layer() < own.origin.layer() => None,
            (own, _) => own.as_ref().map(|chosen| chosen.value.clone()),
        };
        let all = self.all.as_ref().map(|all| all.value.clone());
        let balanced = own(&self.balanced).or(all.clone());
        let otherwise = || all.clone().or_else(|| balanced.clone());
        ModelNames {
            fast: own(&self.fast).or_else(otherwise),
            powerful: own(&self.powerful).or_else(otherwise),
            balanced,
        }
    }
}

/// A provider alone is valid too: it may have exactly one model.
fn well_formed(text: &str) -> Option<String> {
    let ok = !text.is_empty() && !text.starts_with('/') && !text.ends_with('/') && !text.contains(char::is_whitespace);
    ok.then(|| text.to_owned())
}
