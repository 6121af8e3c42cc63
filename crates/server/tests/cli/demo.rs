//! `pleach demo`: a whole tree run without key or network, in a temporary directory.

use crate::home::Home;

#[test]
fn e1_the_demo_grows_a_tree_asks_and_completes() {
    // Given a machine without a key
    let home = Home::bare();
    // When the demonstration is played, fast
    let said = home.pleach(&["demo", "--speed", "20"]).exits(0);
    // Then a tree completed on rehearsal, and nothing was left in the person's own directory
    assert!(said.out.contains("completed") && said.out.contains("rehearsal"), "{}", said.out);
    assert!(!home.data().exists(), "the demonstration wrote into {}", home.data().display());
}

#[test]
fn e1_the_demo_survives_a_killed_worker() {
    // Given a machine without a key
    let home = Home::bare();
    // When the demonstration kills its own worker in the middle
    let said = home.pleach(&["demo", "--speed", "8", "--crash"]).exits(0);
    // Then the run went on from what was stored, and completed
    assert!(said.out.contains("the worker was killed after event"), "{}", said.out);
    assert!(said.out.contains("completed"), "{}", said.out);
}
