//! Drives runs without a driver, one append per effect, and reads their rows with plain SQL.

use crate::world::{Place, World, client, drafted, fenced, fresh, now, run_id};
use engine::effect::{EffectAttempt, ModelReply, Outcome, Usage};
use engine::facts::run::Queued;
use engine::run::Run;
use runtime::ports::{Lease, Log};
use serde_json::Value;

/// Drives a run until it wants no more effects. `perform` answers its effects.
pub async fn played(world: &World, brief: Queued, mut perform: impl FnMut(&EffectAttempt) -> Outcome) -> Run {
    let mut run = Run::create(fresh(), brief, world.actor(), now()).unwrap();
    let mut append = drafted(&mut run, None);
    append.claim_for = Some("driver".into());
    world.store.append(append).await.unwrap();
    let lease = Lease { run_id: run_id(&run), worker: "driver".into(), epoch: 1 };
    run.take_over(None, now());
    for _ in 0..100 {
        if run.has_draft() {
            let append = fenced(drafted(&mut run, None), &lease);
            world.store.append(append).await.unwrap();
        }
        if !run.shared.status().is_live() {
            return run;
        }
        let due = run.due(now());
        let jobs: Vec<_> = due.outside.iter().filter_map(|effect| run.intend(effect, now())).collect();
        let inline: Vec<_> = due.inline.iter().filter_map(|effect| run.inline_job(effect, now())).collect();
        for job in jobs.into_iter().chain(inline) {
            let outcome = perform(&job);
            run.outcome(&job.effect, job.attempt, outcome, None, now());
        }
    }
    panic!("the run did not come to rest: {}", run.activity());
}

pub fn replied(answer: Value) -> Outcome {
    let usage = Usage { input: 100, cached: 0, output: 20, estimated: false };
    Outcome::Model(Ok(ModelReply { text: answer.to_string(), usage, truncated: false, provider_request_id: None }))
}

pub fn sql(world: &World) -> &store::SqlStore {
    &world.store
}

pub async fn raw(world: &World, sql: &str) {
    match &world.place {
        Place::File(path) => rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap(),
        Place::Database(url) => client(url).await.batch_execute(sql).await.unwrap(),
    }
}

/// Every column of every row, in a fixed order.
pub async fn dump(world: &World, table: &str) -> Vec<String> {
    let mut rows: Vec<String> = match &world.place {
        Place::File(path) => {
            let connection = rusqlite::Connection::open(path).unwrap();
            let mut statement = connection.prepare(&format!("SELECT * FROM {table}")).unwrap();
            let columns = statement.column_count();
            let row =
                |row: &rusqlite::Row<'_>| Ok((0..columns).map(|n| format!("{:?}|", row.get_ref(n).unwrap())).collect());
            statement.query_map([], row).unwrap().map(Result::unwrap).collect()
        }
        Place::Database(url) => {
            let rows =
                client(url).await.query(&format!("SELECT row_to_json(t)::text FROM {table} t"), &[]).await.unwrap();
            rows.iter().map(|row| row.get(0)).collect()
        }
    };
    rows.sort();
    rows
}

pub async fn dumps(world: &World, tables: &[&str]) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for table in tables {
        all.push(dump(world, table).await);
    }
    all
}
