//! Runs seeds of the simulation. `--seed N --trace` replays one seed. `--seeds N` runs many, and prints a line for each
//! that fails, with the command that replays it.

use simulation::seeds::{SeedResult, run, run_seed};
use simulation::world::{Kinds, Setup};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

const USAGE: &str = "usage: simulate [--seeds N] [--from N] [--jobs N] [--kind homework|tree|task|mixed] [--stop-at-first]\n       simulate --seed N [--kind homework|tree|task|mixed] [--trace]";

struct Options {
    seeds: u64,
    from: u64,
    jobs: usize,
    kinds: Kinds,
    one: Option<u64>,
    trace: bool,
    stop_at_first: bool,
}

fn options() -> Result<Options, String> {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let mut options = Options {
        seeds: 2_000,
        from: 0,
        jobs: cores,
        kinds: Kinds::Mixed,
        one: None,
        trace: false,
        stop_at_first: false,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|word| word.parse().ok()).ok_or(format!("{word} needs a number"));
        match word.as_str() {
            "--seeds" => options.seeds = number()?,
            "--from" => options.from = number()?,
            "--jobs" => options.jobs = number()? as usize,
            "--seed" => options.one = Some(number()?),
            "--trace" => options.trace = true,
            "--stop-at-first" => options.stop_at_first = true,
            "--kind" => {
                options.kinds = match words.next().as_deref() {
                    Some("homework") => Kinds::Homework,
                    Some("tree") => Kinds::Tree,
                    Some("task") => Kinds::Task,
                    Some("mixed") => Kinds::Mixed,
                    other => return Err(format!("--kind is homework, tree, task or mixed, not {other:?}")),
                }
            }
            other => return Err(format!("unknown flag {other}")),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(why) => {
            eprintln!("{why}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match options.one {
        Some(seed) => one(&options, seed),
        None => many(&options),
    }
}

fn one(options: &Options, seed: u64) -> ExitCode {
    let setup = Setup { keep_lines: options.trace, ..Setup::of(seed, options.kinds) };
    let verdict = if options.trace { run(setup) } else { run_seed(seed, options.kinds) };
    verdict.trace.iter().for_each(|line| println!("{line}"));
    println!(
        "seed {seed}: {} events, {} model calls, {} deaths, {} virtual s, trace {:016x}",
        verdict.events,
        verdict.requests,
        verdict.deaths,
        verdict.virtual_ms / 1000,
        verdict.trace_hash
    );
    verdict.violations.iter().for_each(|violation| println!("  {violation}"));
    if verdict.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Totals over many seeds.
#[derive(Default)]
struct Totals {
    seeds: u64,
    failed: u64,
    events: u64,
    requests: usize,
    deaths: u32,
}

impl Totals {
    fn add(&mut self, verdict: &SeedResult) {
        self.seeds += 1;
        self.failed += u64::from(!verdict.violations.is_empty());
        self.events += verdict.events;
        self.requests += verdict.requests;
        self.deaths += verdict.deaths;
    }
}

fn many(options: &Options) -> ExitCode {
    #[expect(
        clippy::disallowed_methods,
        reason = "the time that the whole simulation takes is real, not part of a simulated world"
    )]
    let began = Instant::now();
    let (next, stop, totals) = (AtomicU64::new(0), AtomicBool::new(false), Mutex::new(Totals::default()));
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let nth = next.fetch_add(1, Ordering::Relaxed);
                    if nth >= options.seeds {
                        return;
                    }
                    let seed = options.from + nth;
                    let verdict = run_seed(seed, options.kinds);
                    totals.lock().unwrap_or_else(PoisonError::into_inner).add(&verdict);
                    if !verdict.violations.is_empty() {
                        complain(&verdict, options.kinds);
                        stop.fetch_or(options.stop_at_first, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let Totals { seeds, failed, events, requests, deaths } =
        totals.into_inner().unwrap_or_else(PoisonError::into_inner);
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{seeds} seeds, {failed} failed: {events} events, {requests} model calls, {deaths} deaths of workers, in {seconds:.1} s"
    );
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn complain(verdict: &SeedResult, kinds: Kinds) {
    let kind = match kinds {
        Kinds::Homework => "homework",
        Kinds::Tree => "tree",
        Kinds::Task => "task",
        Kinds::Mixed => "mixed",
    };
    let first = verdict.violations.first().map(String::as_str).unwrap_or_default();
    println!(
        "SEED {} FAILED: {first} | cargo run -p simulation --bin simulate -- --seed {} --kind {kind} --trace",
        verdict.seed, verdict.seed
    );
}
