//! A small part of the simulation with every test run; the rest is `cargo run -p simulation --bin simulate`.

use simulation::seeds::run_seed;
use simulation::world::{Kinds, StoreKind};

fn survive(seeds: std::ops::Range<u64>, store: StoreKind, kinds: Kinds) {
    let failed: Vec<String> = seeds
        .map(|seed| run_seed(seed, store, kinds))
        .filter(|verdict| !verdict.wrongs.is_empty())
        .map(|verdict| format!("seed {} on {store:?}: {}", verdict.seed, verdict.wrongs.join("; ")))
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn h1_b2_b4_b13_sixty_worlds_keep_the_invariants_in_memory() {
    survive(0..60, StoreKind::Memory, Kinds::Homework);
}

#[test]
fn h1_b2_b4_b13_twenty_worlds_keep_the_invariants_on_sqlite() {
    survive(60..80, StoreKind::Sqlite, Kinds::Homework);
}

#[test]
fn t1_b1_b2_b9_sixty_worlds_of_trees_keep_the_invariants_in_memory() {
    survive(0..60, StoreKind::Memory, Kinds::Tree);
}

#[test]
fn t1_b1_b2_b9_twenty_worlds_of_trees_keep_the_invariants_on_sqlite() {
    survive(60..80, StoreKind::Sqlite, Kinds::Tree);
}
