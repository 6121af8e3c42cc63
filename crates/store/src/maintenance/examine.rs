//! Checks whether a database still holds what was written to it: the file by the database's own check, rows by their
//! checksums, logs by their hash chains, texts by their hashes, and projections by computing them again. It only reads.

use super::rebuild::{delete_projections, parts, projected};
use super::verify::Chain;
use super::{of_run, references};
use crate::log::into_store_error;
use crate::sql::{Row, Statement, Value};
use crate::sqlite::Sqlite;
use crate::sqlite::schema::{self, Table};
use crate::tables::tables;
use crate::{FileClock, SqlStore, StoreError, backend::Backend, codec, migrate};
use engine::blob::Hash;
use engine::event::Event;
use engine::ids::RunId;
use engine::run::Kind;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

/// How much of the database is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// The logs, and the file by its quick check.
    Quick,
    Full,
}

/// Damage, grouped by what a person does about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The file, or single rows in it. A backup must be restored.
    File(String),
    Log {
        run: RunId,
        seq: u64,
        what: String,
    },
    Text(String),
    /// A projection. It can be computed again from the log.
    Projection {
        run: RunId,
        what: String,
    },
}

impl Damage {
    /// Whether `rebuild` repairs it.
    pub fn can_be_rebuilt(&self) -> bool {
        matches!(self, Damage::Projection { .. })
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::File(what) | Damage::Text(what) => f.write_str(what),
            Damage::Log { run, seq, what } => write!(f, "run {run} is damaged at event {seq}: {what}"),
            Damage::Projection { run, what } => write!(f, "run {run}: {what}"),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examination {
    pub runs: u64,
    pub events: u64,
    pub texts: u64,
    pub damage: Vec<Damage>,
}

/// Texts are read in pages.
const TEXTS: usize = 100;
/// The most attempts at a run whose log grows while it is checked.
const TRIES: usize = 8;

impl SqlStore {
    pub async fn examine(&self, depth: Depth) -> Result<Examination, StoreError> {
        let mut found = Examination::default();
        let file = self.backend.self_check(depth == Depth::Quick).await;
        found.damage.extend(file.unwrap_or_else(|error| vec![error.to_string()]).into_iter().map(Damage::File));
        let texts = match depth {
            Depth::Quick => HashMap::new(),
            Depth::Full => self.texts(&mut found).await?,
        };
        let shadow = Shadow::new().await?;
        let runs = match self.every_run().await {
            Ok(runs) => runs,
            Err(error) => {
                found.damage.push(Damage::File(format!("the list of runs cannot be read: {error}")));
                return Ok(found);
            }
        };
        for run in texts.keys().filter(|run| !runs.contains(run)) {
            if self.last_seq(*run).await?.is_none() && self.has_texts(*run).await? {
                found.damage.push(Damage::Text(format!("a text belongs to run {run}, which does not exist")));
            }
        }
        for run in runs {
            found.runs += 1;
            match self.examine_run(run, depth, &shadow, &texts).await {
                Ok((events, damage)) => {
                    found.events += events;
                    found.damage.extend(damage);
                }
                Err(error @ (StoreError::Unavailable(_) | StoreError::Busy(_))) => return Err(error),
                Err(error) => found.damage.push(Damage::Log { run, seq: 0, what: error.to_string() }),
            }
        }
        Ok(found)
    }

    /// Checks that every text has the hash it is stored under. Returns the texts that each run refers to.
    async fn texts(&self, found: &mut Examination) -> Result<HashMap<RunId, BTreeSet<Hash>>, StoreError> {
        let mut present = BTreeSet::new();
        let mut after: Vec<u8> = Vec::new();
        loop {
            let query = "SELECT hash, body FROM blobs WHERE hash > ?1 ORDER BY hash LIMIT ?2";
            let query = Statement::new(query, vec![Value::from(after.clone()), Value::from(TEXTS)]);
            let page = match self.backend.read_long(query).await {
                Ok(page) => page,
                Err(StoreError::Unusable(why)) => {
                    found.damage.push(Damage::Text(format!("the texts cannot be read: {why}")));
                    break;
                }
                Err(error) => return Err(error),
            };
            let Some(last) = page.last() else { break };
            after = last.bytes(0)?.to_vec();
            for row in &page {
                found.texts += 1;
                match text_of(row) {
                    Ok(hash) => {
                        present.insert(hash);
                    }
                    Err(what) => found.damage.push(Damage::Text(what)),
                }
            }
        }
        let mut of_runs: HashMap<RunId, BTreeSet<Hash>> = HashMap::new();
        let query = Statement::new("SELECT run_id, hash FROM blob_refs", vec![]);
        for row in self.backend.read_long(query).await? {
            let (run, hash): (RunId, Hash) = (row.parse(0)?, crate::records::hash(&row, 1)?);
            match present.contains(&hash) {
                true => drop(of_runs.entry(run).or_default().insert(hash)),
                false => {
                    let what = format!("the text {hash} that run {run} refers to is missing or was changed");
                    found.damage.push(Damage::Text(what));
                }
            }
        }
        Ok(of_runs)
    }

    async fn has_texts(&self, run: RunId) -> Result<bool, StoreError> {
        let found = self.backend.read_long(of_run("SELECT 1 FROM blob_refs WHERE run_id = ?1 LIMIT 1", run)).await?;
        Ok(!found.is_empty())
    }

    /// The number of events, and the damage. A run that is deleted during the check has none.
    async fn examine_run(
        &self,
        run: RunId,
        depth: Depth,
        shadow: &Shadow,
        texts: &HashMap<RunId, BTreeSet<Hash>>,
    ) -> Result<(u64, Vec<Damage>), StoreError> {
        let mut events: Vec<Event> = Vec::new();
        for _ in 0..TRIES {
            let Some(last_seq) = self.last_seq(run).await? else { return Ok((0, Vec::new())) };
            self.read_on(run, &mut events).await?;
            let mut chain = Chain::of(run);
            if let Some((seq, what)) = events.iter().find_map(|event| chain.follow(event).err()) {
                return Ok((chain.last, vec![Damage::Log { run, seq, what: what.into() }]));
            }
            if chain.last > last_seq && self.last_seq(run).await? != Some(last_seq) {
                continue;
            }
            let mut damage = Vec::new();
            if chain.last < last_seq {
                damage.push(Damage::Log { run, seq: chain.last + 1, what: "an event is missing".into() });
            } else if chain.last > last_seq {
                let what = format!("its row in jobs says that the log ends at event {last_seq}");
                damage.push(Damage::Log { run, seq: chain.last, what });
            } else if depth == Depth::Full {
                damage.extend(missing_text(run, &events, texts));
                damage.extend(self.rewritten_commit(run, &events).await?.map(|seq| {
                    let what = "its commit reads the same, but is not as it was written".into();
                    Damage::Log { run, seq, what }
                }));
                damage.extend(self.compare_projections(run, &events, shadow).await?);
            }
            if self.last_seq(run).await? == Some(last_seq) {
                return Ok((chain.last, damage));
            }
        }
        // The log grew during every attempt, so its projections could not be compared. Its chain is intact.
        Ok((events.len() as u64, Vec::new()))
    }

    /// Compares the stored projections with those computed from the log.
    async fn compare_projections(
        &self,
        run: RunId,
        events: &[Event],
        shadow: &Shadow,
    ) -> Result<Option<Damage>, StoreError> {
        let Some(projected) = projected(events) else {
            return Ok(Some(Damage::Log { run, seq: 1, what: "the log does not begin with run.queued".into() }));
        };
        let kind = projected.kind;
        shadow.backend.write(projected.statements).await.map_err(into_store_error)?;
        let mut wrong = Vec::new();
        for (table, by) in projections(kind) {
            let columns = shadow.columns(table);
            let query = || of_run(format!("SELECT {columns} FROM {table} WHERE {by} = ?1"), run);
            let stored = self.backend.read_long(query()).await;
            if sorted(stored?) != sorted(shadow.backend.read(query()).await?) {
                wrong.push(table);
            }
        }
        let job = of_run("SELECT kind, state, agent, owner FROM jobs WHERE run_id = ?1", run);
        if let Some(row) = self.backend.read_long(job).await?.first() {
            let same = |(column, expected): (usize, &Option<String>)| {
                row.optional_text(column).is_ok_and(|stored| stored == expected.as_deref())
            };
            if !projected.job.iter().enumerate().all(same) {
                wrong.push("jobs");
            }
        }
        shadow.backend.write(delete_projections(run, kind)).await.map_err(into_store_error)?;
        let what = || format!("its rows in {} do not match its log", wrong.join(", "));
        Ok((!wrong.is_empty()).then(|| Damage::Projection { run, what: what() }))
    }
}

fn text_of(row: &Row) -> Result<Hash, String> {
    let hash = crate::records::hash(row, 0).map_err(|error| error.to_string())?;
    let text = row.bytes(1).and_then(codec::unpack).map_err(|_| format!("the text {hash} cannot be read"))?;
    match Hash::of(&[text.as_bytes()]) == hash {
        true => Ok(hash),
        false => Err(format!("the text {hash} was changed after it was written")),
    }
}

fn missing_text(run: RunId, events: &[Event], texts: &HashMap<RunId, BTreeSet<Hash>>) -> Option<Damage> {
    let none = BTreeSet::new();
    let stored = texts.get(&run).unwrap_or(&none);
    events.iter().find_map(|event| {
        let mut named = BTreeSet::new();
        references::collect(&event.payload, &mut named);
        let missing = named.difference(stored).next()?;
        let what = format!("the text {missing} that it refers to is missing or was changed");
        Some(Damage::Log { run, seq: event.seq, what })
    })
}

/// The projections of a kind, each with the column that names the run.
fn projections(kind: Kind) -> Vec<(&'static str, &'static str)> {
    let tables = tables(kind);
    std::iter::once((tables.runs, "id")).chain(parts(&tables).map(|table| (table, "run_id"))).collect()
}

/// The same tables in memory. They hold only the projections of the run that is being compared.
struct Shadow {
    backend: Sqlite,
    tables: Vec<Table>,
}

impl Shadow {
    async fn new() -> Result<Shadow, StoreError> {
        let backend = migrate::in_memory(Arc::new(FileClock::default()))?;
        let tables = schema::tables(&backend).await?;
        Ok(Shadow { backend, tables })
    }

    fn columns(&self, table: &str) -> String {
        let found = self.tables.iter().find(|known| known.name == table);
        found.map(|table| table.columns().join(", ")).unwrap_or_default()
    }
}

/// The rows as sorted text, with one form of NULL. The two databases return rows in different orders and NULLs with
/// different types.
fn sorted(rows: Vec<Row>) -> Vec<String> {
    let plain = |value: &Value| match value {
        Value::Int(None) | Value::Text(None) | Value::Bytes(None) => "NULL".to_owned(),
        other => format!("{other:?}"),
    };
    let mut rows: Vec<String> = rows.iter().map(|row| row.0.iter().map(plain).collect::<Vec<_>>().join("|")).collect();
    rows.sort();
    rows
}
