//! Runs the world of a seed and checks it.

use crate::checks::{self, CheckResult};
use crate::world::{FinishedWorld, Kinds, Setup, run_world};
use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The result of one seed.
#[derive(Debug, Default)]
pub struct SeedResult {
    pub seed: u64,
    pub violations: Vec<String>,
    pub trace_hash: u64,
    pub trace: Vec<String>,
    pub events: u64,
    pub requests: usize,
    /// Calls that a new driver declared lost.
    pub lost: usize,
    pub deaths: u32,
    pub virtual_ms: u64,
}

/// One seed in twenty runs twice and must give the same trace.
const TWICE_EVERY: u64 = 20;

/// tokio swallows a panic in a spawned task; here it fails the seed.
fn watch_panics() {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let in_world = PANIC.with_borrow_mut(|seen| match seen {
                Some(seen) => {
                    seen.push_str(&format!("{info}; "));
                    true
                }
                None => false,
            });
            if !in_world {
                before(info);
            }
        }));
    });
}

/// Runs one world and checks it, on this thread.
pub fn run(setup: Setup) -> SeedResult {
    watch_panics();
    PANIC.with_borrow_mut(|seen| *seen = Some(String::new()));
    let seed = setup.seed;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime starts");
    let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        runtime.block_on(async {
            let finished = run_world(setup).await;
            let checked = checks::check_world(&finished).await;
            (finished, checked)
        })
    }));
    drop(runtime);
    let panics = PANIC.with_borrow_mut(Option::take).unwrap_or_default();
    let mut verdict = match checked {
        Ok((finished, checked)) => SeedResult::of(finished, checked),
        Err(_) => SeedResult { seed, ..SeedResult::default() },
    };
    if !panics.is_empty() {
        verdict.violations.insert(0, format!("panic: {panics}"));
    }
    verdict
}

/// A seed of the ordinary kind; some are lived twice.
pub fn run_seed(seed: u64, kinds: Kinds) -> SeedResult {
    let mut verdict = run(Setup::of(seed, kinds));
    if seed.is_multiple_of(TWICE_EVERY) {
        let again = run(Setup::of(seed, kinds));
        if again.trace_hash != verdict.trace_hash {
            verdict.violations.push("determinism: lived twice, the seed left two different traces".into());
        }
    }
    verdict
}

impl SeedResult {
    fn of(finished: FinishedWorld, CheckResult { violations, lost }: CheckResult) -> SeedResult {
        let commits = &finished.record.commits;
        SeedResult {
            seed: finished.setup.seed,
            violations,
            lost,
            trace_hash: finished.trace_hash,
            events: commits.iter().map(|commit| commit.row.last_seq + 1 - commit.first_seq).sum(),
            requests: finished.bill.len(),
            deaths: finished.record.deaths,
            virtual_ms: finished.virtual_ms,
            trace: finished.record.lines,
        }
    }
}
