//! What a program that we start can learn about this process. Our environment holds keys: a program gets a short list of
//! variables from it, and cannot read the rest in `/proc`.

use std::ffi::OsString;

/// What a program needs to find itself, its files and its language; everything else is given by name.
const INHERITED: [&str; 10] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TZ"];
const INHERITED_PREFIX: &str = "LC_";

/// The variables of ours that every program gets.
pub fn inherited_env() -> impl Iterator<Item = (OsString, OsString)> {
    let is_inherited = |name: &str| INHERITED.contains(&name) || name.starts_with(INHERITED_PREFIX);
    std::env::vars_os().filter(move |(name, _)| name.to_str().is_some_and(is_inherited))
}

/// Other processes of this user, those that we start among them, cannot read our environment and memory under `/proc` or by
/// tracing us any more. No core is dumped either, which would hold the same. Where the kernel has no such switch it stays as
/// it was; root can always look.
pub fn hide_from_other_processes() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}
