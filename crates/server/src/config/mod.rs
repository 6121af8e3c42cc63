//! Configuration with origins: flag > `PLEACH_*` environment > `./pleach.toml` > XDG file > default. It is resolved once, at the
//! start; a bad value is an error that names its origin and what is valid. Of an untrusted file in the working directory only
//! harmless keys apply.

mod file;
pub(crate) mod local;
pub(crate) mod models;
pub(crate) mod origins;
mod providers;
mod show;
pub(crate) mod trust;
pub(crate) mod trust_preview;

pub(crate) use models::ModelChoice;
pub(crate) use providers::VENDORS;
pub(crate) use show::ConfigLine;

use crate::api::origin::PublicUrl;
use crate::args::Global;
use crate::failure::Failure;
use effects::tools::{Approval, Hosts};
use origins::{Layers, Origin, Setting};
use runtime::ports::DEFAULT_ITEMS_PER_PROJECT;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use trust::{Distrust, TrustRecords};

/// The scalar settings by their name in a file. The variable is `PLEACH_` and the name in capitals, except for the two databases.
pub(crate) const KEYS: [&str; 22] = [
    "data_dir",
    "database",
    "database_direct",
    "listen",
    "public_url",
    "server",
    "model",
    "model_fast",
    "model_balanced",
    "model_powerful",
    "workers",
    "lease_ms",
    "rehearsal_ms",
    "project_items",
    "webhooks_private",
    "fetch_url",
    "fetch_private",
    "fetch_hosts",
    "fetch_approve",
    "files_dir",
    "files_write",
    "otlp_endpoint",
];

fn variable(key: &str) -> String {
    match key {
        "database" => "PLEACH_DATABASE_URL".into(),
        "database_direct" => "PLEACH_DATABASE_DIRECT_URL".into(),
        key => format!("PLEACH_{}", key.to_uppercase()),
    }
}

/// Variables and working directory of the process; tests pass their own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    pub variables: BTreeMap<String, String>,
    pub directory: PathBuf,
}

impl Environment {
    pub(crate) fn of_process() -> Environment {
        let variables =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Environment { variables: variables.collect(), directory: std::env::current_dir().unwrap_or_default() }
    }

    /// The value, unless it is empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The directory of the person's own settings, which need no trust.
    pub(crate) fn config_dir(&self) -> PathBuf {
        self.xdg("XDG_CONFIG_HOME", ".config").join("pleach")
    }

    /// The directory of the trust records.
    pub(crate) fn state_dir(&self) -> PathBuf {
        self.xdg("XDG_STATE_HOME", ".local/state").join("pleach")
    }

