//! Whose turn it is: of one subagent's tasks one is held at a time, and the oldest that is due comes first.

use crate::log::{taken, unguarded};
use crate::sql::{Query, Row, Statement, id};
use crate::{SqlStore, StoreError};
use engine::ids::RunId;
use std::time::Duration;

const WAITING: &str = "SELECT run_id FROM jobs j WHERE j.agent IS NOT NULL AND j.state = 'live' AND j.due <= now_ms() \
    AND (j.lease_owner IS NULL OR j.lease_until <= now_ms())";
const NOBODY_ELSE: &str = " AND NOT EXISTS (SELECT 1 FROM jobs o WHERE o.agent = j.agent AND o.run_id <> j.run_id \
    AND o.lease_owner IS NOT NULL AND o.lease_until > now_ms())";
const FIRST_OF_ITS_AGENT: &str = " AND NOT EXISTS (SELECT 1 FROM jobs o WHERE o.agent = j.agent AND o.state = 'live' AND o.due <= now_ms() \
    AND (o.lease_owner IS NULL OR o.lease_until <= now_ms()) AND (o.due < j.due OR (o.due = j.due AND o.run_id < j.run_id)))";

impl SqlStore {
    /// Tasks whose turn it is. Who asks for one run gets it as soon as its agent is free, whoever waits before it.
    pub(crate) async fn claim_tasks(
        &self,
        worker: &str,
        limit: usize,
        ttl: Duration,
        only: Option<RunId>,
    ) -> Result<Vec<Vec<Row>>, StoreError> {
        // Mostly there is none, and then nobody is kept waiting.
        if limit == 0 || self.backend.read(waiting(only).push(" LIMIT 1").statement()).await?.is_empty() {
            return Ok(Vec::new());
        }
        let alone = Statement::new(self.backend.alone_with("agents"), vec![]);
        self.backend.write(vec![alone, turn(worker, limit, ttl, only)]).await.map_err(unguarded)
    }
}

fn waiting(only: Option<RunId>) -> Query {
    let mut query = Query::new(WAITING);
    if let Some(run) = only {
        query.push(" AND j.run_id = ").bind(id(run));
    }
    query
}

fn turn(worker: &str, limit: usize, ttl: Duration, only: Option<RunId>) -> Statement {
    let mut query = Query::new("WITH chosen AS MATERIALIZED (");
    query.push(WAITING).push(NOBODY_ELSE);
    match only {
        Some(run) => query.push(" AND j.run_id = ").bind(id(run)),
        None => query.push(FIRST_OF_ITS_AGENT),
    };
    query.push(" ORDER BY j.due, j.run_id LIMIT ").bind(limit).push(") ");
    taken(&mut query, worker, ttl);
    query.statement()
}
