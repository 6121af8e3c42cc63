//! Claims of task runs. A subagent works on one task at a time, so at most one of its tasks is leased, and the oldest
//! that is due comes first. It must not know owners' shares: `claims` says how many runs of whom are wanted.

use crate::claims::{Candidates, Claim, lease_chosen};
use crate::log::into_store_error;
use crate::sql::{Query, Row, Statement, id};
use crate::{SqlStore, StoreError};

const WAITING: &str = "SELECT run_id FROM jobs j WHERE j.agent IS NOT NULL AND j.state = 'live' AND j.due <= now_ms() \
    AND (j.lease_owner IS NULL OR j.lease_until <= now_ms())";
const AGENT_IS_FREE: &str = " AND NOT EXISTS (SELECT 1 FROM jobs o WHERE o.agent = j.agent AND o.run_id <> j.run_id \
    AND o.lease_owner IS NOT NULL AND (o.lease_until > now_ms()";
const FIRST_OF_ITS_AGENT: &str = " AND NOT EXISTS (SELECT 1 FROM jobs o WHERE o.agent = j.agent AND o.state = 'live' AND o.due <= now_ms() \
    AND (o.lease_owner IS NULL OR o.lease_until <= now_ms()) AND (o.due < j.due OR (o.due = j.due AND o.run_id < j.run_id)))";

impl SqlStore {
    /// Leases, for each of `wanted`, the tasks that are next for their subagents. A caller that names one run gets it
    /// as soon as its subagent is free, even if older tasks wait.
    pub(crate) async fn take_tasks(
        &self,
        claim: &Claim<'_>,
        wanted: &[(Candidates, usize)],
    ) -> Result<Vec<Vec<Row>>, StoreError> {
        // Most claims find no task. This read avoids the table lock below for them.
        let mut waiting = Query::new(WAITING);
        if let Some(run) = claim.only {
            waiting.push(" AND j.run_id = ").bind(id(run));
        }
        if self.backend.read(waiting.push(" LIMIT 1").statement()).await?.is_empty() {
            return Ok(vec![Vec::new(); wanted.len()]);
        }
        let lock = Statement::new(self.backend.lock_table("agents"), vec![]);
        let claims = wanted.iter().map(|(candidates, most)| claim_tasks(claim, candidates, *most));
        let written = self.backend.write([lock].into_iter().chain(claims).collect()).await.map_err(into_store_error)?;
        // The first result is that of the lock statement.
        Ok(written.into_iter().skip(1).collect())
    }
}

fn claim_tasks(claim: &Claim<'_>, candidates: &Candidates, limit: usize) -> Statement {
    let mut query = Query::new("WITH chosen AS MATERIALIZED (");
    query.push(WAITING).push(AGENT_IS_FREE);
    if !claim.driving.is_empty() {
        query.push(" OR o.run_id IN ").bind_list(claim.driving.iter().map(id));
    }
    query.push("))");
    if !claim.driving.is_empty() {
        query.push(" AND j.run_id NOT IN ").bind_list(claim.driving.iter().map(id));
    }
    match candidates {
        Candidates::Run(run) => query.push(" AND j.run_id = ").bind(id(*run)),
        Candidates::Expired => query.push(" AND j.lease_owner IS NOT NULL").push(FIRST_OF_ITS_AGENT),
        Candidates::Owner(owner) => query.push(" AND j.owner = ").bind(owner.as_str()).push(FIRST_OF_ITS_AGENT),
    };
    query.push(" ORDER BY j.due, j.run_id LIMIT ").bind(limit).push(") ");
    lease_chosen(&mut query, claim);
    query.statement()
}
