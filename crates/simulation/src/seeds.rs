//! One seed from the first roll of the dice to the verdict, and many of them at once.

use crate::checks::{self, Judged};
use crate::world::{Kinds, Lived, Setup, live};
use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// How one seed went.
#[derive(Debug)]
pub struct SeedResult {
    pub seed: u64,
    pub wrongs: Vec<String>,
    pub trace_hash: u64,
    pub trace: Vec<String>,
    pub events: u64,
    pub requests: usize,
    /// Calls that a driver found without their answer.
    pub lost: usize,
    pub deaths: u32,
    pub virtual_ms: u64,
}

/// One seed in twenty lives twice, and must leave the same trace.
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

/// Live one world and judge it, on this thread.
pub fn run(setup: Setup) -> SeedResult {
    watch_panics();
    PANIC.with_borrow_mut(|seen| *seen = Some(String::new()));
    let seed = setup.seed;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime starts");
    let judged = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        runtime.block_on(async {
            let lived = live(setup).await;
            let judged = checks::judge(&lived).await;
            (lived, judged)
        })
    }));
    drop(runtime);
    let panics = PANIC.with_borrow_mut(Option::take).unwrap_or_default();
    let mut verdict = match judged {
        Ok((lived, judged)) => SeedResult::of(lived, judged),
        Err(_) => SeedResult {
            seed,
            wrongs: Vec::new(),
            trace_hash: 0,
            trace: Vec::new(),
            events: 0,
            requests: 0,
            lost: 0,
            deaths: 0,
            virtual_ms: 0,
        },
    };
    if !panics.is_empty() {
        verdict.wrongs.insert(0, format!("panic: {panics}"));
    }
    verdict
}

/// A seed of the ordinary kind; some are lived twice.
pub fn run_seed(seed: u64, kinds: Kinds) -> SeedResult {
    let mut verdict = run(Setup::of(seed, kinds));
    if seed.is_multiple_of(TWICE_EVERY) {
        let again = run(Setup::of(seed, kinds));
        if again.trace_hash != verdict.trace_hash {
            verdict.wrongs.push("determinism: lived twice, the seed left two different traces".into());
        }
    }
    verdict
}

impl SeedResult {
    fn of(lived: Lived, Judged { wrongs, lost }: Judged) -> SeedResult {
        let commits = &lived.record.commits;
        SeedResult {
            seed: lived.setup.seed,
            wrongs,
            lost,
            trace_hash: lived.trace_hash,
            events: commits.iter().map(|commit| commit.row.last_seq + 1 - commit.first_seq).sum(),
            requests: lived.bill.len(),
            deaths: lived.record.deaths,
            virtual_ms: lived.virtual_ms,
            trace: lived.record.lines,
        }
    }
}
