//! Commands that maintain an installation: `rebuild prune doctor config completions`.

use super::{Session, integrity, print};
use crate::args::Cli;
use crate::attach;
use crate::catalogue::Catalogue;
use crate::config::origins::Setting;
use crate::config::{ConfigLine, Database};
use crate::data_dir::{DataDir, HolderLock};
use crate::drive::SystemClock;
use crate::failure::Failure;
use crate::render::style::line;
use crate::toolboxes::{ToolboxStatus, offers};
use clap::CommandFactory;
use engine::ids::RunId;
use engine::time::Timestamp;
use runtime::ports::Clock;
use rustix::fs::{Access, access};
use serde_json::json;
use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;
use store::{LogCheck, SqlStore};

pub fn completions(shell: clap_complete::Shell) -> u8 {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "pleach", &mut script);
    // Whoever reads it may have read enough.
    let _ = std::io::stdout().write_all(&script);
    0
}

pub fn show_config(session: &Session) -> u8 {
    for ConfigLine { key, value, origin } in session.config.lines() {
        let origin = origin.to_string();
        match session.json {
            true => session.print_json(&json!({"key": key, "value": value, "origin": origin})),
            false => {
                // Files that somebody else wrote are shown here too.
                let value = line(value.as_deref().unwrap_or("(not set)"));
                print(&format!("{:<34} {value:<50} ({})", line(&key), line(&origin)));
            }
        }
    }
    0
}

/// These work on the whole database, so on one machine nobody else may hold it meanwhile.
async fn alone(session: &Session) -> Result<(Arc<SqlStore>, Option<HolderLock>), Failure> {
    if let Some(server) = &session.config.server {
        return Err(Failure::usage(format!(
            "this works on a database, not through the server {} ({}); nothing was changed. Run it where the database is, without that.",
            server.value, server.origin
        )));
    }
    let dir = DataDir::of(&session.config);
    dir.create()?;
    let hold = dir.try_hold()?;
    if hold.is_none() && matches!(session.config.database.value, Database::Sqlite(_)) {
        let pid =
            dir.last_holder().map_or_else(|| "another process".into(), |holder| format!("process {}", holder.pid));
        return Err(Failure::usage(format!(
            "{pid} holds the database; nothing was changed. Stop it first, then run the command again."
        )));
    }
    Ok((attach::open(&session.config).await?, hold))
}

pub async fn rebuild(session: &Session) -> Result<u8, Failure> {
    let (store, _hold) = alone(session).await?;
    let unusable = |error| attach::unusable(&session.config, &error);
    let runs = store.rebuild().await.map_err(unusable)?;
    // Rows made from a log that was changed are as wrong as the log.
    let damaged = damage(&store.verify_all().await.map_err(unusable)?);
    match session.json {
        true => session.print_json(&json!({"rebuilt": runs, "damaged": damaged})),
        false => {
            print(&format!("the projections of {runs} runs were computed again from their logs"));
            damaged.iter().for_each(|damage| print(damage));
        }
    }
    Ok(u8::from(damaged.is_some()))
}

/// The first log that is not what was written.
fn damage(verdicts: &[(RunId, LogCheck)]) -> Option<String> {
    verdicts.iter().find_map(|(run, verdict)| match verdict {
        LogCheck::Broken { seq, what } => {
            Some(format!("run {run} is damaged at event {seq}: {what}. Restore a backup of the database"))
        }
        LogCheck::Intact { .. } => None,
    })
}

pub async fn prune(session: &Session, older_than: Duration) -> Result<u8, Failure> {
    let (store, _hold) = alone(session).await?;
    let age = i64::try_from(older_than.as_millis()).unwrap_or(i64::MAX);
    let before = Timestamp(SystemClock.now().0.saturating_sub(age));
    let pruned = store.prune(before).await.map_err(|error| attach::unusable(&session.config, &error))?;
    match session.json {
        true => session.print_json(&json!({"runs": pruned.runs, "documents": pruned.documents, "blobs": pruned.blobs})),
        false => print(&format!(
            "removed {} runs that ended before {before}, with {} documents and {} texts nobody refers to",
            pruned.runs, pruned.documents, pruned.blobs
        )),
    }
    Ok(0)
}

/// One finding of the doctor.
pub struct Check {
    pub name: String,
    pub ok: bool,
    pub says: String,
}

