//! `pleach database copy`: from one machine's SQLite to a PostgreSQL that several can share.

use super::{Session, print};
use crate::args::DatabaseCommand;
use crate::attach;
use crate::config::{Database, parse_database};
use crate::data_dir::DataDir;
use crate::failure::Failure;
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;

pub async fn database(session: &Session, command: DatabaseCommand) -> Result<u8, Failure> {
    let DatabaseCommand::Copy { from, to } = command;
    let directory = std::env::current_dir().unwrap_or_default();
    let from = match from {
        None => session.config.database.value.clone(),
        Some(text) => parse_database(&text, &directory)
            .ok_or_else(|| Failure::usage(format!("--from {text} is no database; it must be sqlite://PATH")))?,
    };
    let Database::Sqlite(source) = from else {
        return Err(Failure::usage(format!(
            "--from must be a SQLite database, and {from} is not. Nothing was copied."
        )));
    };
    let Some(target @ Database::Postgres(_)) = parse_database(&to, &directory) else {
        return Err(Failure::usage("--to must be postgres://USER@HOST/DATABASE. Nothing was copied."));
    };
    copy(session, source, &target).await
}

async fn copy(session: &Session, source: PathBuf, target: &Database) -> Result<u8, Failure> {
    let Database::Postgres(url) = target else { return Err(Failure::usage("--to must be a PostgreSQL")) };
    if !source.exists() {
        return Err(Failure::usage(format!("there is no database at {}. Nothing was copied.", source.display())));
    }
    let dir = DataDir::beside(&source);
    let Some(_hold) = dir.try_hold()? else {
        let pid =
            dir.last_holder().map_or_else(|| "another process".into(), |holder| format!("process {}", holder.pid));
        return Err(Failure::usage(format!(
            "{pid} holds {}; nothing was copied. Stop it first, so that nothing is written while it is read.",
            source.display()
        )));
    };
    let options = attach::options(&session.config, Duration::ZERO);
    let copied = store::copy(&source, url, &options).await.map_err(|error| {
        Failure::failed(format!(
            "{} was not copied to {target}: {error}\nThe source is as it was. `pleach doctor` says more about it.",
            source.display()
        ))
    })?;
    match session.json {
        true => session.print_json(&json!({
            "runs": copied.runs, "events": copied.events, "texts": copied.texts, "rows": copied.rows,
        })),
        false => print(&format!(
            "copied {} rows to {target}: {} runs with {} events and {} texts\nevery count, chain and text was checked; {} is as it was\nUse the copy with PLEACH_DATABASE_URL or --database.",
            copied.rows,
            copied.runs,
            copied.events,
            copied.texts,
            source.display()
        )),
    }
    Ok(0)
}
