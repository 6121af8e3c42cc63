//! The engine stays pure: no dependency that could bring a clock, a socket or a thread.

use std::process::Command;

const ALLOWED: [&str; 4] = ["serde", "serde_json", "sha2", "uuid"];
/// Behind a feature that only tests turn on.
const OPTIONAL: [&str; 1] = ["schemars"];

#[test]
fn the_engine_depends_on_its_list_and_nothing_else() {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo metadata runs");
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).expect("cargo metadata is JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let engine = packages.iter().find(|package| package["name"] == "engine").expect("the engine");
    let names = |optional: bool| {
        let dependencies = engine["dependencies"].as_array().expect("dependencies").iter();
        let normal =
            dependencies.filter(|dependency| dependency["kind"].is_null() && dependency["optional"] == optional);
        let mut names: Vec<&str> = normal.map(|dependency| dependency["name"].as_str().expect("a name")).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(names(false), ALLOWED);
    assert_eq!(names(true), OPTIONAL);
    assert!(engine["features"]["default"].is_null(), "nothing optional is on by default");
}

#[test]
fn the_engine_never_reads_a_clock() {
    for file in sources("src") {
        let text = std::fs::read_to_string(&file).expect("a source file");
        for leak in ["SystemTime", "Instant::now", "new_v4", "now_v7", "async fn", "thread::"] {
            assert!(!text.contains(leak), "{} uses {leak}", file.display());
        }
    }
}

fn sources(folder: &str) -> Vec<std::path::PathBuf> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            match path.extension() {
                None if path.is_dir() => open.push(path),
                Some(extension) if extension == "rs" => found.push(path),
                _ => {}
            }
        }
    }
    found
}
