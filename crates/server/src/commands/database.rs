//! `pleach database copy`: from a SQLite file to a PostgreSQL database that several machines can share.

use super::Session;
use super::maintenance::holder;
use crate::args::DatabaseCommand;
use crate::attach;
use crate::config::{Database, parse_database};
use crate::data_dir::DataDir;
use crate::failure::Failure;
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) async fn database(session: &Session, command: DatabaseCommand) -> Result<u8, Failure> {
    let DatabaseCommand::Copy { from, to } = command;
    let directory = std::env::current_dir().unwrap_or_default();
    let from = match from {
        None => session.config.database.value.clone(),
        Some(text) => parse_database(&text, &directory).ok_or_else(|| {
            Failure::usage(format!("--from {text} is not a database; it must be sqlite://PATH. Nothing was copied."))
        })?,
    };
    let Database::Sqlite(source) = from else {
        return Err(Failure::usage(format!(
            "--from must be a SQLite database, but {from} is not. Nothing was copied."
        )));
    };
    let Some(Database::Postgres(url)) = parse_database(&to, &directory) else {
        return Err(Failure::usage("--to must be postgres://USER@HOST/DATABASE. Nothing was copied."));
    };
    copy(session, source, url).await
}

async fn copy(session: &Session, source: PathBuf, url: String) -> Result<u8, Failure> {
    if !source.exists() {
        return Err(Failure::usage(format!("there is no database at {}. Nothing was copied.", source.display())));
    }
    let dir = DataDir::beside(&source);
    let Some(_hold) = dir.try_hold()? else {
        return Err(Failure::usage(format!(
            "{} holds {}; nothing was copied. Stop it, so that nothing is written during the copy, then run the command again.",
            holder(&dir),
            source.display()
        )));
    };
    let options = attach::options(&session.config, Duration::ZERO);
    let copied = store::copy(&source, &url, &options).await;
    let (source, target) = (source.display(), Database::Postgres(url));
    let store::Copied { runs, events, texts, rows } = copied.map_err(|error| {
        Failure::failed(format!("{source} was not copied to {target}: {error}\nThe source was not changed."))
    })?;
    session.print_value(
        &json!({"runs": runs, "events": events, "texts": texts, "rows": rows}),
        &format!(
            "copied {rows} rows to {target}: {runs} runs with {events} events and {texts} texts\nevery count, chain and text was checked; {source} was not changed\nUse the copy with PLEACH_DATABASE_URL or --database."
        ),
    );
    Ok(0)
}
