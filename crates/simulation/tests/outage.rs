//! The database is unreachable for longer than a lease while answers arrive at a process that stays alive.

use simulation::fault_rates::{FaultRates, Model, Store};
use simulation::seeds::run;
use simulation::world::{Kinds, Setup};

/// One worker, slow models, and nothing wrong but the database.
#[test]
fn r1_a_living_process_keeps_its_answers_through_any_outage() {
    let mut calls = 0;
    for seed in 0..25 {
        let fault_rates = FaultRates {
            store: Store { outages: 6, ..Store::default() },
            model: Model { slow: 300, ..Model::default() },
            faults_end_after_ms: 300_000,
            ..FaultRates::default()
        };
        let setup = Setup { fault_rates, workers: 1, ..Setup::of(seed, Kinds::Mixed) };
        let verdict = run(setup);
        assert!(verdict.violations.is_empty(), "seed {seed}: {}", verdict.violations.join("; "));
        assert_eq!(verdict.lost, 0, "seed {seed}: a living process lost its own calls");
        calls += verdict.requests;
    }
    assert!(calls > 100, "{calls} calls are no test");
}
