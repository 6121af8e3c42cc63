//! The catalogue of problems is complete: every slug the code can send is in it, and nothing else is.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => sources(&path, into),
            false if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs") => into.push(path),
            false => {}
        }
    }
}

/// The words in quotes that directly follow `mark`.
fn quoted<'a>(text: &'a str, mark: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(mark).skip(1).filter_map(|after| after.trim_start().strip_prefix('"')?.split('"').next())
}

fn is_slug(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '_')
}

#[test]
fn every_problem_is_in_the_catalogue_and_every_entry_is_a_problem() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    sources(&root.join("crates/server/src/api"), &mut files);
    sources(&root.join("crates/server/src/connections"), &mut files);
    sources(&root.join("crates/engine/src"), &mut files);
    let mut sent = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("a source file");
        let of_status = text.split("StatusCode::").skip(1).filter_map(|after| after.split_once(','));
        let statuses = of_status.filter(|(name, _)| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'));
        let after_status = statuses.filter_map(|(_, rest)| rest.trim_start().strip_prefix('"')?.split('"').next());
        sent.extend(after_status.map(str::to_owned));
        for mark in
            ["Problem::invalid(", "Problem::conflict(", "Problem::forbidden(", "refuse(", "Refusal::new(", "slug: "]
        {
            sent.extend(quoted(&text, mark).map(str::to_owned));
        }
        for mark in ["Problem::not_found(", "Problem::missing(", "Problem::unknown("] {
            sent.extend(quoted(&text, mark).map(|what| format!("{what}_not_found")));
        }
    }
    sent.retain(|word| is_slug(word));
    assert!(sent.len() > 60, "{sent:?}");
    let catalogue = fs::read_to_string(root.join("docs/problems.md")).expect("the catalogue");
    let listed: BTreeSet<String> =
        catalogue.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).map(str::to_owned).collect();
    let missing: Vec<_> = sent.difference(&listed).collect();
    let unsent: Vec<_> = listed.difference(&sent).collect();
    assert!(missing.is_empty() && unsent.is_empty(), "not in docs/problems.md: {missing:?}; only there: {unsent:?}");
}
