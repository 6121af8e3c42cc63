//! Puts the built page into the binary. npm is never run here: the built page is part of the repository, so that a plain
//! `cargo build` needs nothing but Rust; PLEACH_UI_DIST names another one, such as a build that is just being worked on.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

const HOW: &str = "build it with `npm ci && npm run build` in ui/";

fn main() {
    println!("cargo::rerun-if-env-changed=PLEACH_UI_DIST");
    if variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ENV") == "gnu" {
        // Packed relocations make the binary a megabyte smaller. glibc reads them since 2.36, which Debian 12 has.
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    let crate_dir = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let dist = env::var_os("PLEACH_UI_DIST").map_or_else(|| crate_dir.join("ui-dist"), |given| crate_dir.join(given));
    println!("cargo::rerun-if-changed={}", dist.display());
    let mut files = Vec::new();
    collect(&dist, &mut files);
    files.sort();
    if !files.iter().any(|file| file.ends_with("index.html")) {
        // A binary that shows no page must not be shipped by accident; one to work on may do without.
        if variable("PROFILE") == "release" {
            println!("cargo::error=there is no web page in {}: {HOW}", dist.display());
            return;
        }
        println!("cargo::warning=there is no web page in {}: this binary says how to get one; {HOW}", dist.display());
        files.clear();
    }
    let table = PathBuf::from(variable("OUT_DIR")).join("page.rs");
    fs::write(&table, rows(&dist, &files)).expect("OUT_DIR can be written");
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        match path.is_dir() {
            true => collect(&path, files),
            false => files.push(path),
        }
    }
}

/// `&[("assets/index-1a2b.js", include_bytes!("…")), …]`, sorted by name.
fn rows(dist: &Path, files: &[PathBuf]) -> String {
    let mut out = String::from("&[\n");
    for file in files {
        let name = file.strip_prefix(dist).expect("collected below it").to_string_lossy().replace('\\', "/");
        writeln!(out, "    ({name:?}, include_bytes!({:?})),", file.to_string_lossy()).expect("a string grows");
    }
    out + "]"
}
