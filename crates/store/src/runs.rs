//! What the HTTP server reads about runs beyond the `Library` port: iterations, notifications, and counts for the
//! metrics.

use crate::scope::visible_of_run;
use crate::sql::{Query, Row, Statement, equals, id, page};
use crate::tables::{ALL_RUNS, ITERATIONS};
use crate::{SqlStore, StoreError, records};
use engine::batch::{IterationRow, NotificationRow};
use engine::ids::{NodeId, RunId};
use engine::run::{Kind, Status};
use engine::workspace::Scope;
use runtime::ports::Slice;

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

    /// The run that the node belongs to. It takes no scope: the caller checks access to the run.
    pub async fn run_of_node(&self, node: NodeId) -> Result<Option<RunId>, StoreError> {
        let query = Statement::new("SELECT run_id FROM tree_agent_nodes WHERE id = ?1", vec![id(node)]);
        self.backend.read(query).await?.first().map(|row| row.parse(0)).transpose()
    }
}
