//! Reads one `pleach.toml`. An unknown key is an error that names the nearest valid one: a typing error must not silently mean
//! the default.

use super::KEYS;
use super::origins::{BadValue, Origin, Setting};
use super::providers::Sections;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::path::Path;
use toml::{Table, Value};

const TABLES: [&str; 3] = ["providers", "mcp", "mcpServers"];
const PROVIDER_KEYS: [&str; 7] = ["kind", "base_url", "api_key_env", "schema_mode", "stream", "timeouts", "models"];
const TIMEOUT_KEYS: [&str; 3] = ["first_byte_seconds", "idle_seconds", "total_seconds"];
const MODEL_KEYS: [&str; 5] = ["context_window", "max_output", "input_per_mtok", "cached_per_mtok", "output_per_mtok"];
const MCP_KEYS: [&str; 11] =
    ["type", "command", "args", "env", "url", "headers", "tools", "read_only", "projects", "approve", "timeout_s"];
/// Keys that are a list in a file; flags and variables separate the items by commas.
const LISTS: [&str; 1] = ["fetch_hosts"];
/// More than anybody writes by hand.
const MAX_FILE_BYTES: u64 = 1_000_000;

#[derive(Clone, Debug, Default)]
pub(crate) struct ConfigFile {
    pub settings: BTreeMap<&'static str, Setting<String>>,
    pub providers: Sections,
    /// As written; the MCP client interprets them.
    pub mcp: Servers,
}

/// MCP servers by name.
pub(crate) type Servers = BTreeMap<String, Setting<serde_json::Value>>;

#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("{path} could not be read: {error}")]
    Unreadable { path: String, error: std::io::Error },
    #[error("{path} is not valid TOML: {error}")]
    Syntax { path: String, error: toml::de::Error },
    #[error("{path} is not valid JSON: {error}")]
    Json { path: String, error: serde_json::Error },
    #[error("{path}: unknown key `{key}`{}", nearest.as_ref().map_or_else(|| format!("; valid keys: {valid}"), |near| format!("; did you mean `{near}`?")))]
    UnknownKey { path: String, key: String, nearest: Option<String>, valid: String },
    #[error(transparent)]
    BadValue(#[from] BadValue),
}

/// A missing file counts as empty.
pub(crate) fn read(path: &Path) -> Result<ConfigFile, FileError> {
    text(path)?.map_or_else(|| Ok(ConfigFile::default()), |text| parse(path, &text))
}

/// The content, or `None` when the file is missing. Refuses pipes and devices, which could block.
pub(crate) fn text(path: &Path) -> Result<Option<String>, FileError> {
    let failed = |error| FileError::Unreadable { path: path.display().to_string(), error };
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    if !metadata.is_file() || metadata.len() > MAX_FILE_BYTES {
        return Err(failed(std::io::Error::other(format!("it is not a file of at most {MAX_FILE_BYTES} bytes"))));
    }
    let mut text = String::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(MAX_FILE_BYTES).read_to_string(&mut text));
    read.map(|_| Some(text)).map_err(failed)
}

/// `mcpServers` of a `.mcp.json`. Other keys belong to other programs and are ignored.
pub(crate) fn parse_servers(path: &Path, text: &str) -> Result<ConfigFile, FileError> {
    let unusable = |error: serde_json::Error| FileError::Json { path: path.display().to_string(), error };
    let file: serde_json::Value = serde_json::from_str(text).map_err(unusable)?;
    let servers = file["mcpServers"].as_object().cloned().unwrap_or_default();
    let origin = Origin::File(path.to_path_buf());
    let mcp = servers.into_iter().map(|(name, value)| (name, Setting { value, origin: origin.clone() })).collect();
    Ok(ConfigFile { mcp, ..ConfigFile::default() })
}

impl ConfigFile {
    /// The same values with another origin.
    pub(crate) fn from(self, origin: &Origin) -> ConfigFile {
        fn with_origin<K: Ord, T>(all: BTreeMap<K, Setting<T>>, origin: &Origin) -> BTreeMap<K, Setting<T>> {
            all.into_iter().map(|(key, setting)| (key, Setting { origin: origin.clone(), ..setting })).collect()
        }
        ConfigFile {
            settings: with_origin(self.settings, origin),
            providers: with_origin(self.providers, origin),
            mcp: with_origin(self.mcp, origin),
        }
    }

    /// Adds the keys that are missing.
    pub(crate) fn fill(&mut self, other: ConfigFile) {
        fn fill<K: Ord, T>(all: &mut BTreeMap<K, T>, more: BTreeMap<K, T>) {
            for (key, value) in more {
                all.entry(key).or_insert(value);
            }
        }
        fill(&mut self.settings, other.settings);
        fill(&mut self.providers, other.providers);
        fill(&mut self.mcp, other.mcp);
    }

    /// The names of all settings and sections.
    pub(crate) fn keys(&self) -> Vec<String> {
        let settings = self.settings.keys().map(|key| (*key).to_owned());
        let providers = self.providers.keys().map(|name| format!("providers.{name}"));
        settings.chain(providers).chain(self.mcp.keys().map(|name| format!("mcp.{name}"))).collect()
    }
}

pub(crate) fn parse(path: &Path, text: &str) -> Result<ConfigFile, FileError> {
    let table: Table = text.parse().map_err(|error| FileError::Syntax { path: path.display().to_string(), error })?;
    let mut file = ConfigFile::default();
    let reader = Reader { path };
    for (key, value) in table {
        match (key.as_str(), value) {
            ("providers", Value::Table(sections)) => file.providers = reader.providers(sections)?,
            ("mcp" | "mcpServers", Value::Table(sections)) => file.mcp.extend(reader.mcp(&key, sections)?),
            (name, value) => {
                let known = reader.known("", name, KEYS.iter().chain(&TABLES).copied())?;
                file.settings.insert(known, reader.scalar(known, value)?);
            }
        }
    }
    Ok(file)
}

