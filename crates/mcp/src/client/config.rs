//! The configuration of an MCP server. `${NAME}` in a value is replaced by a variable of our environment. The server gets no other
//! variable of it, except a short list that every program needs.

use effects::tools::Approval;
use engine::ids::ProjectId;
use serde::Deserialize;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
const MAX_TIMEOUT_SECONDS: u64 = 3_600;

#[derive(Clone, Debug)]
pub struct ServerConfig {
    pub name: String,
    pub transport: Transport,
    /// Only these of its tools; `None` for all.
    pub tools: Option<Vec<String>>,
    /// Tools that only read, as the configuration says.
    pub read_only: Vec<String>,
    pub projects: Vec<ProjectId>,
    pub approval: Approval,
    /// How long a call may go without progress.
    pub timeout: Duration,
}

#[derive(Clone, Debug)]
pub enum Transport {
    Stdio { command: String, args: Vec<String>, env: BTreeMap<String, String> },
    Http { url: String, headers: BTreeMap<String, String> },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("mcp.{server}: {why}")]
pub struct ConfigError {
    pub server: String,
    pub why: String,
}

/// A section of our configuration file or another program's.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ConfigSection {
    command: Option<String>,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    url: Option<String>,
    headers: BTreeMap<String, String>,
    tools: Option<Vec<String>>,
    read_only: Vec<String>,
    projects: Vec<ProjectId>,
    approve: Option<String>,
    timeout_s: Option<u64>,
}

impl ServerConfig {
    pub fn read(
        name: &str,
        section: serde_json::Value,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<ServerConfig, ConfigError> {
        let bad = |why: String| ConfigError { server: name.into(), why };
        let usable = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > 40 || !name.chars().all(usable) || name.contains(super::SEPARATOR) {
            return Err(bad("a server's name has 1 to 40 letters, digits, - and _, and no double underscore".into()));
        }
        let section: ConfigSection = serde_json::from_value(section).map_err(|error| bad(error.to_string()))?;
        let expanded = |text: &String| expand(text, variable).map_err(bad);
        let table = |table: &BTreeMap<String, String>| {
            table.iter().map(|(key, value)| Ok((key.clone(), expanded(value)?))).collect::<Result<_, ConfigError>>()
        };
        let transport = match (&section.command, &section.url) {
            (Some(command), None) => Transport::Stdio {
                command: expanded(command)?,
                args: section.args.iter().map(expanded).collect::<Result<_, _>>()?,
                env: table(&section.env)?,
            },
            (None, Some(url)) => {
                Transport::Http { url: checked(expanded(url)?).map_err(bad)?, headers: table(&section.headers)? }
            }
            (Some(_), Some(_)) => return Err(bad("give either command or url, not both".into())),
            (None, None) => {
                return Err(bad(
                    "give command (a program that speaks MCP over standard input and output) or url".into()
                ));
            }
        };
        let timeout = match section.timeout_s {
            None => DEFAULT_TIMEOUT,
            Some(seconds) if (1..=MAX_TIMEOUT_SECONDS).contains(&seconds) => Duration::from_secs(seconds),
            Some(seconds) => return Err(bad(format!("timeout_s is {seconds}; it must be 1 to {MAX_TIMEOUT_SECONDS}"))),
        };
        let approve = section.approve.as_deref().unwrap_or(Approval::Never.name());
        let approval = Approval::parse(approve)
            .ok_or_else(|| bad(format!("approve is `{approve}`; it must be never, tainted or always")))?;
        let ConfigSection { tools, read_only, projects, .. } = section;
        Ok(ServerConfig { name: name.into(), transport, tools, read_only, projects, approval, timeout })
    }

    /// The prefix of the names of this server's tools.
    pub fn prefix(&self) -> String {
        format!("{}{}", self.name, super::SEPARATOR)
    }
}

/// Every variable that a server's section names.
pub fn variables(section: &serde_json::Value) -> BTreeSet<String> {
    let found = RefCell::new(BTreeSet::new());
    let note = |name: &str| {
        found.borrow_mut().insert(name.to_owned());
        Some(String::new())
    };
    let mut rest = vec![section];
    while let Some(value) = rest.pop() {
        match value {
            // A text that cannot be expanded is refused later, before any variable of it is read.
            serde_json::Value::String(text) => drop(expand(text, &note)),
            serde_json::Value::Array(items) => rest.extend(items),
            serde_json::Value::Object(fields) => rest.extend(fields.values()),
            _ => {}
        }
    }
    found.into_inner()
}

fn checked(url: String) -> Result<String, String> {
    let parsed = reqwest::Url::parse(&url).map_err(|error| format!("url is not a URL: {error}"))?;
    match parsed.scheme() {
        "http" | "https" if parsed.password().is_none() => Ok(url),
        "http" | "https" => Err("url contains a password; send it in headers instead".into()),
        other => Err(format!("url must begin with http:// or https://, not {other}:")),
    }
}

fn expand(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, tail) = after.split_once('}').ok_or_else(|| format!("`{text}` has ${{ without a closing }}"))?;
        let (name, otherwise) = name.split_once(":-").map_or((name, None), |(name, text)| (name, Some(text)));
        let value = variable(name).or_else(|| otherwise.map(str::to_owned));
        out.push_str(before);
        out.push_str(
            &value
                .ok_or_else(|| format!("the variable {name} is not set; export it, or write ${{{name}:-default}}"))?,
        );
        rest = tail;
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(name: &str, section: Value) -> Result<ServerConfig, String> {
        let variable = |name: &str| (name == "KEY").then(|| "k1".to_owned());
        ServerConfig::read(name, section, &variable).map_err(|error| error.to_string())
    }

