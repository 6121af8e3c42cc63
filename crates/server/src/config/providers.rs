//! Configured model providers: sections of files and the usual variables of vendors. The model gateway checks them when a model
//! is needed.

use super::Environment;
use super::origins::{Origin, Setting};
use super::show::{ConfigLine, without_secret};
use effects::model::ProviderConfig;
use serde_json::Value;
use std::collections::BTreeMap;

pub(crate) type Sections = BTreeMap<String, Setting<ProviderConfig>>;

/// Name, key variable, address variable.
pub(crate) const VENDORS: [(&str, &str, &str); 2] =
    [("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL"), ("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")];

/// Providers with their addresses and whether their key is set; never the key itself.
pub(crate) fn lines(sections: &Sections, environment: &Environment) -> Vec<ConfigLine> {
    let mut lines: Vec<ConfigLine> =
        sections.iter().flat_map(|(name, section)| declared(name, section, environment)).collect();
    for (name, key, url) in VENDORS {
        lines.extend(from_variable(&format!("providers.{name}.api_key"), key, environment, |_| "(set)".into()));
        if sections.get(name).is_none_or(|section| section.value.base_url.is_none()) {
            lines.extend(from_variable(&format!("providers.{name}.base_url"), url, environment, without_secret));
        }
    }
    lines.push(ConfigLine {
        key: "providers.rehearsal.kind".into(),
        value: Some("rehearsal".into()),
        origin: Origin::Default,
    });
    lines
}

pub(crate) fn declared(name: &str, section: &Setting<ProviderConfig>, environment: &Environment) -> Vec<ConfigLine> {
    let Setting { value, origin } = section;
    let at = |key: &str, value: String| ConfigLine {
        key: format!("providers.{name}.{key}"),
        value: Some(value),
        origin: origin.clone(),
    };
    let mut lines = Vec::new();
    for (key, written) in leaves(&serde_json::json!(value)) {
        lines.push(match key.as_str() {
            "base_url" => at(&key, without_secret(&written)),
            "api_key_env" => {
                let state = if environment.get(&written).is_some() { "set" } else { "not set" };
                at(&key, format!("{written} ({state})"))
            }
            _ => at(&key, written),
        });
    }
    lines
}

/// The values of a section, each with its path.
fn leaves(section: &Value) -> Vec<(String, String)> {
    let Value::Object(fields) = section else { return Vec::new() };
    let mut found = Vec::new();
    for (key, value) in fields {
        match value {
            Value::Object(_) => {
                found.extend(leaves(value).into_iter().map(|(inner, text)| (format!("{key}.{inner}"), text)))
            }
            Value::String(text) => found.push((key.clone(), text.clone())),
            other => found.push((key.clone(), other.to_string())),
        }
    }
    found
}

fn from_variable(
    key: &str,
    variable: &str,
    environment: &Environment,
    shown: impl Fn(&str) -> String,
) -> Option<ConfigLine> {
    let value = environment.get(variable)?;
    Some(ConfigLine { key: key.into(), value: Some(shown(value)), origin: Origin::Variable(variable.into()) })
}
