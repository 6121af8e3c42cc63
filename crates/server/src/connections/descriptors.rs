//! Raises the limit of open files of this process, which bounds the number of connections.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Child processes that close every possible descriptor get slow with more.
const MAX_DESCRIPTORS: u64 = 65_536;

/// Raises the soft limit as far as the hard limit allows, and returns it.
pub(super) fn raise_limit() -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.unwrap_or(MAX_DESCRIPTORS).min(MAX_DESCRIPTORS);
    let current = current.unwrap_or(MAX_DESCRIPTORS);
    let reached = match current < wanted {
        true => setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }).map_or(current, |()| wanted),
        false => current,
    };
    usize::try_from(reached).unwrap_or(usize::MAX)
}
