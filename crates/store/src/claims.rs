//! Which runs a worker leases next. Runs with an expired lease come first, because they were being worked on already.
//! Then owners take turns: whoever has the fewest leased runs comes first, so that one person's many runs do not keep
//! another's only run waiting. It must not know what a run does with its lease.

use crate::log::into_store_error;
use crate::sql::{Query, Row, Statement, id};
use crate::{SqlStore, StoreError, migrate};
use engine::ids::RunId;
use engine::time::Timestamp;
use runtime::ports::{Claimed, Lease};
use std::time::Duration;

/// What is the same for every statement of one claim.
pub(crate) struct Claim<'a> {
    pub worker: &'a str,
    pub ttl: Duration,
    pub only: Option<RunId>,
    /// Runs that have a driver in the calling process. They are left out: a process must not take a run over from
    /// itself.
    pub driving: &'a [RunId],
}

/// The runs that one statement may claim.
#[derive(Clone, Debug)]
pub(crate) enum Candidates {
    Run(RunId),
    /// Any run whose lease has expired.
    Expired,
    Owner(String),
}

/// An owner with a run that is due.
struct WaitingOwner {
    owner: String,
    held: usize,
    due: i64,
}

/// The recursive part jumps from owner to owner along the index `jobs_ready_by_owner`, so the cost grows with the
/// number of owners and not with the number of their runs. A row with a NULL owner says that some lease has expired.
const WAITING: &str = "WITH RECURSIVE owners (owner) AS (\
    SELECT MIN(owner) FROM jobs WHERE state = 'live' AND lease_owner IS NULL \
    UNION ALL SELECT (SELECT MIN(j.owner) FROM jobs j WHERE j.state = 'live' AND j.lease_owner IS NULL AND j.owner > o.owner) \
        FROM owners o WHERE o.owner IS NOT NULL), \
    waiting AS (SELECT o.owner, \
        (SELECT COUNT(*) FROM jobs h WHERE h.owner = o.owner AND h.lease_owner IS NOT NULL AND h.lease_until > now_ms()) AS held, \
        (SELECT MIN(r.due) FROM jobs r WHERE r.owner = o.owner AND r.state = 'live' AND r.lease_owner IS NULL) AS due \
        FROM owners o WHERE o.owner IS NOT NULL) \
    SELECT owner, held, due FROM waiting WHERE due <= now_ms() \
    UNION ALL SELECT NULL, 0, 0 WHERE EXISTS (SELECT 1 FROM jobs WHERE state = 'live' AND lease_owner IS NOT NULL AND lease_until <= now_ms())";

impl SqlStore {
    pub(crate) async fn claim_due(&self, claim: &Claim<'_>, limit: usize) -> Result<Vec<Claimed>, StoreError> {
        migrate::refuse_newer(self.backend.as_ref()).await?;
        let mut taken = match claim.only {
            Some(run) => self.take(claim, &[(Candidates::Run(run), limit)]).await?.into_iter().flatten().collect(),
            None => self.take_in_turn(claim, limit).await?,
        };
        taken.sort_by_key(|(due, claimed)| (*due, claimed.lease.run_id));
        Ok(taken.into_iter().map(|(_, claimed)| claimed).collect())
    }

    async fn take_in_turn(&self, claim: &Claim<'_>, limit: usize) -> Result<Vec<(i64, Claimed)>, StoreError> {
        let (mut owners, mut expired) = (Vec::new(), false);
        for row in self.backend.read(Statement::new(WAITING, vec![])).await? {
            match row.optional_text(0)? {
                Some(owner) => {
                    let held = usize::try_from(row.int(1)?).unwrap_or_default();
                    owners.push(WaitingOwner { owner: owner.to_owned(), held, due: row.int(2)? });
                }
                None => expired = true,
            }
        }
        let mut taken = Vec::new();
        if expired {
            taken.extend(self.take(claim, &[(Candidates::Expired, limit)]).await?.into_iter().flatten());
        }
        while !owners.is_empty() && taken.len() < limit {
            let shares = shares(&owners, limit - taken.len());
            let wanted =
                owners.iter().zip(&shares).map(|(waiting, share)| (Candidates::Owner(waiting.owner.clone()), *share));
            let given = self.take(claim, &wanted.collect::<Vec<_>>()).await?;
            for ((waiting, share), given) in owners.iter_mut().zip(&shares).zip(given) {
                // An owner who got less than their share has no more due runs. The loop gives the rest to the others.
                waiting.held = if given.len() < *share { usize::MAX } else { waiting.held + given.len() };
                taken.extend(given);
            }
            owners.retain(|waiting| waiting.held < usize::MAX);
        }
        Ok(taken)
    }

