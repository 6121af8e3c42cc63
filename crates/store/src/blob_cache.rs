//! Texts that are stored for certain: a prompt's unchanging parts are said in every call and written once.
//! Only a memory of commits that were seen; forgetting costs a look-up, never a text. A run that is pruned takes its
//! texts along, but nothing is ever appended to it again.

use engine::blob::{Blob, Hash};
use engine::ids::RunId;
use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// About three megabytes; then it starts afresh.
const MAX_CACHED_HASHES: usize = 50_000;

#[derive(Default)]
pub(crate) struct BlobCache(Mutex<HashSet<(RunId, Hash)>>);

impl BlobCache {
    /// The texts that still have to be written for this run.
    pub(crate) fn fresh<'a>(&self, run: RunId, blobs: &'a [Blob]) -> Vec<&'a Blob> {
        let known = self.lock();
        let mut seen = HashSet::new();
        blobs.iter().filter(|blob| !known.contains(&(run, blob.hash)) && seen.insert(blob.hash)).collect()
    }

    /// After the commit.
    pub(crate) fn remember(&self, run: RunId, blobs: &[Blob]) {
        let mut known = self.lock();
        if known.len() + blobs.len() > MAX_CACHED_HASHES {
            known.clear();
        }
        known.extend(blobs.iter().map(|blob| (run, blob.hash)));
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<(RunId, Hash)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
