//! Precedence, origins, and secrets that are never shown.

use super::show::without_password;
use super::*;

#[test]
fn w1_no_form_of_a_database_url_shows_its_password() {
    for url in [
        "postgres://u:se/cr?et@h/d",
        "postgres://u@h/d?sslmode=require&password=secret",
        "postgresq://u:secret@h/d",
        "postgres://u:secret@h:5/d?sslmode=require",
    ] {
        let shown = without_password(url);
        assert!(!shown.contains("secret") && !shown.contains("cr?et"), "{shown}");
    }
    assert_eq!(without_password("postgres://u@h/d"), "postgres://u@h/d");
}

fn environment(pairs: &[(&str, &str)]) -> Environment {
    let variables = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Environment { variables, directory: PathBuf::from("/here") }
}

fn file(path: &str, text: &str) -> file::ConfigFile {
    file::parse(Path::new(path), text).unwrap()
}

fn resolve(flags: Global, env: &[(&str, &str)], near: &str, far: &str) -> Config {
    Config::resolve(&flags, &environment(env), file("/here/pleach.toml", near), file("/far/config.toml", far)).unwrap()
}

/// The error of a bad value.
fn refused(env: &[(&str, &str)], near: &str) -> String {
    let config = Config::resolve(&Global::default(), &environment(env), file("f.toml", near), file("f", ""));
    config.unwrap_err().to_string()
}

fn shown(config: &Config) -> Vec<String> {
    let value = |line: &ConfigLine| line.value.clone().unwrap_or("-".into());
    config.lines().iter().map(|line| format!("{} = {} ({})", line.key, value(line), line.origin)).collect()
}

#[test]
fn each_layer_beats_the_next_and_says_so() {
    let flag = || Global { workers: Some("1".into()), ..Global::default() };
    let variable = [("PLEACH_WORKERS", "2")];
    let origin_of = |config: Config| (config.workers.value, config.workers.origin.to_string());
    assert_eq!(origin_of(resolve(flag(), &variable, "workers = 3", "workers = 4")), (1, "flag --workers".into()));
    assert_eq!(
        origin_of(resolve(Global::default(), &variable, "workers = 3", "workers = 4")),
        (2, "environment PLEACH_WORKERS".into())
    );
    assert_eq!(
        origin_of(resolve(Global::default(), &[], "workers = 3", "workers = 4")),
        (3, "file /here/pleach.toml".into())
    );
    assert_eq!(origin_of(resolve(Global::default(), &[], "", "workers = 4")), (4, "file /far/config.toml".into()));
    assert_eq!(origin_of(resolve(Global::default(), &[], "", "")), (64, "default".into()));
}

#[test]
fn an_empty_variable_counts_as_unset() {
    assert_eq!(resolve(Global::default(), &[("PLEACH_WORKERS", "")], "", "").workers.value, 64);
}

#[test]
fn a_bad_value_names_its_origin_its_text_and_what_is_valid() {
    assert_eq!(
        refused(&[("PLEACH_WORKERS", "many")], ""),
        "environment PLEACH_WORKERS: workers = \"many\" is not valid; it must be a whole number from 1 to 4096"
    );
    let error = refused(&[], "database = \"mysql://x\"");
    assert!(error.contains("file f.toml: database = \"mysql://x\""), "{error}");
}

#[test]
fn the_database_defaults_into_the_data_directory() {
    let config = resolve(Global { data_dir: Some("data".into()), ..Global::default() }, &[], "", "");
    assert_eq!(config.database.value, Database::Sqlite("/here/data/pleach.db".into()));
    let config = resolve(Global::default(), &[("XDG_DATA_HOME", "/x")], "", "");
    assert_eq!(config.data_dir.value, PathBuf::from("/x/pleach"));
}

#[test]
fn providers_are_shown_with_where_they_come_from() {
    let env = [("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"), ("MY_KEY", "k")];
    let toml = "[providers.mine]\nkind = \"openai\"\nbase_url = \"http://x\"\napi_key_env = \"MY_KEY\"";
    let shown = shown(&resolve(Global::default(), &env, toml, ""));
    for expected in [
        "providers.openai.base_url = http://127.0.0.1:9/v1 (environment OPENAI_BASE_URL)",
        "providers.mine.api_key_env = MY_KEY (set) (file /here/pleach.toml)",
        "providers.rehearsal.kind = rehearsal (default)",
    ] {
        assert!(shown.iter().any(|line| line == expected), "{expected} is not in {shown:#?}");
    }
}

