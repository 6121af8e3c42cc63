//! `doctor --anchor` and `--against`: where every log ends, written down outside the database and compared with it later.

use super::Session;
use crate::attach;
use crate::config::Database;
use crate::failure::Failure;
use engine::blob::Hash;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::path::PathBuf;
use std::sync::Arc;
use store::{Anchor, AnchorMismatch, LogCheck, SqlStore};

const DIGEST: &str = "digest";

async fn open(session: &Session) -> Result<Option<Arc<SqlStore>>, Failure> {
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

/// The SHA-256 of the printed lines, so that any tool can compute it.
fn digest(anchors: &[Anchor]) -> String {
    let mut hasher = Sha256::new();
    anchors.iter().for_each(|anchor| hasher.update(format!("{}\n", line(anchor))));
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) async fn print_all(session: &Session) -> Result<u8, Failure> {
    let anchors = match open(session).await? {
        Some(store) => store.anchors().await.map_err(|error| attach::unusable(&session.config, &error))?,
        None => Vec::new(),
    };
    for anchor in &anchors {
        session.print_value(&json!({"run_id": anchor.run, "seq": anchor.seq, "hash": anchor.hash}), &line(anchor));
    }
    let (digest, runs) = (digest(&anchors), anchors.len());
    session.print_value(&json!({"digest": digest, "runs": runs}), &format!("{DIGEST} {digest} {runs}"));
    Ok(0)
}

pub(crate) async fn compare(session: &Session, file: PathBuf) -> Result<u8, Failure> {
    let text = std::fs::read_to_string(&file)
        .map_err(|error| Failure::usage(format!("{} cannot be read: {error}", file.display())))?;
    let anchors = parse(&text).map_err(|why| {
        Failure::usage(format!("{}: {why}\nIt must be what `pleach doctor --anchor` printed.", file.display()))
    })?;
    let Some(store) = open(session).await? else {
        return Err(Failure::failed(format!(
            "there is no database to compare with, but {} names {} runs",
            file.display(),
            anchors.len()
        )));
    };
    let mut departed = 0;
    for anchor in &anchors {
        let unusable = |error| attach::unusable(&session.config, &error);
        let Some(what) = difference(&store, anchor).await.map_err(unusable)? else { continue };
        departed += 1;
        let value = json!({"run_id": anchor.run, "seq": anchor.seq, "detail": what});
        session.print_value(&value, &format!("✗ run {}: {what}", anchor.run));
    }
    let (compared, kept) = (anchors.len(), anchors.len() - departed);
    session.print_value(
        &json!({"compared": compared, "kept": kept, "departed": departed}),
        &format!("{kept} of {compared} logs agree with {}", file.display()),
    );
    Ok(u8::from(departed > 0))
}

/// The event at that seq must have that hash, and the chain up to it must be intact.
async fn difference(store: &SqlStore, anchor: &Anchor) -> Result<Option<String>, store::StoreError> {
    Ok(match store.departure(anchor).await? {
        Some(AnchorMismatch::Missing) => Some("it is gone: pruned, deleted or lost".into()),
        Some(AnchorMismatch::Truncated { last_seq }) => {
            Some(format!("its log ends at event {last_seq}, before event {}", anchor.seq))
        }
        Some(AnchorMismatch::Rewritten) => Some(format!("event {} is not the one in the file", anchor.seq)),
        None => match store.verify(anchor.run).await? {
            LogCheck::Broken { seq, what } => Some(format!("damaged at event {seq}: {what}")),
            LogCheck::Intact { .. } => None,
        },
    })
}

fn parse(text: &str) -> Result<Vec<Anchor>, String> {
    let (mut anchors, mut last) = (Vec::new(), None);
    for (number, text) in text.lines().map(str::trim).enumerate().filter(|(_, text)| !text.is_empty()) {
        let unreadable = || format!("line {} is neither an anchor nor the digest", number + 1);
        match entry(text).ok_or_else(unreadable)? {
            Entry::Anchor(anchor) => anchors.push(anchor),
            Entry::Digest(digest) => last = Some(digest),
        }
    }
    match last {
        None => Err("the digest line is missing; the file may be cut off".into()),
        Some(given) if given != digest(&anchors) => {
            Err("the digest does not match the lines; the file was changed".into())
        }
        Some(_) => Ok(anchors),
    }
}

enum Entry {
    Anchor(Anchor),
    Digest(String),
}

fn entry(text: &str) -> Option<Entry> {
    if text.starts_with('{') {
        let value: Value = serde_json::from_str(text).ok()?;
        if let Some(digest) = value[DIGEST].as_str() {
            return Some(Entry::Digest(digest.to_owned()));
        }
        return anchor(value["run_id"].as_str()?, &value["seq"].to_string(), value["hash"].as_str()?);
    }
    match text.split(' ').collect::<Vec<_>>().as_slice() {
        [DIGEST, digest, _] => Some(Entry::Digest((*digest).to_owned())),
        [run, seq, hash] => anchor(run, seq, hash),
        _ => None,
    }
}

fn anchor(run: &str, seq: &str, hash: &str) -> Option<Entry> {
    let hash: Hash = hash.parse().ok()?;
    Some(Entry::Anchor(Anchor { run: run.parse().ok()?, seq: seq.parse().ok()?, hash }))
}
