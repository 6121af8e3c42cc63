//! The part of `pleach doctor` that checks stored data: what is damaged, what is intact, and what to do next.

use super::Session;
use super::maintenance::Check;
use crate::attach;
use crate::config::Database;
use crate::data_dir::{DataDir, log_of};
use crate::file_lock::FileLock;
use std::path::Path;
use store::{Damage, Depth, Examination};

/// How many damages are listed; the others are counted.
const LISTED: usize = 10;

pub(crate) async fn checks(session: &Session, quick: bool) -> Vec<Check> {
    let mut checks = Vec::new();
    let opened = match &session.config.database.value {
        Database::Sqlite(path) => {
            let log = log_damage(path);
            checks.extend(log.map(|detail| Check { name: "damage".into(), ok: false, detail }));
            store::open_read_only(path).await.map_err(|error| error.to_string())
        }
        Database::Postgres(_) => attach::open(&session.config).await.map(Some).map_err(|failure| failure.message),
    };
    let check = |ok, detail: String| Check { name: "logs".into(), ok, detail };
    let depth = if quick { Depth::Quick } else { Depth::Full };
    let examined = match opened {
        Ok(None) => {
            checks.push(check(true, "none yet".into()));
            return checks;
        }
        Ok(Some(store)) => store.examine(depth).await.map_err(|error| error.to_string()),
        Err(why) => Err(why),
    };
    match examined {
        Err(why) => checks.push(check(false, format!("{why}. {RESTORE}"))),
        Ok(found) => {
            let listed = found.damage.iter().take(LISTED);
            checks.extend(listed.map(|damage| Check { name: "damage".into(), ok: false, detail: damage.to_string() }));
            checks.push(check(found.damage.is_empty(), summary(&found, quick)));
        }
    }
    checks
}

const RESTORE: &str = "Copy the database file away before anything else, then restore a backup (docs/guide/backup.md)";

fn summary(found: &Examination, quick: bool) -> String {
    let Examination { runs, events, texts, damage } = found;
    let Some(first) = damage.first() else {
        let texts = if quick { "texts not read".into() } else { format!("{texts} texts") };
        return format!("gapless, every chain whole: {runs} runs, {events} events, {texts}");
    };
    let more = damage.len().saturating_sub(LISTED);
    let more = if more > 0 { format!(" ({more} not listed)") } else { String::new() };
    let touched: std::collections::BTreeSet<_> = damage.iter().filter_map(run_of).collect();
    let intact = runs.saturating_sub(touched.len() as u64);
    let next = match damage.iter().all(Damage::can_be_rebuilt) {
        true => "No log is damaged: `pleach rebuild` computes the projections again",
        false => RESTORE,
    };
    format!(
        "{} damages{more}, the first: {first}; the logs of {intact} of {runs} runs are intact. {next}",
        damage.len()
    )
}

fn run_of(damage: &Damage) -> Option<engine::ids::RunId> {
    match damage {
        Damage::Log { run, .. } => Some(*run),
        Damage::File(_) | Damage::Text(_) | Damage::Projection { .. } => None,
    }
}

/// The write-ahead log of a SQLite file is part of the database until it is checkpointed. Opening the database would create a new,
/// empty one, so a missing log is looked for first and the database is not opened then.
pub(crate) fn missing_wal(session: &Session) -> Option<Check> {
    let Database::Sqlite(database) = &session.config.database.value else { return None };
    let log = log_of(database);
    let needed = DataDir::of(&session.config).last_holder().is_some_and(|holder| holder.log_needed);
    (needed && database.exists() && !log.exists()).then(|| {
        let detail = format!(
            "the write-ahead log {} is gone, and the last process that held the database did not close it: the last commits may be lost. {RESTORE}",
            log.display()
        );
        Check { name: "damage".into(), ok: false, detail }
    })
}

fn log_damage(database: &Path) -> Option<String> {
    if !database.exists() {
        return None;
    }
    // The process that holds the database may be writing to it now.
    let _lock = FileLock::try_take(database).ok().flatten()?;
    store::log_damage(&log_of(database))
}
