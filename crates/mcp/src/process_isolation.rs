//! Limits what a program that we start learns about this process. Our environment contains keys: a program gets a short list of
//! variables, and cannot read the others in `/proc`.

use std::ffi::OsString;

/// What a program needs to find its files and language. Everything else is passed by name.
const INHERITED: [&str; 10] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TZ"];
const INHERITED_PREFIX: &str = "LC_";

/// The variables of our environment that every program gets.
pub fn inherited_env() -> impl Iterator<Item = (OsString, OsString)> {
    let is_inherited = |name: &str| INHERITED.contains(&name) || name.starts_with(INHERITED_PREFIX);
    std::env::vars_os().filter(move |(name, _)| name.to_str().is_some_and(is_inherited))
}

/// Stops other processes of this user, including those we start, from reading our environment and memory through `/proc` or
/// ptrace. It also disables core dumps, which would contain the same. Does nothing on other systems than Linux; root can
/// always read.
pub fn hide_from_other_processes() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}
