//! `doctor --anchor` and `--against`: where all logs end, written down outside the database, and compared later.

use super::{Session, print};
use crate::attach;
use crate::config::Database;
use crate::failure::Failure;
use engine::blob::Hash;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::Arc;
use store::{Anchor, Departure, LogCheck, SqlStore};

const DIGEST: &str = "digest";

async fn opened(session: &Session) -> Result<Option<Arc<SqlStore>>, Failure> {
    match &session.config.database.value {
        Database::Sqlite(path) => {
            store::open_read_only(path).await.map_err(|error| attach::unusable(&session.config, &error))
        }
        Database::Postgres(_) => attach::open(&session.config).await.map(Some),
    }
}

fn line(anchor: &Anchor) -> String {
    format!("{} {} {}", anchor.run, anchor.seq, anchor.hash)
}

/// Over the lines as they are printed, so that any tool can compute it.
fn digest(anchors: &[Anchor]) -> String {
    let mut hasher = Sha256::new();
    anchors.iter().for_each(|anchor| hasher.update(format!("{}\n", line(anchor))));
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

pub async fn print_all(session: &Session) -> Result<u8, Failure> {
    let anchors = match opened(session).await? {
        Some(store) => store.anchors().await.map_err(|error| attach::unusable(&session.config, &error))?,
        None => Vec::new(),
    };
    for anchor in &anchors {
        match session.json {
            true => session.print_json(&json!({"run_id": anchor.run, "seq": anchor.seq, "hash": anchor.hash})),
            false => print(&line(anchor)),
        }
    }
    match session.json {
        true => session.print_json(&json!({"digest": digest(&anchors), "runs": anchors.len()})),
        false => print(&format!("{DIGEST} {} {}", digest(&anchors), anchors.len())),
    }
    Ok(0)
}

pub async fn compare(session: &Session, file: &Path) -> Result<u8, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("{} cannot be read: {error}", file.display())))?;
    let anchors = parse(&text).map_err(|why| {
        Failure::usage(format!("{}: {why}\nIt must be what `pleach doctor --anchor` printed.", file.display()))
    })?;
    let Some(store) = opened(session).await? else {
        return Err(Failure::failed(format!(
            "there is no database, and {} names {} runs",
            file.display(),
            anchors.len()
        )));
    };
    let mut departed = 0;
    for anchor in &anchors {
        let unusable = |error| attach::unusable(&session.config, &error);
        let Some(what) = difference(&store, anchor).await.map_err(unusable)? else { continue };
        departed += 1;
        match session.json {
            true => session.print_json(&json!({"run_id": anchor.run, "seq": anchor.seq, "detail": what})),
            false => print(&format!("✗ run {}: {what}", anchor.run)),
        }
    }
    let kept = anchors.len() - departed;
    match session.json {
        true => session.print_json(&json!({"compared": anchors.len(), "kept": kept, "departed": departed})),
        false => print(&format!("{kept} of {} logs hold what {} says of them", anchors.len(), file.display())),
    }
    Ok(u8::from(departed > 0))
}

/// The hash at that seq must stand there, and the chain up to it must be the one that gives it.
async fn difference(store: &SqlStore, anchor: &Anchor) -> Result<Option<String>, store::StoreError> {
    Ok(match store.departure(anchor).await? {
        Some(Departure::Gone) => Some("it is gone: pruned, deleted or lost".into()),
        Some(Departure::Shorter { last_seq }) => {
            Some(format!("its log ends at event {last_seq}, before event {}", anchor.seq))
        }
        Some(Departure::Rewritten) => Some(format!("event {} is not the one that was written down", anchor.seq)),
        None => match store.verify(anchor.run).await? {
            LogCheck::Broken { seq, what } => Some(format!("damaged at event {seq}: {what}")),
            LogCheck::Intact { .. } => None,
        },
    })
}

fn parse(text: &str) -> Result<Vec<Anchor>, String> {
    let (mut anchors, mut ended) = (Vec::new(), None);
    for (number, text) in text.lines().map(str::trim).enumerate().filter(|(_, text)| !text.is_empty()) {
        let unreadable = || format!("line {} is neither a run's head nor the digest", number + 1);
        match entry(text).ok_or_else(unreadable)? {
            Entry::Head(anchor) => anchors.push(anchor),
            Entry::Digest(digest) => ended = Some(digest),
        }
    }
    match ended {
        None => Err("the digest line is missing, so it may be cut off".into()),
        Some(given) if given != digest(&anchors) => Err("its digest does not fit its lines: it was changed".into()),
        Some(_) => Ok(anchors),
    }
}

enum Entry {
    Head(Anchor),
    Digest(String),
}

fn entry(text: &str) -> Option<Entry> {
    if text.starts_with('{') {
        let value: Value = serde_json::from_str(text).ok()?;
        if let Some(digest) = value[DIGEST].as_str() {
            return Some(Entry::Digest(digest.to_owned()));
        }
        return head(value["run_id"].as_str()?, &value["seq"].to_string(), value["hash"].as_str()?);
    }
    match text.split(' ').collect::<Vec<_>>().as_slice() {
        [DIGEST, digest, _] => Some(Entry::Digest((*digest).to_owned())),
        [run, seq, hash] => head(run, seq, hash),
        _ => None,
    }
}

fn head(run: &str, seq: &str, hash: &str) -> Option<Entry> {
    let hash: Hash = hash.parse().ok()?;
    Some(Entry::Head(Anchor { run: run.parse().ok()?, seq: seq.parse().ok()?, hash }))
}
