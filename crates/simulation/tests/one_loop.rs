//! The simulation uses the product's own loop and fold. A second one would prove nothing about the first, so this test
//! searches the crate's source for one.

use std::fs;
use std::path::{Path, PathBuf};

fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("the source is there").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
    found
}

#[test]
fn the_simulation_has_no_loop_and_no_fold_of_its_own() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let forbidden = [
        "Run::fold",
        "Run::from_first_event",
        "fn apply",
        ".apply(",
        ".wants(",
        ".due(",
        ".intend(",
        ".take_over(",
        "take_batch",
        "impl Rules",
        "impl Machine",
    ];
    let allowed = root.join("checks/fold.rs");
    // Not the simulation: it measures appends, and drafts what it appends.
    let measured = root.join("bin/bench/append.rs");
    for path in sources(&root).into_iter().filter(|path| *path != allowed && *path != measured) {
        let text = fs::read_to_string(&path).expect("source is text");
        for word in forbidden {
            assert!(!text.contains(word), "{} has {word:?}: a second loop or fold", path.display());
        }
    }
    let fold = fs::read_to_string(allowed).expect("source is text");
    assert_eq!(fold.matches("fn ").count(), 1, "one function folds, by the engine's own apply");
}

#[test]
fn the_simulation_drives_the_products_own_worker_tools_and_stores() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/world");
    let world = fs::read_to_string(root.join("mod.rs")).expect("source")
        + &fs::read_to_string(root.join("workforce.rs")).expect("source");
    for word in ["Worker::new", "worker.serve(", "EffectsPerformer {", "Registry::builtin()", "store::open_inline"] {
        assert!(world.contains(word), "the world no longer uses {word}");
    }
}
