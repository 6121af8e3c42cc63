//! The crate graph in ARCHITECTURE.md is the one of `cargo metadata`.

use super::{blocks, read, root};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

type Crates = BTreeMap<String, BTreeSet<String>>;

/// Each crate with the crates of this workspace that it depends on; what only its tests use does not count.
fn built() -> Crates {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let asked = ["metadata", "--format-version", "1", "--no-deps", "--offline"];
    let said = Command::new(cargo).args(asked).current_dir(root()).output().expect("cargo runs");
    let found: Value = serde_json::from_slice(&said.stdout).expect("JSON");
    let packages = found["packages"].as_array().expect("packages");
    let name = |value: &Value| value["name"].as_str().expect("a name").to_owned();
    let own: BTreeSet<String> = packages.iter().map(name).collect();
    let used = |package: &Value| {
        let all = package["dependencies"].as_array().expect("dependencies").iter();
        all.filter(|used| used["kind"].is_null()).map(name).filter(|name| own.contains(name)).collect()
    };
    packages.iter().map(|package| (name(package), used(package))).collect()
}

#[test]
fn the_crate_graph_in_architecture_is_what_cargo_builds() {
    let drawn: Crates = blocks(&read("ARCHITECTURE.md"), "text")
        .iter()
        .flat_map(|block| block.lines())
        .filter_map(|line| line.split_once(" → "))
        .map(|(name, uses)| {
            (name.trim().to_owned(), uses.split(", ").filter(|used| *used != "nothing").map(str::to_owned).collect())
        })
        .collect();
    assert_eq!(drawn, built(), "ARCHITECTURE.md draws other crates than cargo builds");
}
