//! A script as a JSON file, for tests that need the server as a process of its own.
//!
//! `{"preset": {"complete_in": 3}, "roles": {"homework_planner": [reply, …]}, "default": "text", "latency_ms": 5,
//! "models": ["m"]}`. The replies of a role replace those of the preset. The last reply of a role repeats.

use super::reply::Reply;
use super::{Script, scripts};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    preset: Option<Preset>,
    #[serde(default)]
    roles: BTreeMap<String, Vec<Reply>>,
    #[serde(default)]
    default: Option<String>,
    #[serde(default)]
    latency_ms: u64,
    #[serde(default)]
    models: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Preset {
    CompleteIn(u64),
}

pub fn parse(text: &str) -> Result<Script, serde_json::Error> {
    let file: File = serde_json::from_str(text)?;
    let mut script = match file.preset {
        Some(Preset::CompleteIn(iterations)) => scripts::complete_in(iterations),
        None => Script::default(),
    };
    for (role, replies) in file.roles.into_iter().filter(|(_, replies)| !replies.is_empty()) {
        script = script.on(&role, replies);
    }
    script = script.latency(Duration::from_millis(file.latency_ms));
    script.models = file.models;
    script.otherwise = file.default.map(Reply::text);
    Ok(script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_mix_a_preset_with_faults() {
        let text = r#"{"preset": {"complete_in": 3}, "latency_ms": 5, "default": "hm",
            "roles": {"homework_report": [{"status": 503, "body": "away"}, {"json": {"title": "t"}, "tokens": [10, 0, 2]}]}}"#;
        let script = parse(text).unwrap();
        assert_eq!(script.roles.len(), 4);
        assert!(parse(r#"{"role": {}}"#).is_err());
        assert!(parse(r#"{"roles": {"r": [{"jsno": 1}]}}"#).is_err());
    }
}
