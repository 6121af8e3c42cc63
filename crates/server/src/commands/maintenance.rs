//! Commands that maintain an installation: `rebuild prune doctor config completions`.

use super::{Session, integrity};
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

pub(crate) fn completions(shell: clap_complete::Shell) -> u8 {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "pleach", &mut script);
    // The reader may have closed the pipe.
    let _ = std::io::stdout().write_all(&script);
    0
}

pub(crate) fn show_config(session: &Session) -> u8 {
    for ConfigLine { key, value, origin } in session.config.lines() {
        let origin = origin.to_string();
        // `line` makes it harmless: an untrusted file may have written it.
        let shown = line(value.as_deref().unwrap_or("(not set)"));
        session.print_value(
            &json!({"key": key, "value": value, "origin": origin}),
            &format!("{:<34} {shown:<50} ({})", line(&key), line(&origin)),
        );
    }
    0
}

/// Opens the whole database. No other process may hold a SQLite file meanwhile.
async fn open_alone(session: &Session) -> Result<(Arc<SqlStore>, Option<HolderLock>), Failure> {
    if let Some(server) = &session.config.server {
        return Err(Failure::usage(format!(
            "this command needs the database itself and does not work through the server {} ({}); nothing was changed. Run it on the machine of the database, without that setting.",
            server.value, server.origin
        )));
    }
    let dir = DataDir::of(&session.config);
    dir.create()?;
    let hold = dir.try_hold()?;
    if hold.is_none() && matches!(session.config.database.value, Database::Sqlite(_)) {
        return Err(Failure::usage(format!(
            "{} holds the database; nothing was changed. Stop it, then run the command again.",
            holder(&dir)
        )));
    }
    Ok((attach::open(&session.config).await?, hold))
}

/// The process that holds the database, for an error.
pub(crate) fn holder(dir: &DataDir) -> String {
    dir.last_holder().map_or_else(|| "another process".into(), |holder| format!("process {}", holder.pid))
}

pub(crate) async fn rebuild(session: &Session) -> Result<u8, Failure> {
    let (store, _hold) = open_alone(session).await?;
    let unusable = |error| attach::unusable(&session.config, &error);
    let runs = store.rebuild().await.map_err(unusable)?;
    // Projections of a damaged log are as wrong as the log.
    let damaged = first_damage(&store.verify_all().await.map_err(unusable)?);
    let text = [Some(format!("the projections of {runs} runs were computed again from their logs")), damaged.clone()];
    let text: Vec<String> = text.into_iter().flatten().collect();
    session.print_value(&json!({"rebuilt": runs, "damaged": damaged}), &text.join("\n"));
    Ok(u8::from(damaged.is_some()))
}

/// The first log that is damaged.
fn first_damage(verdicts: &[(RunId, LogCheck)]) -> Option<String> {
    verdicts.iter().find_map(|(run, verdict)| match verdict {
        LogCheck::Broken { seq, what } => {
            Some(format!("run {run} is damaged at event {seq}: {what}. Restore a backup of the database"))
        }
        LogCheck::Intact { .. } => None,
    })
}

pub(crate) async fn prune(session: &Session, older_than: Duration) -> Result<u8, Failure> {
    let (store, _hold) = open_alone(session).await?;
    let age = i64::try_from(older_than.as_millis()).unwrap_or(i64::MAX);
    let before = Timestamp(SystemClock.now().0.saturating_sub(age));
    let pruned = store.prune(before).await.map_err(|error| attach::unusable(&session.config, &error))?;
    let store::Pruned { runs, documents, blobs, .. } = pruned;
    session.print_value(
        &json!({"runs": runs, "documents": documents, "blobs": blobs}),
        &format!(
            "deleted {runs} runs that ended before {before}, with {documents} documents and {blobs} texts that nothing refers to"
        ),
    );
    Ok(0)
}

