//! `pleach config show`: every setting with its origin, without secrets.

use super::origins::{Origin, Setting};
use super::{Config, Database, Ignored, providers};
use serde_json::Value;

/// One setting with its value and origin.
pub(crate) struct ConfigLine {
    pub key: String,
    /// `None` when it is not set.
    pub value: Option<String>,
    pub origin: Origin,
}

impl Config {
    pub(crate) fn lines(&self) -> Vec<ConfigLine> {
        let mut lines = vec![
            line("data_dir", self.data_dir.clone().map(|path| path.display().to_string())),
            line("database", self.database.to_text()),
            line("database_direct", self.database_direct.clone().map(|url| url.map(|url| without_password(&url)))),
            line("listen", self.listen.to_text()),
            line("public_url", self.public_url.clone().map(|url| url.map(|url| url.origin))),
            line("server", self.server.clone()),
            line("token", self.token().map(|_| secret("PLEACH_TOKEN"))),
            line("model", self.model.all.clone()),
            line("model_fast", self.model.fast.clone()),
            line("model_balanced", self.model.balanced.clone()),
            line("model_powerful", self.model.powerful.clone()),
            line("workers", self.workers.to_text()),
            line("lease_ms", self.lease_ms.to_text()),
            line("rehearsal_ms", self.rehearsal_ms.to_text()),
            line("project_items", self.project_items.to_text()),
            line("webhooks_private", self.webhooks_private.to_text()),
            line("otlp_endpoint", self.otlp_endpoint.clone().map(|url| url.map(|url| without_secret(&url)))),
            line("fetch_url", self.fetch_url.to_text()),
            line("fetch_private", self.fetch_private.to_text()),
            line("fetch_hosts", self.fetch_hosts.as_ref().map(Setting::to_text)),
            line("fetch_approve", self.fetch_approve.clone().map(|approve| approve.name().to_owned())),
            line("files_dir", self.files_dir.clone().map(|dir| dir.map(|path| path.display().to_string()))),
            line("files_write", self.files_write.to_text()),
        ];
        lines.extend(providers::lines(&self.providers, &self.environment));
        lines.extend(self.mcp.iter().flat_map(|(name, server)| mcp_server(name, server)));
        for Ignored { file, .. } in &self.ignored {
            let settings = file.settings.iter();
            lines.extend(settings.map(|(key, setting)| line(key, setting.clone().map(|text| without_secret(&text)))));
            lines.extend(
                file.providers.iter().flat_map(|(name, section)| providers::declared(name, section, &self.environment)),
            );
            lines.extend(file.mcp.iter().flat_map(|(name, server)| mcp_server(name, server)));
        }
        lines
    }
}

/// A secret is set, and that is all that is shown of it.
fn secret(variable: &str) -> Setting<String> {
    Setting { value: "(set)".into(), origin: Origin::Variable(variable.into()) }
}

/// The program or address of an MCP server and its restrictions. Arguments, variables, headers and queries may be secret.
fn mcp_server(name: &str, server: &Setting<Value>) -> Vec<ConfigLine> {
    let Setting { value: section, origin } = server;
    let at = |key: String, value: String| ConfigLine { key, value: Some(value), origin: origin.clone() };
    let text = |key: &str| section[key].as_str();
    let url = text("url").map(|url| without_secret(url.split(['?', '#']).next().unwrap_or_default()));
    let place = url.or_else(|| text("command").map(str::to_owned));
    let mut lines = vec![at(format!("mcp.{name}"), place.unwrap_or_else(|| "(neither command nor url)".into()))];
    for key in ["type", "tools", "read_only", "projects", "approve", "timeout_s"] {
        lines.extend(section.get(key).map(|value| at(format!("mcp.{name}.{key}"), value.to_string())));
    }
    lines
}

fn line(key: &str, setting: impl Into<Option<Setting<String>>>) -> ConfigLine {
    let (value, origin) = setting.into().map_or((None, Origin::Default), |found| (Some(found.value), found.origin));
    ConfigLine { key: key.into(), value, origin }
}

/// `scheme://user:secret@host/…` without the secret.
pub(crate) fn without_secret(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rsplit_once('@') {
        Some((user, host)) => match user.split_once(':') {
            Some((name, _)) => format!("{scheme}://{name}:***@{host}{}", &rest[end..]),
            None => url.to_owned(),
        },
        None => url.to_owned(),
    }
}

/// The same for PostgreSQL, whose password may have any character and may be a parameter too.
pub(crate) fn without_password(url: &str) -> String {
    let shown = match url.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.split_once('@')?))) {
        Some((scheme, (who, rest))) => match who.split_once(':') {
            Some((name, _)) => format!("{scheme}://{name}:***@{rest}"),
            None => url.to_owned(),
        },
        None => url.to_owned(),
    };
    let Some((place, parameters)) = shown.split_once('?') else { return shown };
    let hidden = |parameter: &str| match parameter.split_once('=') {
        Some(("password", _)) => "password=***".to_owned(),
        _ => parameter.to_owned(),
    };
    format!("{place}?{}", parameters.split('&').map(hidden).collect::<Vec<_>>().join("&"))
}

impl std::fmt::Display for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Database::Sqlite(path) => write!(f, "sqlite://{}", path.display()),
            Database::Postgres(url) => f.write_str(&without_password(url)),
        }
    }
}