struct Reader<'a> {
    path: &'a Path,
}

impl Reader<'_> {
    fn origin(&self) -> Origin {
        Origin::File(self.path.to_path_buf())
    }

    fn bad(&self, key: &str, value: &Value, valid: &str) -> FileError {
        BadValue { key: key.into(), value: shown(value), origin: self.origin(), valid: valid.into() }.into()
    }

    /// Settings stay text, so that one parser checks flags, variables and files alike.
    fn scalar(&self, key: &str, value: Value) -> Result<Setting<String>, FileError> {
        let text = match value {
            other if TABLES.contains(&key) => return Err(self.bad(key, &other, "a table of sections")),
            Value::String(text) => text,
            Value::Integer(number) => number.to_string(),
            Value::Boolean(yes) => yes.to_string(),
            Value::Array(words) if LISTS.contains(&key) && words.iter().all(Value::is_str) => {
                words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",")
            }
            other => return Err(self.bad(key, &other, "a single text or number")),
        };
        Ok(Setting { value: text, origin: self.origin() })
    }

    fn known<'k>(
        &self,
        within: &str,
        key: &str,
        valid: impl Iterator<Item = &'k str> + Clone,
    ) -> Result<&'k str, FileError> {
        if let Some(found) = valid.clone().find(|candidate| *candidate == key) {
            return Ok(found);
        }
        Err(FileError::UnknownKey {
            path: self.path.display().to_string(),
            key: format!("{within}{key}"),
            nearest: nearest(key, valid.clone()).map(|near| format!("{within}{near}")),
            valid: valid.collect::<Vec<_>>().join(", "),
        })
    }

    fn sections(&self, within: &str, table: Table, keys: &[&str]) -> Result<Vec<(String, Table)>, FileError> {
        let mut sections = Vec::new();
        for (name, value) in table {
            let place = format!("{within}.{name}");
            let Value::Table(section) = value else { return Err(self.bad(&place, &value, "a section of its own")) };
            for key in section.keys() {
                self.known(&format!("{place}."), key, keys.iter().copied())?;
            }
            sections.push((name, section));
        }
        Ok(sections)
    }

    fn providers(&self, table: Table) -> Result<Sections, FileError> {
        let mut providers = BTreeMap::new();
        for (name, section) in self.sections("providers", table, &PROVIDER_KEYS)? {
            if let Some(Value::Table(models)) = section.get("models") {
                self.sections(&format!("providers.{name}.models"), models.clone(), &MODEL_KEYS)?;
            }
            if let Some(Value::Table(timeouts)) = section.get("timeouts") {
                let place = format!("providers.{name}.timeouts.");
                timeouts.keys().try_for_each(|key| self.known(&place, key, TIMEOUT_KEYS.into_iter()).map(drop))?;
            }
            let value = Value::Table(section);
            let parsed = value
                .clone()
                .try_into()
                .map_err(|error: toml::de::Error| self.bad(&format!("providers.{name}"), &value, &one_line(&error)))?;
            providers.insert(name, Setting { value: parsed, origin: self.origin() });
        }
        Ok(providers)
    }

    fn mcp(&self, within: &str, table: Table) -> Result<Servers, FileError> {
        let sections = self.sections(within, table, &MCP_KEYS)?;
        let read = |section: Table| serde_json::to_value(section).unwrap_or_default();
        let setting = |value| Setting { value, origin: self.origin() };
        Ok(sections.into_iter().map(|(name, section)| (name, setting(read(section)))).collect())
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}

fn one_line(error: &toml::de::Error) -> String {
    error.message().lines().collect::<Vec<_>>().join(" ")
}

/// The closest valid key, when it is close enough to be a typing error.
fn nearest<'k>(key: &str, valid: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let close = valid.map(|candidate| (strsim::levenshtein(key, candidate), candidate)).min()?;
    (close.0 <= 1 + key.len() / 3).then_some(close.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(Path::new("pleach.toml"), text).unwrap_err().to_string()
    }

    #[test]
    fn an_unknown_key_names_the_nearest_one() {
        assert_eq!(error("workrs = 3"), "pleach.toml: unknown key `workrs`; did you mean `workers`?");
        assert_eq!(
            error("[providers.local]\nbase_ur = \"http://x\""),
            "pleach.toml: unknown key `providers.local.base_ur`; did you mean `providers.local.base_url`?"
        );
        assert_eq!(
            error("[providers.local.timeouts]\ntotal_second = 5"),
            "pleach.toml: unknown key `providers.local.timeouts.total_second`; did you mean `providers.local.timeouts.total_seconds`?"
        );
        assert!(error("colour = true").contains("valid keys: "), "{}", error("colour = true"));
    }

    #[test]
    fn broken_toml_names_the_file() {
        assert!(error("workers = ").starts_with("pleach.toml is not valid TOML"));
    }

    #[test]
    fn a_value_in_place_of_a_section_is_refused_with_its_key() {
        assert!(error("providers = 3").contains("providers = \"3\""), "{}", error("providers = 3"));
        assert!(error("[providers]\nlocal = 3").contains("providers.local"));
    }

    #[test]
    fn an_unknown_kind_is_refused_with_the_valid_ones() {
        let error = error("[providers.x]\nkind = \"gemini\"");
        assert!(error.contains("openai") && error.contains("anthropic") && error.contains("rehearsal"), "{error}");
    }
}
