//! Where all logs end, to be kept outside the database. The chain of hashes has no key: whoever can write the database
//! can compute it anew. What was written down elsewhere before cannot be changed with it.

use crate::{SqlStore, StoreError};
use engine::blob::Hash;
use engine::ids::RunId;

/// One log: after its event `seq` the chain stood at `hash`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    pub run: RunId,
    pub seq: u64,
    pub hash: Hash,
}

/// How a log differs from what was written down of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnchorMismatch {
    /// The run is gone, pruned or deleted.
    Missing,
    /// It ends before that event.
    Truncated { last_seq: u64 },
    /// It has that event, and not with that hash.
    Rewritten,
}

impl SqlStore {
    /// The heads of all logs, by run.
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

    /// What became of a log since it was written down; `None` when it still holds that.
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
