//! The fault rates of a world. Drawn first, so that some worlds have no faults and their runs get far, some have one kind
//! of fault, and some have all kinds at once.

use crate::dice::Dice;

/// How often each fault happens in one world. A u32 is a chance in a thousand per occasion, unless its comment says
/// otherwise; a u64 is a count or a duration.
#[derive(Clone, Debug, Default)]
pub struct FaultRates {
    pub process: Process,
    pub store: Store,
    pub model: Model,
    /// How many commands each run gets while faults occur.
    pub commands: u64,
    /// Faults occur from the start of the world until this time.
    pub faults_end_after_ms: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Process {
    pub crash_before_commit: u32,
    pub crash_after_commit: u32,
    /// The whole process stalls before a commit, for up to two minutes.
    pub stall: u32,
    /// The process is killed at any moment; per worker and minute.
    pub crash_any_time: u32,
    pub terminate: u32,
}

#[derive(Clone, Debug, Default)]
pub struct Store {
    /// Nothing was written.
    pub refused: u32,
    /// It was written, and the reply was lost.
    pub reply_lost: u32,
    /// The request was sent twice; the second reply arrives.
    pub sent_twice: u32,
    pub unreadable: u32,
    pub wakeup_lost: u32,
    /// A commit takes up to five seconds; others write meanwhile.
    pub slow: u32,
    /// Times when the database is unreachable, most of them longer than a lease.
    pub outages: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Model {
    pub rate_limited: u32,
    pub unreachable: u32,
    pub interrupted: u32,
    pub never_answers: u32,
    pub auth: u32,
    pub quota: u32,
    pub rejected: u32,
    pub slow: u32,
    pub lying_usage: u32,
    pub no_usage: u32,
    pub garbled: u32,
    /// Times when the provider is unreachable.
    pub outages: u64,
}

impl FaultRates {
    pub fn calm() -> FaultRates {
        FaultRates::default()
    }

    /// Each kind of fault is absent from over a third of the worlds, so that the others show alone.
    pub fn of(seed: u64) -> FaultRates {
        let mut dice = Dice::about(seed, "weather");
        let quiet = dice.happens(120);
        let mut chance = |most: u64| if quiet || dice.happens(400) { 0 } else { dice.between(1, most) as u32 };
        let process = Process {
            crash_before_commit: chance(60),
            crash_after_commit: chance(60),
            stall: chance(60),
            crash_any_time: chance(300),
            terminate: chance(300),
        };
        let store = Store {
            refused: chance(80),
            reply_lost: chance(80),
            sent_twice: chance(60),
            unreadable: chance(40),
            wakeup_lost: chance(500),
            slow: chance(300),
            outages: store_outages(seed, quiet),
        };
        let model = Model {
            rate_limited: chance(150),
            unreachable: chance(200),
            interrupted: chance(150),
            never_answers: chance(30),
            auth: chance(8),
            quota: chance(8),
            rejected: chance(20),
            slow: chance(200),
            lying_usage: chance(60),
            no_usage: chance(100),
            garbled: chance(200),
            outages: u64::from(chance(3)),
        };
        let commands = if dice.happens(250) { 0 } else { dice.between(1, 5) };
        FaultRates { process, store, model, commands, faults_end_after_ms: dice.between(20_000, 400_000) }
    }

    /// Whether no fault delays or fails calls to the store.
    pub fn has_no_store_faults(&self) -> bool {
        let Store { refused, reply_lost, sent_twice, unreadable, slow, outages, .. } = self.store;
        let chances = [self.process.stall, refused, reply_lost, sent_twice, unreadable, slow];
        outages == 0 && chances.iter().all(|chance| *chance == 0)
    }

    /// Whether no process dies and no store call fails, so that nothing may be lost.
    pub fn has_no_store_faults_or_crashes(&self) -> bool {
        let Process { crash_before_commit, crash_after_commit, crash_any_time, terminate, .. } = self.process;
        self.has_no_store_faults()
            && [crash_before_commit, crash_after_commit, crash_any_time, terminate].iter().all(|chance| *chance == 0)
    }
}

/// Drawn from its own sequence, so that other faults do not depend on it.
fn store_outages(seed: u64, quiet: bool) -> u64 {
    let mut dice = Dice::about(seed, "how often the database is away");
    if quiet || dice.happens(600) { 0 } else { dice.between(1, 3) }
}
