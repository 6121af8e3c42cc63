//! Fuzzing of the parsers of untrusted bytes. The seed and a number decide every input, so a failing input can be made
//! again. `assert_linear` and `assert_doubles` check that twice the input costs about twice as much. It must not know
//! any parser; the targets do.

pub mod targets;

use crate::dice::Dice;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// The inputs of a test. `PLEACH_FUZZ_INPUTS` sets more for a longer run.
const INPUTS: u64 = 2_000;
const INPUTS_VARIABLE: &str = "PLEACH_FUZZ_INPUTS";
/// Inputs are truncated to this many bytes.
const MAX_INPUT_BYTES: usize = 64 * 1024;
/// The limit for one input. No input of that size takes nearly as long, even on a busy machine.
const MAX_TIME: Duration = Duration::from_secs(2);

/// A parser, inputs to start from, and the words of its grammar.
#[derive(Clone, Copy)]
pub struct Target {
    pub name: &'static str,
    pub seeds: &'static [&'static str],
    pub words: &'static [&'static str],
    pub parse: fn(&[u8]),
}

/// The figures of one target.
#[derive(Clone, Debug)]
pub struct Figures {
    pub inputs: u64,
    pub took: Duration,
    pub slowest: Duration,
    pub slowest_bytes: usize,
}

/// The input that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    pub number: u64,
    pub input: Vec<u8>,
    pub why: String,
}

#[allow(clippy::disallowed_methods, reason = "what is measured is real time")]
fn now() -> Instant {
    Instant::now()
}

/// The processor time of this thread, where the system tells it.
fn thread_cpu() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// The cost of some work: its processor time, or its wall time where the system does not tell the first.
fn cost(work: impl FnOnce()) -> Duration {
    let (begun, before) = (now(), thread_cpu());
    work();
    let (after, took) = (thread_cpu(), begun.elapsed());
    before.zip(after).map_or(took, |(before, after)| after.saturating_sub(before))
}

/// Tries up to `inputs` inputs. The first that makes the parser panic or takes too long is the failure.
pub fn fuzz(target: &Target, inputs: u64, seed: u64) -> Result<Figures, Failure> {
    let begun = now();
    let mut figures = Figures { inputs, took: Duration::ZERO, slowest: Duration::ZERO, slowest_bytes: 0 };
    for number in 0..inputs {
        let input = input(target, seed, number);
        let started = now();
        let parsed = catch_unwind(AssertUnwindSafe(|| (target.parse)(&input)));
        let took = started.elapsed();
        if let Err(panic) = parsed {
            let words = panic.downcast_ref::<String>().map(String::as_str);
            let why = words.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked").to_owned();
            return Err(Failure { number, input, why });
        }
        // Wall time may be the time of other processes, so the input is parsed again and its processor time counts.
        if took > MAX_TIME && cost(|| (target.parse)(&input)) > MAX_TIME {
            return Err(Failure { number, input, why: format!("it took {took:?}") });
        }
        if took > figures.slowest {
            figures.slowest = took;
            figures.slowest_bytes = input.len();
        }
    }
    figures.took = begun.elapsed();
    Ok(figures)
}

/// The same as an assertion, with as many inputs as the environment says.
#[track_caller]
pub fn assert_sound(target: &Target) {
    let inputs = std::env::var(INPUTS_VARIABLE).ok().and_then(|text| text.parse().ok()).unwrap_or(INPUTS);
    match fuzz(target, inputs, 1) {
        Ok(figures) => println!("{}", line(target.name, &figures)),
        Err(failure) => {
            panic!("{} input {} of seed 1: {}\n{:?}", target.name, failure.number, failure.why, failure.input)
        }
    }
}

pub fn line(name: &str, figures: &Figures) -> String {
    let Figures { inputs, took, slowest, slowest_bytes } = figures;
    let rate = *inputs as f64 / took.as_secs_f64().max(f64::EPSILON);
    format!(
        "{name}: {inputs} inputs in {:.1} s, {rate:.0} a second; slowest {slowest:?} ({slowest_bytes} bytes)",
        took.as_secs_f64()
    )
}

/// The input with this number.
pub fn input(target: &Target, seed: u64, number: u64) -> Vec<u8> {
    let mut dice = Dice::about(seed.wrapping_add(number.wrapping_mul(0x9e37_79b9)), target.name);
    let mut input = dice.pick(target.seeds).map(|seed| seed.as_bytes().to_vec()).unwrap_or_default();
    for _ in 0..dice.between(1, 8) {
        mutate(target, &mut input, &mut dice);
    }
    input.truncate(MAX_INPUT_BYTES);
    input
}

