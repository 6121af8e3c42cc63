//! Model providers as configured: sections of files, and the vendors' usual variables. What they mean,
//! and what they lack, is judged by the model gateway when a model is needed.

use super::Environment;
use super::origins::{Origin, Setting};
use super::show::{Line, without_secret};
use effects::model::ProviderConfig;
use std::collections::BTreeMap;

pub type Sections = BTreeMap<String, Setting<ProviderConfig>>;

/// Name, key variable, address variable.
pub const VENDORS: [(&str, &str, &str); 2] =
    [("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL"), ("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")];

/// Providers with their addresses and whether their key is there; never the key.
pub fn lines(sections: &Sections, environment: &Environment) -> Vec<Line> {
    let mut lines: Vec<Line> =
        sections.iter().flat_map(|(name, section)| declared(name, section, environment)).collect();
    for (name, key, url) in VENDORS {
        lines.extend(from_variable(&format!("providers.{name}.api_key"), key, environment, |_| "(set)".into()));
        if sections.get(name).is_none_or(|section| section.value.base_url.is_none()) {
            lines.extend(from_variable(&format!("providers.{name}.base_url"), url, environment, without_secret));
        }
    }
    lines.push(Line { key: "providers.rehearsal.kind".into(), value: "rehearsal".into(), origin: Origin::Default });
    lines
}

fn declared(name: &str, section: &Setting<ProviderConfig>, environment: &Environment) -> Vec<Line> {
    let Setting { value, origin } = section;
    let at = |key: &str, value: String| Line { key: format!("providers.{name}.{key}"), value, origin: origin.clone() };
    let mut lines = Vec::new();
    lines.extend(value.kind.map(|kind| at("kind", kind.name().into())));
    lines.extend(value.base_url.as_ref().map(|url| at("base_url", without_secret(url))));
    lines.extend(value.api_key_env.as_ref().map(|variable| {
        let state = if environment.get(variable).is_some() { "set" } else { "not set" };
        at("api_key_env", format!("{variable} ({state})"))
    }));
    lines.extend(value.models.keys().map(|model| at(&format!("models.{model}"), "(declared)".into())));
    lines
}

fn from_variable(key: &str, variable: &str, environment: &Environment, shown: impl Fn(&str) -> String) -> Option<Line> {
    let value = environment.get(variable)?;
    Some(Line { key: key.into(), value: shown(value), origin: Origin::Variable(variable.into()) })
}
