//! Measures Pleach for the benchmark: homework or tree runs on the real driver, worker, tools and store, with a model
//! in this process that answers at once. Prints one JSON line; `bench/README.md` explains its fields.
//!
//! `bench --database URL [--runs N] [--at-once C] [--calls K [--reading] | --tree 3x4] [--postmaster PID]`, or
//! `bench --database URL --append SECONDS [--writers W] [--push]`
//!
//! With `--pooled` it uses PostgreSQL as if a pooler stood in between: without prepared statements.

// The rest of this crate uses virtual time. This binary measures real time.
#![allow(clippy::disallowed_methods)]

mod append;
mod bench_server;
mod meter;
mod model;
mod tree;

use bench_server::BenchServer;
use meter::{Meter, Spent};
use model::{Shape, Workload};
use serde_json::{Value, json};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The most nodes of a run that is run once before the measurement, to warm up. `bench/ours.py` knows this number.
const WARM_UP: usize = 200;

struct Options {
    database: String,
    pooled: bool,
    runs: usize,
    at_once: usize,
    shape: Shape,
    tree: Option<tree::TreeShape>,
    postmaster: Option<u32>,
    append: append::Load,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
        let mut options = Options {
            database: String::new(),
            pooled: false,
            runs: 8,
            at_once: 1,
            shape: Shape::default(),
            tree: None,
            postmaster: None,
            append: append::Load { writers: 16, seconds: 0, push: false },
        };
        while let Some(flag) = arguments.next() {
            let switch = match flag.as_str() {
                "--reading" => Some(&mut options.shape.reading),
                "--push" => Some(&mut options.append.push),
                "--pooled" => Some(&mut options.pooled),
                _ => None,
            };
            if let Some(switch) = switch {
                *switch = true;
                continue;
            }
            let value = arguments.next().ok_or_else(|| format!("{flag} needs a value"))?;
            let number = || value.parse::<usize>().map_err(|error| format!("{flag} {value}: {error}"));
            match flag.as_str() {
                "--database" => options.database = value,
                "--runs" => options.runs = number()?.max(1),
                "--at-once" => options.at_once = number()?.max(1),
                "--calls" => options.shape.calls = number()?.max(Shape::FEWEST),
                "--tree" => options.tree = Some(tree::TreeShape::parse(&value)?),
                "--append" => options.append.seconds = number()?,
                "--writers" => options.append.writers = number()?.max(1),
                "--postmaster" => options.postmaster = Some(number()? as u32),
                _ => return Err(format!("unknown flag {flag}")),
            }
        }
        if options.database.is_empty() { Err("--database is missing".into()) } else { Ok(options) }
    }

    async fn open_store(&self) -> Result<Arc<store::SqlStore>, String> {
        let direct_url = (!self.pooled).then(|| self.database.clone());
        let options = store::Options { direct_url, ..store::Options::default() };
        store::open(&self.database, options).await.map_err(|error| error.to_string())
    }

    fn workload(&self) -> Workload {
        self.tree.clone().map_or(Workload::Homework(self.shape), Workload::Tree)
    }
}

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    // The same runtime as the product's.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    match runtime.block_on(measure(&options)) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(options: &Options) -> Result<Value, String> {
    if options.append.seconds > 0 {
        return append::measure(options).await;
    }
    let workload = options.workload();
    let server = Arc::new(BenchServer::open(options, workload.clone()).await?);
    // One run fills the statement caches, and the peers have a warm-up too. A tree of thousands of nodes fills them by
    // itself.
    if workload.nodes() <= WARM_UP {
        server.run_many(1, 1).await?;
    }
    let first_call = server.models.first_call();
    server.models.calls.store(0, Ordering::Relaxed);
    let meter = Meter::start(options.postmaster);
    let events = server.run_many(options.runs, options.at_once).await?;
    let spent = meter.stop();
    let calls = server.models.calls.load(Ordering::Relaxed);
    let mut line = report(options, &workload, &spent, calls, events);
    line["cpu_to_first_call_s"] = json!(first_call);
    // The fold comes after the meter has read the peak memory: it holds a whole log in memory, which no run does.
    line["fold_us_event"] = json!(server.fold_us_event().await?);
    server.close().await;
    Ok(line)
}

/// The JSON line, with the same fields as the lines of the peers. A homework run has no tree, so each model call counts
/// as a node.
fn report(options: &Options, workload: &Workload, spent: &Spent, calls: usize, events: u64) -> Value {
    let (runs, wall) = (options.runs as f64, spent.wall_s);
    let (nodes, asked) = (workload.nodes() as f64 * runs, workload.calls() as f64 * runs);
    let postgres = options.database.starts_with("postgres");
    let cpu = spent.cpu_s + spent.cpu_pg_s;
    let mut line = json!({
        "test": if options.tree.is_some() { "tree" } else { "peer" },
        "peer": if postgres { "pleach-pg" } else { "pleach-sqlite" },
        "shape": workload.name(),
        "runs": options.runs, "conc": options.at_once,
        "nodes": nodes, "calls": asked, "calls_seen": calls,
        "nodes_s": nodes / wall, "calls_s": asked / wall,
        "wall_ms_node": wall / nodes * 1e3, "cpu_ms_node": cpu / nodes * 1e3, "run_ms": wall / runs * 1e3,
        "events": events, "cpu_us_event": cpu / events as f64 * 1e6,
    });
    spent.add_to(&mut line);
    line
}