/// One line of `pleach doctor`.
pub(crate) struct Check {
    pub name: String,
    pub ok: bool,
    pub detail: String,
}

pub(crate) async fn doctor(session: &Session, quick: bool) -> Result<u8, Failure> {
    let mut checks = vec![directory(session)];
    match integrity::missing_wal(session) {
        Some(missing) => checks.push(missing),
        None => {
            checks.push(database(session).await);
            checks.extend(integrity::checks(session, quick).await);
        }
    }
    checks.push(models(session).await);
    if let Some(address) = &session.config.server {
        checks.push(server(session, address).await);
    }
    let ignored = session.config.ignored.iter();
    checks.extend(ignored.map(|ignored| Check { name: "trust".into(), ok: false, detail: line(&ignored.line()) }));
    checks.extend(toolboxes(session).await);
    for check in &checks {
        let Check { name, ok, detail } = check;
        let mark = if *ok { "✓" } else { "✗" };
        session
            .print_value(&json!({"check": name, "ok": ok, "detail": detail}), &format!("{mark} {name:<10} {detail}"));
    }
    Ok(u8::from(checks.iter().any(|check| !check.ok)))
}

fn directory(session: &Session) -> Check {
    let path = &session.config.data_dir.value;
    let shown = path.display();
    let (ok, detail) = match std::fs::metadata(path) {
        Ok(found) if !found.is_dir() => (false, format!("{shown} is not a directory")),
        Ok(_) => match access(path, Access::WRITE_OK | Access::EXEC_OK) {
            Ok(()) => (true, shown.to_string()),
            Err(error) => (false, format!("{shown} cannot be written: {error}; nothing can be stored until it can")),
        },
        Err(_) => (true, format!("{shown} does not exist yet; the first run creates it")),
    };
    Check { name: "data".into(), ok, detail }
}

/// The server that commands are sent to.
async fn server(session: &Session, address: &Setting<String>) -> Check {
    let (ok, detail) = match attach::to_remote_server(&session.config, address, Duration::ZERO).await {
        Ok(_) => (true, format!("{} answers and accepts the token", address.value)),
        Err(failure) => (false, failure.message),
    };
    Check { name: "server".into(), ok, detail }
}

/// The local database.
async fn database(session: &Session) -> Check {
    let check = |ok, detail: String| Check { name: "database".into(), ok, detail };
    match attach::to_read(&session.config, &session.actor).await {
        Err(failure) => check(false, failure.message),
        Ok(None) => {
            check(true, format!("{} does not exist yet; the first run creates it", session.config.database.value))
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

/// Starts or calls each MCP server and lists its tools.
async fn toolboxes(session: &Session) -> Vec<Check> {
    let catalogue = Catalogue::new(&session.config);
    let checks = catalogue.toolboxes().0.iter().map(|toolbox| async move {
        let state = ToolboxStatus::of(toolbox.server(), &offers(toolbox.as_ref()).await);
        Check { name: format!("tools.{}", state.server), ok: state.ready, detail: state.detail }
    });
    let checks = futures::future::join_all(checks).await;
    catalogue.close().await;
    checks
}

/// Whether each model is known and its provider answers.
async fn models(session: &Session) -> Check {
    let check = |ok, detail| Check { name: "model".into(), ok, detail };
    let catalogue = Catalogue::new(&session.config);
    let (models, mut notes) = match catalogue.models(&Default::default()).await {
        Ok(known) => known,
        Err(why) => return check(false, why),
    };
    let mut seen = BTreeSet::new();
    let mut problems = Vec::new();
    for spec in models.all().into_iter().filter(|spec| seen.insert(spec.provider.clone())) {
        problems.extend(catalogue.provider_problem(spec).await);
    }
    let ok = problems.is_empty();
    notes.splice(..0, problems);
    let notes: String = notes.iter().map(|note| format!("; {note}")).collect();
    check(ok, format!("{}{notes}", models.balanced.name()))
}