    /// Leases at most so many runs for each of `wanted`: tasks of subagents first, then other runs.
    async fn take(
        &self,
        claim: &Claim<'_>,
        wanted: &[(Candidates, usize)],
    ) -> Result<Vec<Vec<(i64, Claimed)>>, StoreError> {
        let mut taken = self.take_tasks(claim, wanted).await?;
        let runs = wanted.iter().zip(&taken).map(|((candidates, most), tasks)| {
            let left = most.saturating_sub(tasks.len());
            lease_runs(claim, candidates, left)
        });
        let runs = self.backend.write(runs.collect()).await.map_err(into_store_error)?;
        taken.iter_mut().zip(runs).for_each(|(taken, runs)| taken.extend(runs));
        let claimed = |row: &Row| claimed(claim, row);
        taken.iter().map(|rows| rows.iter().map(claimed).collect()).collect()
    }
}

/// Splits `left` runs among the owners, one at a time to the owner with the fewest; on a tie to the one who waits
/// longest.
fn shares(owners: &[WaitingOwner], left: usize) -> Vec<usize> {
    let mut shares = vec![0; owners.len()];
    for _ in 0..left {
        let next = (0..owners.len()).min_by_key(|at| (owners[*at].held + shares[*at], owners[*at].due, *at));
        if let Some(next) = next {
            shares[next] += 1;
        }
    }
    shares
}

/// Each kind of candidate uses one index. One statement with an `OR` over free and expired runs would scan the whole
/// table.
fn lease_runs(claim: &Claim<'_>, candidates: &Candidates, limit: usize) -> Statement {
    let mut query =
        Query::new("WITH chosen AS MATERIALIZED (SELECT run_id FROM jobs WHERE state = 'live' AND agent IS NULL AND ");
    let order = match candidates {
        Candidates::Owner(owner) => {
            query.push("lease_owner IS NULL AND due <= now_ms() AND owner = ").bind(owner.as_str());
            "due, run_id"
        }
        Candidates::Expired => {
            query.push("lease_owner IS NOT NULL AND lease_until <= now_ms()");
            "lease_until"
        }
        Candidates::Run(run) => {
            query.push("(lease_owner IS NULL AND due <= now_ms() OR lease_owner IS NOT NULL AND lease_until <= now_ms()) AND run_id = ");
            query.bind(id(*run));
            "run_id"
        }
    };
    if !claim.driving.is_empty() {
        query.push(" AND run_id NOT IN ").bind_list(claim.driving.iter().map(id));
    }
    query.push(" ORDER BY ").push(order).push(" LIMIT ").bind(limit).push(" FOR UPDATE SKIP LOCKED) ");
    lease_chosen(&mut query, claim);
    query.statement()
}

/// Leases the `chosen` runs. The epoch rises with every claim, so that an append of the previous holder is refused.
pub(crate) fn lease_chosen(query: &mut Query, claim: &Claim<'_>) {
    query.push("UPDATE jobs SET epoch = epoch + 1, attempts = attempts + 1, prior_seen = last_seen, last_seen = now_ms(), lease_owner = ");
    query.bind(claim.worker).push(", lease_until = now_ms() + ").bind(millis(claim.ttl));
    query.push(" WHERE run_id IN (SELECT run_id FROM chosen) RETURNING run_id, epoch, prior_seen, due, last_seen");
}

fn claimed(claim: &Claim<'_>, row: &Row) -> Result<(i64, Claimed), StoreError> {
    let lease = Lease { run_id: row.parse(0)?, worker: claim.worker.to_owned(), epoch: row.int(1)? };
    let last_seen = row.optional_int(2)?.map(Timestamp);
    Ok((row.int(3)?, Claimed { lease, last_seen, at: Timestamp(row.int(4)?) }))
}

/// The fallback leaves room to add the current time without an overflow.
pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(held: &[usize], left: usize) -> Vec<usize> {
        let waiting = held.iter().map(|held| WaitingOwner { owner: String::new(), held: *held, due: 0 });
        shares(&waiting.collect::<Vec<_>>(), left)
    }

    #[test]
    fn r10_shares_fill_up_whoever_has_the_fewest() {
        assert_eq!(given(&[64, 0], 1), [0, 1]);
        assert_eq!(given(&[0, 0], 5), [3, 2]);
        assert_eq!(given(&[10, 8, 0], 4), [0, 0, 4]);
        assert_eq!(given(&[3], 7), [7]);
        assert!(given(&[], 7).is_empty());
    }
}
