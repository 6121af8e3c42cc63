//! The `[providers.NAME]` sections of the configuration, with what the well-known environment variables add. Knows nothing of HTTP.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Every configured provider by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Providers(pub BTreeMap<String, ProviderConfig>);

/// The wire format a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderKind {
    /// Chat Completions, of OpenAI or a compatible server.
    Openai,
    /// Anthropic Messages.
    Anthropic,
    /// The built-in model that needs no server.
    Rehearsal,
}

/// How a server is asked for structured output. A configured mode is never changed; otherwise modes fall back in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaMode {
    /// The server gets the schema and enforces it.
    #[serde(alias = "strict", alias = "json_schema")]
    Schema,
    /// The server returns some JSON object; the schema is in the prompt.
    JsonObject,
    /// The server promises nothing; the schema is in the prompt.
    #[serde(alias = "prompt_only")]
    Text,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderConfig {
    /// May be left out if the provider has the name of its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ProviderKind>,
    /// With or without `/v1`. Without a key it is a keyless server, whose price is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The environment variable with the key. The key itself is never part of the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_mode: Option<SchemaMode>,
    /// `false` for servers whose streaming does not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    #[serde(default, skip_serializing_if = "ProviderTimeouts::is_usual")]
    pub timeouts: ProviderTimeouts,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, ModelTerms>,
}

/// Timeouts of a server that is slower or faster than most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderTimeouts {
    /// Until the first byte of a streamed answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte_seconds: Option<u64>,
    /// Between two pieces of a streamed answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_seconds: Option<u64>,
    /// For the whole answer; the only timeout of an answer that is not streamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_seconds: Option<u64>,
}

impl ProviderTimeouts {
    fn is_usual(&self) -> bool {
        *self == ProviderTimeouts::default()
    }
}

/// Corrections and additions to the price table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelTerms {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_per_mtok: Option<f64>,
    /// The price of other input, if this is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_per_mtok: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_per_mtok: Option<f64>,
}

/// A mistake in the configuration. The text names the value and says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub String);

pub const REHEARSAL: &str = "rehearsal";

impl ProviderKind {
    pub fn name(self) -> &'static str {
        match self {
            ProviderKind::Openai => "openai",
            ProviderKind::Anthropic => "anthropic",
            ProviderKind::Rehearsal => REHEARSAL,
        }
    }

    fn named(name: &str) -> Option<ProviderKind> {
        [ProviderKind::Openai, ProviderKind::Anthropic, ProviderKind::Rehearsal]
            .into_iter()
            .find(|kind| kind.name() == name)
    }

    fn vendor(self) -> Option<Vendor> {
        let (key_variable, url_variable, url) = match self {
            ProviderKind::Openai => ("OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com"),
            ProviderKind::Anthropic => ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
            ProviderKind::Rehearsal => return None,
        };
        Some(Vendor { key_variable, url_variable, url })
    }
}

/// The service of the company that defined a wire format, and the well-known variables for it.
struct Vendor {
    key_variable: &'static str,
    url_variable: &'static str,
    url: &'static str,
}

/// The environment variables that a provider's key and address are read from, if any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderVariables {
    pub api_key: Option<String>,
    pub url: Option<String>,
}

impl ProviderConfig {
    /// The well-known variables belong to the vendor's own service: its key must not go to another server of the same format.
    pub fn sources(&self, name: &str) -> ProviderVariables {
        let kind = self.kind.or_else(|| ProviderKind::named(name));
        let vendor = kind.filter(|kind| kind.name() == name || self.base_url.is_none()).and_then(ProviderKind::vendor);
        let api_key = vendor.as_ref().map(|vendor| vendor.key_variable.to_owned());
        let url = vendor.filter(|_| self.base_url.is_none()).map(|vendor| vendor.url_variable.to_owned());
        ProviderVariables { api_key: self.api_key_env.clone().or(api_key), url }
    }
}

/// One provider with every default filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedProvider {
    pub name: String,
    pub kind: ProviderKind,
    /// `None` for rehearsal only.
    pub base_url: Option<String>,
    pub api_key: Option<String>,
    pub schema_mode: Option<SchemaMode>,
    pub stream: bool,
    pub timeouts: ProviderTimeouts,
    pub models: BTreeMap<String, ModelTerms>,
}

