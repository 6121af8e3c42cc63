//! What a configuration file of the working directory would do if it were trusted: programs it starts, addresses it sends to,
//! variables it reads, directories it opens. Shown before the person is asked.

use super::local::LocalFile;
use effects::model::ProviderConfig;
use serde_json::Value;
use std::collections::BTreeSet;

#[derive(Debug, Default)]
pub(crate) struct TrustPreview {
    pub acts: Vec<KeyMeaning>,
    /// Environment variables that it reads and passes on.
    pub variables: BTreeSet<String>,
}

/// What one key would do.
#[derive(Debug)]
pub(crate) struct KeyMeaning {
    pub key: String,
    pub does: Vec<String>,
}

impl TrustPreview {
    pub(crate) fn of(file: &LocalFile) -> TrustPreview {
        let mut trust_preview = TrustPreview::default();
        for (name, server) in &file.risky.mcp {
            trust_preview.server(name, &server.value);
        }
        for (name, provider) in &file.risky.providers {
            trust_preview.provider(name, &provider.value);
        }
        for (key, setting) in &file.risky.settings {
            trust_preview.setting(key, &setting.value);
        }
        trust_preview
    }

    fn add(&mut self, key: impl Into<String>, does: Vec<String>) {
        self.acts.push(KeyMeaning { key: key.into(), does });
    }

    fn server(&mut self, name: &str, section: &Value) {
        let variables = mcp::client::variables(section);
        let texts = |key: &str| match &section[key] {
            Value::Array(items) => items.iter().map(text_of).collect::<Vec<_>>(),
            Value::Object(fields) => fields.iter().map(|(name, value)| format!("{name}={}", text_of(value))).collect(),
            _ => Vec::new(),
        };
        let with = |word: &str, all: Vec<String>| (!all.is_empty()).then(|| format!("{word} {}", all.join(" ")));
        let mut does = Vec::new();
        if let Some(command) = section.get("command") {
            let line: Vec<String> = std::iter::once(text_of(command)).chain(texts("args")).collect();
            does.push(format!("runs {}", line.join(" ")));
            does.extend(with("with", texts("env")));
        }
        if let Some(url) = section.get("url") {
            does.push(format!("calls {}", text_of(url)));
            does.extend(with("with headers", texts("headers")));
        }
        if !variables.is_empty() {
            does.push(format!("is given your {}", list(&variables)));
        }
        for key in ["read_only", "approve"] {
            does.extend(section.get(key).map(|value| format!("{key} = {value}")));
        }
        self.variables.extend(variables);
        self.add(format!("mcp.{name}"), does);
    }

    fn provider(&mut self, name: &str, section: &ProviderConfig) {
        let sources = section.sources(name);
        let to = match (&section.base_url, &sources.url) {
            (Some(url), _) => quoted(url),
            (None, Some(variable)) => format!("the address in {variable}, or the vendor's own"),
            (None, None) => "this machine".to_owned(),
        };
        let mut does = vec![format!("sends prompts to {to}")];
        does.extend(sources.api_key.iter().map(|variable| format!("sends your {variable} there as the key")));
        if !section.models.is_empty() {
            let names: Vec<String> = section.models.keys().map(|name| quoted(name)).collect();
            does.push(format!("sets price and context of {}", names.join(", ")));
        }
        self.variables.extend(sources.api_key.into_iter().chain(sources.url));
        self.add(format!("providers.{name}"), does);
    }

    fn setting(&mut self, key: &str, value: &str) {
        let sent: &[&str] = match key {
            "server" => &["PLEACH_TOKEN"],
            "otlp_endpoint" => &["OTEL_EXPORTER_OTLP_HEADERS"],
            _ => &[],
        };
        let mut does = vec![format!("{key} = {}: {}", quoted(value), meaning(key))];
        does.extend(sent.iter().map(|variable| format!("sends your {variable} there")));
        self.variables.extend(sent.iter().map(|variable| (*variable).to_owned()));
        self.add(key, does);
    }
}

fn meaning(key: &str) -> &'static str {
    match key {
        "server" => "commands go to that server instead of this machine's database",
        "otlp_endpoint" => "traces of runs are sent there",
        "files_dir" => "runs may read the files in that directory",
        "files_write" => "runs may write there too",
        "fetch_url" => "runs may fetch web pages",
        "fetch_private" => "runs may fetch pages from private networks",
        "fetch_hosts" => "the hosts that runs may fetch from",
        "fetch_approve" => "when you must approve a fetch",
        "data_dir" => "runs, documents and keys are kept there",
        "database" | "database_direct" => "runs, documents and keys are kept in that database",
        "listen" => "the address where the API is served",
        "public_url" => "browsers at this address are accepted",
        "webhooks_private" => "webhooks may call addresses in private networks",
        "model" | "model_fast" | "model_balanced" | "model_powerful" => "prompts are sent to that model",
        _ => "not known to be harmless",
    }
}

pub(crate) fn list(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), quoted)
}

/// As it is when it cannot be misread, else in quotes and escaped.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+%~${}?&".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text.to_owned() } else { format!("{text:?}") }
}
