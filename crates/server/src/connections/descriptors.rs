//! Raises the limit of open files of this process. Sockets are files, so this bounds connections.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More would make programs slow that close every descriptor they could have inherited.
const MOST: u64 = 65_536;

/// Raises the soft limit as far as the hard one allows, and says what it is now.
pub fn raise_limit() -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.unwrap_or(MOST).min(MOST);
    let current = current.unwrap_or(MOST);
    let reached = match current < wanted {
        true => setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }).map_or(current, |()| wanted),
        false => current,
    };
    usize::try_from(reached).unwrap_or(usize::MAX)
}