    #[test]
    fn a_section_with_a_command_is_stdio_and_one_with_a_url_is_http() {
        let files = read(
            "files",
            json!({"type": "stdio", "command": "npx", "args": ["x", "${KEY}"], "env": {"A": "${NO:-b}"}}),
        );
        let Transport::Stdio { args, env, .. } = files.expect("read").transport else { panic!("a program") };
        assert_eq!((args[1].as_str(), env["A"].as_str()), ("k1", "b"));
        let web =
            read("web", json!({"url": "https://example.org/mcp?key=1", "headers": {"authorization": "Bearer ${KEY}"}}));
        let Transport::Http { headers, .. } = web.expect("read").transport else { panic!("an address") };
        assert_eq!(headers["authorization"], "Bearer k1");
    }

    #[test]
    fn every_variable_of_a_section_is_found() {
        let section =
            json!({"command": "${A}", "args": ["-x", "${B:-b}${C}"], "env": {"D": "${E}"}, "headers": {"f": "${G"}});
        assert_eq!(variables(&section).into_iter().collect::<Vec<_>>(), ["A", "B", "C", "E"]);
    }

    #[test]
    fn an_invalid_section_is_refused_with_its_reason() {
        for (name, section, says) in [
            ("a__b", json!({"command": "x"}), "double underscore"),
            ("a b", json!({"command": "x"}), "letters"),
            ("a", json!({}), "give command"),
            ("a", json!({"command": "x", "url": "http://h/"}), "not both"),
            ("a", json!({"url": "file:///x"}), "must begin with"),
            ("a", json!({"url": "https://u:p@h/"}), "password"),
            ("a", json!({"command": "${MISSING}"}), "MISSING is not set"),
            ("a", json!({"command": "x", "timeout_s": 0}), "timeout_s is 0"),
            ("a", json!({"command": "x", "approve": "maybe"}), "approve is `maybe`"),
            ("a", json!({"command": "x", "projects": ["p"]}), "mcp.a"),
        ] {
            let error = read(name, section.clone()).expect_err("refused");
            assert!(error.contains(says), "{section}: {error}");
        }
    }
}
