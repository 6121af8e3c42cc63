//! The documents are true: commands run, JSON matches the schemas of the server, the crate graph is the one cargo builds, and
//! events have the fields of recorded logs.

mod commands;
mod crates;
mod events;

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// README, the guides and the reference pages, by their paths from the root.
fn documents() -> Vec<String> {
    let mut found = vec!["README.md".to_owned(), "CONTRIBUTING.md".to_owned()];
    for folder in ["docs", "docs/guide"] {
        let entries = std::fs::read_dir(root().join(folder)).expect("documents");
        let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"));
        found.extend(names.filter(|name| name.ends_with(".md")).map(|name| format!("{folder}/{name}")));
    }
    found.sort();
    found
}

/// The blocks of a document that are marked with a language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let mut pieces = text.split("\n```");
    let mut found = Vec::new();
    pieces.next();
    // Pieces take turns: a block, then the text after its end.
    while let Some(block) = pieces.next() {
        let (marked, body) = block.split_once('\n').unwrap_or_default();
        if marked == language {
            found.push(body.to_owned());
        }
        pieces.next();
    }
    found
}