fn mutate(target: &Target, input: &mut Vec<u8>, dice: &mut Dice) {
    let at = dice.below(input.len() as u64 + 1) as usize;
    let end = (at + dice.between(1, 40) as usize).min(input.len());
    match dice.below(8) {
        0 => input.insert(at, dice.roll() as u8),
        1 => drop(input.drain(at..end)),
        2 => input.truncate(at),
        3 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << dice.below(8);
            }
        }
        // A part of the input many times over, which makes a parser that backtracks slow.
        4 => {
            let most = if dice.happens(50) { 2_000 } else { 20 };
            let times = dice.between(2, most) as usize;
            let run = input[at..end].repeat(times);
            splice(input, at, &run[..run.len().min(MAX_INPUT_BYTES)]);
        }
        5 => {
            let other = dice.pick(target.seeds).copied().unwrap_or_default().as_bytes();
            let from = dice.below(other.len() as u64 + 1) as usize;
            splice(input, at, &other[from..]);
        }
        _ => {
            let word = dice.pick(target.words).copied().unwrap_or_default();
            splice(input, at, word.as_bytes());
        }
    }
}

fn splice(input: &mut Vec<u8>, at: usize, more: &[u8]) {
    if input.len() + more.len() <= 2 * MAX_INPUT_BYTES {
        input.splice(at..at, more.iter().copied());
    }
}

/// Asserts that twice the input costs at most two and a half times as much. Each input is parsed often enough for the
/// clock to measure it. There are several rounds because the machine may be busy, and two doublings in each because the
/// larger input may be the first that does not fit into the processor's cache; a parser that is not linear fails them all.
#[track_caller]
pub fn assert_linear(name: &str, unit: &str, bytes: usize, parse: impl Fn(&[u8])) {
    const ROUNDS: usize = 4;
    /// The time that one measurement should take: the clock of processor time advances in ticks of a few milliseconds.
    const TELLING: Duration = Duration::from_millis(40);
    const TICKS: Duration = Duration::from_millis(9);
    let of_size = |bytes: usize| unit.repeat(bytes / unit.len().max(1)).into_bytes();
    let [once, twice, fourfold] = [1, 2, 4].map(|times| of_size(bytes * times));
    let repeated = |input: &[u8], times: u32| cost(|| (0..times).for_each(|_| parse(input)));
    // By processor time: on a busy machine one parse may take long and cost nothing.
    let mut times = 1;
    while times < 256 && repeated(&once, times) < TELLING {
        times *= 2;
    }
    let spent = |input: &[u8]| repeated(input, times);
    let mut seen = Vec::new();
    for _ in 0..ROUNDS {
        let is_linear = |small: Duration, large: Duration| large <= small.mul_f64(2.5) + TICKS;
        let (small, large) = (spent(&once), spent(&twice));
        if is_linear(small, large) {
            return;
        }
        let largest = spent(&fourfold);
        if is_linear(large, largest) {
            return;
        }
        seen.push([small, large, largest]);
    }
    panic!("{name}: {unit:?} for {bytes} bytes, twice and four times as many took {seen:?}, {times} times over");
}

/// The same for short inputs. The fastest of many rounds counts, because some of them run without interruption.
#[track_caller]
pub fn assert_doubles<T>(what: &str, half: &T, whole: &T, read: impl Fn(&T)) {
    let cost = |input: &T| {
        let begun = now();
        read(std::hint::black_box(input));
        begun.elapsed()
    };
    let (mut one, mut two) = (Duration::MAX, Duration::MAX);
    for round in 0..2_000 {
        (one, two) = (one.min(cost(half)), two.min(cost(whole)));
        if round >= 100 && two <= one.mul_f64(2.5) {
            break;
        }
    }
    assert!(two <= one.mul_f64(2.5), "{one:?} and {two:?} for {what}");
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAREFUL: Target = Target { name: "careful", seeds: &["ab"], words: &["<x>"], parse: |_| {} };
    const CARELESS: Target =
        Target { name: "careless", parse: |bytes| assert!(!bytes.starts_with(b"<x>"), "a word"), ..CAREFUL };

    #[test]
    fn a_seed_decides_every_input_and_a_panic_is_found() {
        assert_eq!(input(&CAREFUL, 7, 3), input(&CAREFUL, 7, 3));
        assert!((0..50).any(|number| input(&CAREFUL, 7, number) != input(&CAREFUL, 8, number)));
        assert!(fuzz(&CAREFUL, 500, 7).is_ok());
        let failure = fuzz(&CARELESS, 5_000, 7).expect_err("found");
        assert_eq!(input(&CARELESS, 7, failure.number), failure.input);
        assert!(failure.input.starts_with(b"<x>") && failure.why.contains("a word"));
    }

    #[test]
    #[should_panic(expected = "squares")]
    fn what_is_not_linear_is_noticed() {
        let squares = |bytes: &[u8]| {
            let pairs = bytes.iter().flat_map(|a| bytes.iter().map(move |b| u64::from(*a ^ *b)));
            assert!(std::hint::black_box(pairs.sum::<u64>()) < u64::MAX);
        };
        assert_linear("squares", "ab", 4_000, squares);
    }
}