#[test]
fn no_secret_is_ever_shown() {
    let env = [("OPENAI_API_KEY", "sk-very-secret"), ("PLEACH_DATABASE_URL", "postgres://me:hunter2@db/p")];
    let shown = shown(&resolve(Global::default(), &env, "", "")).join("\n");
    assert!(!shown.contains("sk-very-secret") && !shown.contains("hunter2"), "{shown}");
    assert!(shown.contains("postgres://me:***@db/p"), "{shown}");
}

#[test]
fn a_flag_for_all_roles_beats_a_variable_for_one() {
    let env = [("PLEACH_MODEL", "openai/a"), ("PLEACH_MODEL_FAST", "openai/b")];
    let names = resolve(Global::default(), &env, "", "").model.names();
    assert_eq!((names.fast.as_deref(), names.powerful.as_deref()), (Some("openai/b"), Some("openai/a")));
    let flags = Global { model: Some("openai/c".into()), ..Global::default() };
    assert_eq!(resolve(flags, &env, "", "").model.names().fast.as_deref(), Some("openai/c"));
}

#[test]
fn a_variable_for_all_roles_beats_a_file_for_one() {
    let names =
        resolve(Global::default(), &[("PLEACH_MODEL", "openai/a")], "model_fast = \"openai/b\"", "").model.names();
    assert_eq!((names.fast.as_deref(), names.balanced.as_deref()), (Some("openai/a"), Some("openai/a")));
}

/// Parses any bytes as a settings file and as a `.mcp.json`.
fn read_files(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = file::parse(Path::new("pleach.toml"), &text);
    let servers = serde_json::from_str::<serde_json::Value>(&text).unwrap_or_default();
    for (name, section) in servers["mcpServers"].as_object().into_iter().flatten() {
        let _ = mcp::client::ServerConfig::read(name, section.clone(), &|_| Some("${A}".into()));
    }
}

const FILES: simulation::fuzz::Target = simulation::fuzz::Target {
    name: "config",
    seeds: &[
        "workers = 3\nmodel = \"a/b\"\n[providers.x]\nkind = \"openai\"\nbase_url = 'http://h'\n[providers.x.timeouts]\ntotal_seconds = 5\n",
        "[mcp.post]\ncommand = \"python3\"\nargs = [\"a\", \"${B:-c}\"]\nenv = { A = \"${B}\" }\ntimeout_s = 5\n",
        r#"{"mcpServers": {"a": {"command": "npx", "args": ["${KEY}"], "env": {"A": "${NO:-b}"}}, "b": {"url": "https://h/${X}"}}}"#,
    ],
    words: &[
        "[",
        "]",
        "{",
        "}",
        "=",
        "\"",
        "'",
        "${",
        "}",
        ":-",
        "\n",
        "[[",
        "\"\"\"",
        ".",
        "mcp.",
        "providers",
        "1e9",
        "\\u",
    ],
    parse: read_files,
};

#[test]
fn fuzz_files_of_settings() {
    simulation::fuzz::assert_sound(&FILES);
}

#[test]
fn x5_twice_the_file_costs_at_most_two_and_a_half_times() {
    for unit in ["a = 1\n", "[a", "[[a]]\n", "{\"mcpServers\":", "x", "a.b.", "\"\"\""] {
        simulation::fuzz::assert_linear("config", unit, 100_000, read_files);
    }
}

#[test]
fn x12_hosts_are_a_list_in_a_file_and_separated_by_commas_in_a_variable() {
    let shown = |config: Config| config.fetch_hosts.map(|hosts| hosts.value.to_string());
    let written = "fetch_hosts = [\"a.org\", \"*.b.org\"]";
    assert_eq!(shown(resolve(Global::default(), &[], written, "")).as_deref(), Some("a.org, *.b.org"));
    let variable = [("PLEACH_FETCH_HOSTS", "c.org")];
    assert_eq!(shown(resolve(Global::default(), &variable, written, "")).as_deref(), Some("c.org"));
    assert_eq!(shown(resolve(Global::default(), &[], "fetch_hosts = []", "")).as_deref(), Some("none"), "none is none");
    assert_eq!(shown(resolve(Global::default(), &[], "", "")), None, "any, where nothing is said");
    for bad in ["fetch_hosts = [\"http://a.org\"]", "fetch_approve = \"sometimes\""] {
        assert!(refused(&[], bad).contains("is not valid"), "{bad}");
    }
}
