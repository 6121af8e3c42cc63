//! Anchors: the last seq and hash of every log, to be kept outside the database. The hash chain has no secret key, so
//! whoever can write to the database can rewrite a log and recompute its chain. An anchor that was stored elsewhere
//! shows that.

use crate::{SqlStore, StoreError};
use engine::blob::Hash;
use engine::ids::RunId;

/// The event `seq` of the run has this hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    pub run: RunId,
    pub seq: u64,
    pub hash: Hash,
}

/// How a log differs from its anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnchorMismatch {
    /// The run was pruned or deleted.
    Missing,
    /// The log ends before the anchored event.
    Truncated { last_seq: u64 },
    /// The log has the event with another hash.
    Rewritten,
}

impl SqlStore {
    /// An anchor for every log, in the order of the runs.
    pub async fn anchors(&self) -> Result<Vec<Anchor>, StoreError> {
        let mut anchors = Vec::new();
        for run in self.every_run().await? {
            let Some(seq) = self.last_seq(run).await? else { continue };
            if let Some(hash) = self.hash_at(run, seq).await? {
                anchors.push(Anchor { run, seq, hash });
            }
        }
        Ok(anchors)
    }

    /// How a log differs from its anchor. `None` when it does not.
    pub async fn departure(&self, anchor: &Anchor) -> Result<Option<AnchorMismatch>, StoreError> {
        Ok(match self.hash_at(anchor.run, anchor.seq).await? {
            Some(hash) if hash == anchor.hash => None,
            Some(_) => Some(AnchorMismatch::Rewritten),
            None => Some(match self.last_seq(anchor.run).await? {
                Some(last_seq) => AnchorMismatch::Truncated { last_seq },
                None => AnchorMismatch::Missing,
            }),
        })
    }
}
