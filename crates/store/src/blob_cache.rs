//! The blobs that are known to be committed, by run. Every model call repeats the unchanging parts of its prompt, and
//! this avoids writing them again.
//!
//! The cache holds only what a confirmed commit wrote. Losing an entry costs one insert that does nothing. Pruning
//! deletes a run's blobs without telling the cache, which is safe: nothing is appended to a pruned run.

use engine::blob::{Blob, Hash};
use engine::ids::RunId;
use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most entries, about three megabytes. Beyond that the cache is cleared.
const MOST: usize = 50_000;

#[derive(Default)]
pub(crate) struct BlobCache(Mutex<HashSet<(RunId, Hash)>>);

impl BlobCache {
    /// The blobs that still have to be written for this run, each once.
    pub(crate) fn unwritten<'a>(&self, run: RunId, blobs: &'a [Blob]) -> Vec<&'a Blob> {
        let known = self.lock();
        let mut seen = HashSet::new();
        blobs.iter().filter(|blob| !known.contains(&(run, blob.hash)) && seen.insert(blob.hash)).collect()
    }

    /// Called after the commit, never before: a blob that was rolled back must be written again.
    pub(crate) fn remember(&self, run: RunId, blobs: &[Blob]) {
        let mut known = self.lock();
        if known.len() + blobs.len() > MOST {
            known.clear();
        }
        known.extend(blobs.iter().map(|blob| (run, blob.hash)));
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<(RunId, Hash)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
