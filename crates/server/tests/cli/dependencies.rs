//! Sources, licences and versions of the dependencies. `cargo audit` checks advisories, where there is a network.

use serde_json::Value;
use std::process::Command;

/// Licences that allow redistribution of a binary with only the licence text.
const FINE: [&str; 13] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// The first version without known vulnerabilities.
const AT_LEAST: [(&str, [u64; 3]); 2] = [("h2", [0, 4, 19]), ("rmcp", [1, 4, 0])];
const SQLITE_AT_LEAST: [u64; 3] = [3, 51, 3];

/// All packages that are compiled for this machine, from `cargo metadata --offline`.
fn packages() -> Vec<Value> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let asked = ["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", &host];
    let said = Command::new(cargo).args(asked).current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo runs");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let found: Value = serde_json::from_slice(&said.stdout).expect("JSON");
    let packages = found["packages"].as_array().expect("packages").clone();
    assert!(packages.len() > 100, "only {} packages", packages.len());
    packages
}

/// `OR` needs one allowed licence, `AND` needs all.
fn is_allowed(licence: &str) -> bool {
    let plain = licence.replace(['(', ')'], "").replace('/', " OR ");
    let names = |joint: &str| plain.split(joint).map(str::trim).map(str::to_owned).collect::<Vec<_>>();
    match plain.contains(" AND ") {
        true => names(" AND ").iter().flat_map(|part| part.split(" OR ")).all(|name| FINE.contains(&name.trim())),
        false => names(" OR ").iter().any(|name| FINE.contains(&name.as_str())),
    }
}

fn version(text: &str) -> [u64; 3] {
    let mut numbers = text.split(['.', '-', '+']).map(|number| number.parse().unwrap_or(0));
    std::array::from_fn(|_| numbers.next().unwrap_or(0))
}

#[test]
fn sec_s90_dependencies_come_from_the_registry_with_allowed_licences_and_recent_versions() {
    for package in packages() {
        let text = |field: &str| package[field].as_str().unwrap_or_default();
        let (name, found) = (text("name"), version(text("version")));
        if package["source"].is_null() {
            assert!(text("manifest_path").contains("/crates/"), "{name} is neither ours nor from the registry");
            continue;
        }
        assert!(text("source").starts_with("registry+"), "{name} comes from {}", text("source"));
        assert!(is_allowed(text("license")), "{name} is under {:?}", text("license"));
        for (_, least) in AT_LEAST.iter().filter(|(wanted, _)| *wanted == name) {
            assert!(found >= *least, "{name} {found:?} is older than {least:?}");
        }
        if name == "libsqlite3-sys" {
            let folder = std::path::Path::new(text("manifest_path")).parent().expect("a folder");
            let header = std::fs::read_to_string(folder.join("sqlite3/sqlite3.h")).expect("the bundled SQLite");
            let line = header.lines().find_map(|line| line.strip_prefix("#define SQLITE_VERSION ")).expect("a version");
            assert!(version(line.trim().trim_matches('"')) >= SQLITE_AT_LEAST, "SQLite {line}");
        }
    }
}
