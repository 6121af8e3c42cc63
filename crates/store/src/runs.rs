//! What the HTTP server reads about runs beyond the `Library` port: iterations, notifications, and counts for the
//! metrics.

use crate::scope::visible_of_run;
use crate::sql::{Query, Row, Statement, equals, id, page};
use crate::tables::{ALL_RUNS, ITERATIONS};
use crate::{SqlStore, StoreError, records};
use engine::batch::{IterationRow, NotificationRow};
use engine::ids::{NodeId, RunId};
use engine::run::{Kind, Status};
use engine::time::Timestamp;
use engine::workspace::Scope;
use runtime::ports::Slice;

/// By the database's clock, which the working time of runs follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastDriven {
    pub at: Timestamp,
    pub now: bool,
}

impl SqlStore {
    /// The iterations after the one in `slice`, in order.
    pub async fn iterations(
        &self,
        scope: &Scope,
        run: RunId,
        slice: Slice<u32>,
    ) -> Result<Vec<IterationRow>, StoreError> {
        let mut query = visible_of_run(&ITERATIONS, scope, run);
        if let Some(after) = slice.after {
            query.push(" AND iteration > ").bind(i64::from(after));
        }
        query.push(" ORDER BY iteration LIMIT ").bind(page(slice.limit));
        self.all(query, records::iteration).await
    }

    pub async fn notifications(&self, scope: &Scope, limit: usize) -> Result<Vec<NotificationRow>, StoreError> {
        let mut query = Query::new(format!("{} WHERE 1 = 1", records::NOTIFICATION));
        if let Scope::Actor(actor) | Scope::Within(actor, _) | Scope::OnBehalf { agent: actor, .. } = scope {
            equals(&mut query, "owner", Some(id(actor)));
        }
        query.push(" ORDER BY at DESC, run_id DESC, seq DESC LIMIT ").bind(page(limit));
        self.all(query, records::notification).await
    }

    /// How many runs there are of each kind in each status.
    pub async fn count_runs_by_kind_and_status(&self) -> Result<Vec<(Kind, Status, u64)>, StoreError> {
        let query = format!("SELECT kind, status, COUNT(*) FROM ({}) r GROUP BY kind, status ORDER BY 1, 2", *ALL_RUNS);
        let found = self.backend.read(Statement::new(query, vec![])).await?;
        let count = |row: &Row| {
            let known = Kind::parse(row.text(0)?).zip(Status::parse(row.text(1)?));
            let (kind, status) = known.ok_or_else(|| {
                StoreError::Unusable("a run has a kind or a status that this version does not know".into())
            })?;
            Ok((kind, status, row.int(2)?.unsigned_abs()))
        };
        found.iter().map(count).collect()
    }

    /// When the run was last surely driven, and whether it is now: its lease holds until a time that has not come yet.
    pub async fn last_driven(&self, run: RunId) -> Result<Option<LastDriven>, StoreError> {
        let query = "SELECT lease_until, last_seen, now_ms() FROM jobs WHERE run_id = ?1 AND last_seen IS NOT NULL";
        let found = self.backend.read(Statement::new(query, vec![id(run)])).await?;
        let read = |row: &Row| {
            let (lease_until, now) = (records::optional_time(row, 0)?, records::time(row, 2)?);
            Ok(match lease_until.is_some_and(|until| until > now) {
                true => LastDriven { at: now, now: true },
                false => LastDriven { at: records::time(row, 1)?, now: false },
            })
        };
        found.first().map(read).transpose()
    }

    /// The run that the node belongs to. It takes no scope: the caller checks access to the run.
    pub async fn run_of_node(&self, node: NodeId) -> Result<Option<RunId>, StoreError> {
        let query = Statement::new("SELECT run_id FROM tree_agent_nodes WHERE id = ?1", vec![id(node)]);
        self.backend.read(query).await?.first().map(|row| row.parse(0)).transpose()
    }
}