impl Providers {
    /// The providers that can be used: the configured ones, those whose variables are set, and rehearsal.
    pub fn resolve(&self, env: &dyn Fn(&str) -> Option<String>) -> Result<Vec<ResolvedProvider>, ConfigError> {
        let env = |name: &str| env(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let mut providers = self.0.clone();
        for kind in [ProviderKind::Openai, ProviderKind::Anthropic, ProviderKind::Rehearsal] {
            let named = |vendor: Vendor| env(vendor.key_variable).or_else(|| env(vendor.url_variable)).is_some();
            if kind.vendor().is_none_or(named) {
                providers.entry(kind.name().to_owned()).or_default();
            }
        }
        providers.into_iter().map(|(name, config)| resolve_one(name, config, &env)).collect()
    }
}

fn resolve_one(
    name: String,
    config: ProviderConfig,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<ResolvedProvider, ConfigError> {
    let kind = config.kind.or_else(|| ProviderKind::named(&name)).ok_or_else(|| {
        ConfigError(format!("provider {name:?} has no kind; write kind = \"openai\", \"anthropic\" or \"rehearsal\" under [providers.{name}]"))
    })?;
    let ProviderVariables { api_key, url } = config.sources(&name);
    let base_url = config.base_url.clone().or_else(|| env(&url?));
    let api_key = match &config.api_key_env {
        Some(variable) => Some(env(variable).ok_or_else(|| {
            ConfigError(format!("provider {name:?} takes its key from {variable}, which is not set; export {variable}=… or remove api_key_env"))
        })?),
        None => api_key.and_then(|variable| env(&variable)),
    };
    let vendor = kind.vendor();
    if base_url.is_none()
        && api_key.is_none()
        && let Some(Vendor { key_variable, url, .. }) = &vendor
    {
        return Err(ConfigError(format!(
            "provider {name:?} has neither a key nor a base_url; export {key_variable}=… to use {url}, or set base_url to a keyless server"
        )));
    }
    let base_url = base_url.or_else(|| vendor.map(|vendor| vendor.url.to_owned()));
    Ok(ResolvedProvider {
        name,
        kind,
        base_url,
        api_key,
        schema_mode: config.schema_mode,
        stream: config.stream.unwrap_or(true),
        timeouts: config.timeouts,
        models: config.models,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(providers: &Providers, variables: &[(&str, &str)]) -> Result<Vec<ResolvedProvider>, ConfigError> {
        let variables: BTreeMap<String, String> = variables.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        providers.resolve(&|name| variables.get(name).cloned())
    }

    fn names(resolved: &[ResolvedProvider]) -> Vec<&str> {
        resolved.iter().map(|provider| provider.name.as_str()).collect()
    }

    #[test]
    fn without_configuration_only_rehearsal_is_available() {
        assert_eq!(names(&resolve(&Providers::default(), &[]).unwrap()), ["rehearsal"]);
    }

    #[test]
    fn e3_a_base_url_without_a_key_is_a_keyless_server() {
        let resolved = resolve(&Providers::default(), &[("OPENAI_BASE_URL", "http://127.0.0.1:1")]).unwrap();
        assert_eq!(names(&resolved), ["openai", "rehearsal"]);
        assert_eq!(
            (resolved[0].base_url.as_deref(), resolved[0].api_key.as_deref()),
            (Some("http://127.0.0.1:1"), None)
        );
    }

    #[test]
    fn the_vendors_key_is_not_sent_to_another_server_of_the_same_kind() {
        let local = ProviderConfig {
            kind: Some(ProviderKind::Openai),
            base_url: Some("http://127.0.0.1:9".into()),
            ..Default::default()
        };
        let providers = Providers([("local".to_owned(), local)].into());
        let resolved = resolve(&providers, &[("OPENAI_API_KEY", "sk-1"), ("ANTHROPIC_API_KEY", "sk-2")]).unwrap();
        assert_eq!(names(&resolved), ["anthropic", "local", "openai", "rehearsal"]);
        assert_eq!(resolved[1].api_key, None);
        assert_eq!(resolved[2].base_url.as_deref(), Some("https://api.openai.com"));
    }

    #[test]
    fn a_missing_key_variable_is_named() {
        let own = ProviderConfig {
            kind: Some(ProviderKind::Openai),
            api_key_env: Some("MY_KEY".into()),
            ..Default::default()
        };
        let error = resolve(&Providers([("own".to_owned(), own)].into()), &[]).unwrap_err();
        assert!(error.0.contains("MY_KEY") && error.0.contains("own"), "{error}");
        let error = resolve(&Providers([("openai".to_owned(), ProviderConfig::default())].into()), &[]).unwrap_err();
        assert!(error.0.contains("OPENAI_API_KEY"), "{error}");
        let error = resolve(&Providers([("odd".to_owned(), ProviderConfig::default())].into()), &[]).unwrap_err();
        assert!(error.0.contains("kind"), "{error}");
    }
}