    fn xdg(&self, name: &str, below_home: &str) -> PathBuf {
        let absolute = |path: &&str| Path::new(path).is_absolute();
        match self.get(name).filter(absolute) {
            Some(path) => PathBuf::from(path),
            None => Path::new(self.get("HOME").unwrap_or("/")).join(below_home),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Database {
    Sqlite(PathBuf),
    /// The URL with its password. `Display` hides the password.
    Postgres(String),
}

#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub data_dir: Setting<PathBuf>,
    pub database: Setting<Database>,
    pub database_direct: Option<Setting<String>>,
    pub listen: Setting<SocketAddr>,
    /// The address that browsers use, when it is not the listening address, as behind a proxy.
    pub public_url: Option<Setting<PublicUrl>>,
    pub server: Option<Setting<String>>,
    pub model: ModelChoice,
    pub workers: Setting<usize>,
    pub lease_ms: Setting<u64>,
    /// How long the rehearsal model takes for an answer, so that people can watch.
    pub rehearsal_ms: Setting<u64>,
    /// The most documents and tasks that a project may have.
    pub project_items: Setting<u64>,
    /// Whether webhooks may call addresses of this machine and its private networks.
    pub webhooks_private: Setting<bool>,
    /// The trace collector (OTLP over HTTP). No traces are sent when absent.
    pub otlp_endpoint: Option<Setting<String>>,
    pub providers: providers::Sections,
    pub mcp: file::Servers,
    /// Whether runs may fetch web pages.
    pub fetch_url: Setting<bool>,
    /// Whether runs may fetch pages from private networks.
    pub fetch_private: Setting<bool>,
    /// The only hosts that may be fetched from; any when absent.
    pub fetch_hosts: Option<Setting<Hosts>>,
    /// When a person must approve a fetch.
    pub fetch_approve: Setting<Approval>,
    /// The directory whose files runs may read.
    pub files_dir: Option<Setting<PathBuf>>,
    pub files_write: Setting<bool>,
    /// Untrusted files of the working directory.
    pub ignored: Vec<Ignored>,
    /// The variables that each trusted file may read.
    consents: BTreeMap<PathBuf, BTreeSet<String>>,
    environment: Environment,
}

/// An untrusted file of the working directory and the values that do not apply.
#[derive(Clone, Debug)]
pub(crate) struct Ignored {
    pub path: PathBuf,
    pub why: Distrust,
    pub file: file::ConfigFile,
}

impl Ignored {
    /// The note that each command prints once.
    pub(crate) fn line(&self) -> String {
        let why = match &self.why {
            Distrust::New | Distrust::Declined => "is not trusted".into(),
            Distrust::Changed => "has changed since you trusted it".into(),
            Distrust::ReadsMore(names) => {
                format!("reads {} now, which you were not shown when you trusted it", trust_preview::list(names))
            }
        };
        let keys = self.file.keys().join(", ");
        format!("{} {why}; ignored: {keys}. To see what it would do and trust it: pleach trust", self.path.display())
    }
}

impl Config {
    /// The providers for the model gateway.
    pub(crate) fn provider_table(&self) -> effects::model::Providers {
        let own = self.providers.iter().map(|(name, section)| (name.clone(), section.value.clone()));
        effects::model::Providers(own.collect())
    }

    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.environment.get(name).map(str::to_owned)
    }

    /// A variable for a value of this origin. A trusted file reads only the variables that the person was shown.
    pub(crate) fn variable_for(&self, origin: &Origin, name: &str) -> Option<String> {
        let shown = match origin {
            Origin::File(path) => self.consents.get(path).is_none_or(|shown| shown.contains(name)),
            _ => true,
        };
        self.variable(name).filter(|_| shown)
    }

    /// The files and directories of Pleach itself, which runs may neither read nor write.
    pub(crate) fn own_places(&self) -> Vec<PathBuf> {
        let mut places = vec![self.data_dir.value.clone(), self.environment.config_dir(), self.environment.state_dir()];
        if let Database::Sqlite(file) = &self.database.value {
            let beside = |end: &str| PathBuf::from(format!("{}{end}", file.display()));
            places.extend(["", "-wal", "-shm", "-journal"].map(beside));
            places.push(file.with_extension("lock"));
        }
        places
    }

    /// The variables that PostgreSQL clients read.
    pub(crate) fn database_variables(&self) -> BTreeMap<String, String> {
        let known = |name: &str| {
            name.starts_with("PG") || ["HOME", "USER", "LOGNAME", "PLEACH_DATABASE_PASSWORD_FILE"].contains(&name)
        };
        let found = self.environment.variables.iter().filter(|(name, _)| known(name));
        found.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// The token for a remote server. A secret: read only from the environment, never shown.
    pub(crate) fn token(&self) -> Option<String> {
        self.variable("PLEACH_TOKEN")
    }

    /// The trace collector, with the usual OpenTelemetry variables for headers and service name.
    pub(crate) fn collector(&self) -> Option<outbound::traces::Collector> {
        Some(outbound::traces::Collector {
            endpoint: self.otlp_endpoint.as_ref()?.value.clone(),
            headers: self.variable("OTEL_EXPORTER_OTLP_HEADERS"),
            service: self.variable("OTEL_SERVICE_NAME").unwrap_or_else(|| "pleach".into()),
        })
    }

    pub(crate) fn load(flags: &Global, environment: &Environment) -> Result<Config, Failure> {
        let usage = |error: &dyn std::fmt::Display| {
            Failure::usage(format!("{error}\nNothing was started. Correct or remove it, then run the command again."))
        };
        let (mut near, mut ignored, mut consents) = (file::ConfigFile::default(), Vec::new(), BTreeMap::new());
        for local in local::files(&environment.directory).map_err(|error| usage(&error))? {
            if local.needs_trust() {
                match TrustRecords::read(environment)?.judge(&local) {
                    Ok(variables) => {
                        near.fill(local.risky);
                        consents.insert(local.path, variables);
                    }
                    Err(why) => {
                        let file = local.risky.from(&Origin::Ignored(local.path.clone()));
                        ignored.push(Ignored { path: local.path, why, file });
                    }
                }
            }
            near.fill(local.harmless);
        }
        let far = file::read(&environment.config_dir().join("config.toml")).map_err(|error| usage(&error))?;
        let config = Config::resolve(flags, environment, near, far).map_err(|error| usage(&error))?;
        Ok(Config { ignored, consents, ..config })
    }

    fn resolve(
        flags: &Global,
        environment: &Environment,
        near: file::ConfigFile,
        far: file::ConfigFile,
    ) -> Result<Config, origins::BadValue> {
        let mut layers = Layers::default();
        layers.push(flag_layer(flags));
        layers.push(variable_layer(environment));
        let (mut providers, mut mcp) = (far.providers, far.mcp);
        providers.extend(near.providers);
        mcp.extend(near.mcp);
        layers.push(near.settings);
        layers.push(far.settings);

        let path = |text: &str| (!text.is_empty()).then(|| environment.directory.join(text));
        let data_dir = layers.parse("data_dir", "a directory", path)?;
        let data_dir = Setting::or_default(data_dir, environment.xdg("XDG_DATA_HOME", ".local/share").join("pleach"));
        let database = layers
            .parse("database", "sqlite://PATH or postgres://…", |text| parse_database(text, &environment.directory))
            .map_err(hide_password)?;
        let database = Setting::or_default(database, Database::Sqlite(data_dir.value.join("pleach.db")));
        let database_direct = layers
            .parse("database_direct", "postgres://…", |text| is_postgres(text).then(|| text.to_owned()))
            .map_err(hide_password)?;
        let whole = |default: u64, key, unit: &str, range: RangeInclusive<u64>| {
            let valid = format!("{unit}a whole number from {} to {}", range.start(), range.end());
            let found = layers.parse(key, &valid, |text| text.parse().ok().filter(|number| range.contains(number)));
            found.map(|found| Setting::or_default(found, default))
        };
        let switch = |key| {
            let found = layers.parse(key, "true or false", |text| text.parse().ok());
            found.map(|found| Setting::or_default(found, false))
        };
        let listen = layers.parse("listen", "an address and a port such as 127.0.0.1:7333", parse_address)?;
        let fetch_approve = layers.parse("fetch_approve", "never, tainted or always", Approval::parse)?;
        Ok(Config {
            listen: Setting::or_default(listen, SocketAddr::from(([127, 0, 0, 1], 7333))),
            public_url: layers.parse("public_url", "http://NAME or https://NAME, without a path", PublicUrl::parse)?,
            server: layers.parse("server", "http://… or https://…", |text| {
                text.starts_with("http").then(|| text.to_owned())
            })?,
            model: ModelChoice::from_layers(&layers)?,
            workers: whole(64, "workers", "", 1..=4096)?.map(|number| number as usize),
            lease_ms: whole(10_000, "lease_ms", "milliseconds, ", 300..=3_600_000)?,
            rehearsal_ms: whole(0, "rehearsal_ms", "milliseconds, ", 0..=60_000)?,
            project_items: whole(DEFAULT_ITEMS_PER_PROJECT, "project_items", "", 1..=10_000_000)?,
            webhooks_private: switch("webhooks_private")?,
            otlp_endpoint: layers.parse("otlp_endpoint", "http://HOST:PORT or https://…", |text| {
                (text.starts_with("http://") || text.starts_with("https://")).then(|| text.to_owned())
            })?,
            fetch_url: switch("fetch_url")?,
            fetch_private: switch("fetch_private")?,
            fetch_hosts: layers.parse("fetch_hosts", "hosts such as example.org or *.example.org", Hosts::parse)?,
            fetch_approve: Setting::or_default(fetch_approve, Approval::Never),
            files_dir: layers.parse("files_dir", "a directory", |text| Some(environment.directory.join(text)))?,
            files_write: switch("files_write")?,
            providers,
            ignored: Vec::new(),
            consents: BTreeMap::new(),
            environment: environment.clone(),
            data_dir,
            database,
            database_direct,
            mcp,
        })
    }
}

/// A mistyped URL may still contain a password.
fn hide_password(bad: origins::BadValue) -> origins::BadValue {
    origins::BadValue { value: show::without_password(&bad.value), ..bad }
}

fn flag_layer(flags: &Global) -> BTreeMap<&'static str, Setting<String>> {
    let data_dir = flags.data_dir.as_ref().map(|path| path.display().to_string());
    let given = [
        ("data_dir", "--data-dir", data_dir),
        ("database", "--database", flags.database.clone()),
        ("listen", "--listen", flags.listen.clone()),
        ("server", "--server", flags.server.clone()),
        ("model", "--model", flags.model.clone()),
        ("workers", "--workers", flags.workers.clone()),
    ];
    given
        .into_iter()
        .filter_map(|(key, flag, value)| Some((key, Setting { value: value?, origin: Origin::Flag(flag) })))
        .collect()
}

fn variable_layer(environment: &Environment) -> BTreeMap<&'static str, Setting<String>> {
    let found = |key: &'static str, name: String| {
        let value = environment.get(&name)?.to_owned();
        Some((key, Setting { value, origin: Origin::Variable(name) }))
    };
    // Our own name comes later and wins.
    let opentelemetry = found("otlp_endpoint", "OTEL_EXPORTER_OTLP_ENDPOINT".into());
    opentelemetry.into_iter().chain(KEYS.iter().filter_map(|key| found(key, variable(key)))).collect()
}

fn is_postgres(text: &str) -> bool {
    text.starts_with("postgres://") || text.starts_with("postgresql://")
}

/// `sqlite:///absolute`, `sqlite://relative`, or a plain path that ends in `.db`.
pub(crate) fn parse_database(text: &str, directory: &Path) -> Option<Database> {
    if is_postgres(text) {
        return Some(Database::Postgres(text.to_owned()));
    }
    let path = match text.strip_prefix("sqlite://").or_else(|| text.strip_prefix("sqlite:")) {
        Some(path) => path,
        None => Some(text).filter(|text| text.ends_with(".db") && !text.contains("://"))?,
    };
    (!path.is_empty()).then(|| Database::Sqlite(directory.join(path)))
}

fn parse_address(text: &str) -> Option<SocketAddr> {
    let named = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    named.as_deref().unwrap_or(text).parse().ok()
}

#[cfg(test)]
mod tests;
