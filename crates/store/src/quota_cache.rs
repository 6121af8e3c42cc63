//! How many documents and tasks a project may still take. The database counts them. A count that leaves much room is
//! used for many questions, so that most of them need no query. Several processes may answer from their own counts, so
//! the limit can be passed by a little, never by much.

use engine::ids::ProjectId;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The most places handed out from one count.
const MOST_AT_ONCE: u64 = 1_000;
/// One count hands out at most this fraction (an eighth) of the room, because other processes may fill the same
/// project.
const PART: u64 = 8;
/// The most projects in the cache. Beyond that it is cleared, and each project is counted again.
const PROJECTS: usize = 1_000;

pub(crate) struct QuotaCache {
    limit: u64,
    left: Mutex<HashMap<ProjectId, u64>>,
}

impl QuotaCache {
    pub(crate) fn of(limit: u64) -> QuotaCache {
        QuotaCache { limit, left: Mutex::default() }
    }

    /// Takes one place from the last count. False when a new count is needed.
    pub(crate) fn take(&self, project: ProjectId) -> bool {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        match left.get_mut(&project) {
            Some(places) if *places > 0 => {
                *places -= 1;
                true
            }
            _ => false,
        }
    }

    /// Stores a new count. It says whether there is a place, and takes it.
    pub(crate) fn counted(&self, project: ProjectId, count: u64) -> bool {
        let Some(room) = self.limit.checked_sub(count).filter(|room| *room > 0) else { return false };
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        if left.len() >= PROJECTS {
            left.clear();
        }
        left.insert(project, (room / PART).min(MOST_AT_ONCE));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_handed_out_from_one_count_until_it_must_be_made_again() {
        let (room, project) = (QuotaCache::of(100), ProjectId(uuid::Uuid::nil()));
        assert!(!room.take(project), "nothing is known yet");
        assert!(room.counted(project, 20));
        let places = (0..).take_while(|_| room.take(project)).count();
        assert_eq!(places, 10, "an eighth of the eighty that were left");
        assert!(room.counted(project, 99), "the last one");
        assert!(!room.take(project), "is counted each time");
        assert!(!room.counted(project, 100));
        assert!(!room.counted(project, 140), "a limit that was lowered");
    }
}