pub async fn doctor(session: &Session, quick: bool) -> Result<u8, Failure> {
    let mut checks = vec![directory(session)];
    match integrity::lost_log(session) {
        Some(lost) => checks.push(lost),
        None => {
            checks.push(database(session).await);
            checks.extend(integrity::checks(session, quick).await);
        }
    }
    checks.push(models(session).await);
    if let Some(address) = &session.config.server {
        checks.push(server(session, address).await);
    }
    checks.extend(session.config.ignored.iter().map(|ignored| Check {
        name: "trust".into(),
        ok: false,
        says: line(&ignored.line()),
    }));
    checks.extend(toolboxes(session).await);
    for check in &checks {
        match session.json {
            true => session.print_json(&json!({"check": check.name, "ok": check.ok, "detail": check.says})),
            false => print(&format!("{} {:<10} {}", if check.ok { "✓" } else { "✗" }, check.name, check.says)),
        }
    }
    Ok(u8::from(checks.iter().any(|check| !check.ok)))
}

fn directory(session: &Session) -> Check {
    let path = &session.config.data_dir.value;
    let says = match std::fs::metadata(path) {
        Ok(found) if !found.is_dir() => {
            return Check { name: "data".into(), ok: false, says: format!("{} is not a directory", path.display()) };
        }
        Ok(_) => match access(path, Access::WRITE_OK | Access::EXEC_OK) {
            Ok(()) => path.display().to_string(),
            Err(error) => {
                let says = format!("{} cannot be written: {error}; nothing can be stored until it can", path.display());
                return Check { name: "data".into(), ok: false, says };
            }
        },
        Err(_) => format!("{} does not exist yet; the first run makes it", path.display()),
    };
    Check { name: "data".into(), ok: true, says }
}

/// The one that client commands speak to.
async fn server(session: &Session, address: &Setting<String>) -> Check {
    let says = match attach::to_server(&session.config, address, Duration::ZERO).await {
        Ok(_) => {
            return Check {
                name: "server".into(),
                ok: true,
                says: format!("{} answers and accepts the token", address.value),
            };
        }
        Err(failure) => failure.message,
    };
    Check { name: "server".into(), ok: false, says }
}

/// This machine's own.
async fn database(session: &Session) -> Check {
    let check = |ok, says: String| Check { name: "database".into(), ok, says };
    match attach::to_read(&session.config, &session.actor).await {
        Err(failure) => check(false, failure.message),
        Ok(None) => {
            check(true, format!("{} does not exist yet; the first run makes it", session.config.database.value))
        }
        Ok(Some(reader)) => {
            let holder = reader.client.get::<crate::api::HolderView>("/api/holder").await;
            let held = match holder {
                Ok(holder) if reader.client.is_remote() => format!("held by process {}", holder.pid),
                _ => "held by nobody".into(),
            };
            reader.close().await;
            check(true, format!("{}, {held}", session.config.database.value))
        }
    }
}

/// Each server of tools is started or called, and lists what it has.
async fn toolboxes(session: &Session) -> Vec<Check> {
    let catalogue = Catalogue::new(&session.config);
    let asked = catalogue.outside().0.iter().map(|toolbox| async move {
        let state = ToolboxStatus::of(toolbox.server(), &offers(toolbox.as_ref()).await);
        Check { name: format!("tools.{}", state.server), ok: state.ready, says: state.detail }
    });
    let checks = futures::future::join_all(asked).await;
    catalogue.close().await;
    checks
}

/// Each model is known, and whoever has it answers.
async fn models(session: &Session) -> Check {
    let check = |ok, says| Check { name: "model".into(), ok, says };
    let catalogue = Catalogue::new(&session.config);
    let (models, mut notes) = match catalogue.models(&Default::default()).await {
        Ok(known) => known,
        Err(why) => return check(false, why),
    };
    let mut asked = BTreeSet::new();
    let mut troubles = Vec::new();
    for spec in models.all().into_iter().filter(|spec| asked.insert(spec.provider.clone())) {
        troubles.extend(catalogue.trouble_with(spec).await);
    }
    let well = troubles.is_empty();
    notes.splice(..0, troubles);
    let notes: String = notes.iter().map(|note| format!("; {note}")).collect();
    check(well, format!("{}{notes}", models.balanced.name()))
}
