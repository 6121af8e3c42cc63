//! Runs a few seeds with every test run; `cargo run -p simulation --bin simulate` runs many.

use simulation::seeds::run_seed;
use simulation::world::Kinds;

fn survive(seeds: std::ops::Range<u64>, kinds: Kinds) {
    let failed: Vec<String> = seeds
        .map(|seed| run_seed(seed, kinds))
        .filter(|verdict| !verdict.violations.is_empty())
        .map(|verdict| format!("seed {}: {}", verdict.seed, verdict.violations.join("; ")))
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn h1_b2_b4_b13_eighty_worlds_keep_the_invariants() {
    survive(0..80, Kinds::Homework);
}

#[test]
fn t1_b1_b2_b9_eighty_worlds_of_trees_keep_the_invariants() {
    survive(0..80, Kinds::Tree);
}
