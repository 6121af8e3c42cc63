//! The `Library` port on SQL: what people and tools read, always through a scope.

use crate::backend::WriteError;
use crate::log::unguarded;
use crate::members::MAKE_MEMBER;
use crate::scope::{narrow, reached, seen, seen_of_run, seen_runs, steered_runs};
use crate::sql::{Guard, Query, Row, Statement, Value, id, page};
use crate::tables::ITERATIONS;
use crate::workspace::Touched;
use crate::{SqlStore, StoreError, agents, records, rows, tree};
use async_trait::async_trait;
use engine::batch::{ArtifactRow, IterationRow, NodeRow, NotificationRow, PlanRow, RunRow, StepRow};
use engine::event::StoredEvent;
use engine::ids::{ActorId, ArtifactId, DocumentId, EdgeId, NodeId, PlanId, ProjectId, RunId, TaskId};
use engine::role::Role;
use engine::run::Status;
use engine::workspace::{ActorRecord, Change, Document, Edge, Entry, Project, Scope, Task};
use runtime::ports::{
    AppendError, DocumentFilter, DocumentVersion, EdgeFilter, Hit, HitKind, Library, NodeFilter, RunFilter,
    SearchFilter, Slice, TaskFilter,
};
use runtime::search_terms as terms;
use uuid::Uuid;

/// A person's change whose entity keeps moving is theirs to look at again.
const TRIES: usize = 4;
/// A task has at most fifty steps that count, and as many that do not.
const MOST_STEPS: usize = 1_000;

impl SqlStore {
    pub(crate) async fn all<T>(
        &self,
        mut query: Query,
        record: fn(&Row) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        self.backend.read(query.statement()).await?.iter().map(record).collect()
    }

    pub(crate) async fn one<T>(
        &self,
        query: Query,
        record: fn(&Row) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let mut query = query;
        self.backend.read_inline(query.statement()).await?.first().map(record).transpose()
    }
}

impl SqlStore {
    /// Those that the database can tell apart.
    async fn listed(&self, scope: &Scope, filter: &DocumentFilter) -> Result<Vec<Document>, StoreError> {
        let mut query = seen(records::LISTED_DOCUMENT, "project_id", scope);
        if filter.hides_platform() {
            query.push(" AND doc_role IS NULL");
        }
        equals(&mut query, "project_id", filter.project_id.map(id));
        equals(&mut query, "type_key", filter.type_key.clone().map(Value::from));
        equals(&mut query, "doc_role", filter.doc_role.clone().map(Value::from));
        equals(&mut query, "made_run", filter.run_id.map(id));
        older(&mut query, filter.before);
        self.all(newest(query, filter.limit), records::document).await
    }
}

fn only(mut query: Query, column: &str, key: impl Into<Uuid>) -> Query {
    equals(&mut query, column, Some(id(key)));
    query
}

fn equals(query: &mut Query, column: &str, key: Option<Value>) {
    if let Some(key) = key {
        query.push(" AND ").push(column).push(" = ").bind(key);
    }
}

/// Ids are in the order of time.
fn older(query: &mut Query, before: Option<impl Into<Uuid>>) {
    if let Some(before) = before {
        query.push(" AND id < ").bind(id(before));
    }
}

fn newest(mut query: Query, limit: usize) -> Query {
    query.push(" ORDER BY id DESC LIMIT ").bind(page(limit));
    query
}

fn oldest<C: Into<Uuid>>(mut query: Query, slice: Slice<C>) -> Query {
    if let Some(after) = slice.after {
        query.push(" AND id > ").bind(id(after));
    }
    query.push(" ORDER BY id LIMIT ").bind(page(slice.limit));
    query
}

/// For rows whose ids are not in the order of time.
fn in_order_made<C: Into<Uuid>>(query: &mut Query, table: &str, slice: Slice<C>) {
    if let Some(after) = slice.after {
        query.push(" AND (created_at, id) > (SELECT c.created_at, c.id FROM ").push(table).push(" c WHERE c.id = ");
        query.bind(id(after)).push(")");
    }
    query.push(" ORDER BY created_at, id LIMIT ").bind(page(slice.limit));
}

fn containing(query: &mut Query, needles: &[String]) {
    for needle in needles {
        query.push(" AND instr(terms, ").bind(needle.as_str()).push(") > 0");
    }
}

/// The relation each kind of hit is found in: its select list, and its column of projects.
fn searched(kind: HitKind) -> (&'static str, &'static str) {
    match kind {
        HitKind::Document => (
            "SELECT 'document' AS kind, id, project_id, title, substr(content, 1, 200) AS excerpt FROM onto_documents",
            "project_id",
        ),
        HitKind::Task => (
            "SELECT 'task' AS kind, id, project_id, title, substr(description, 1, 200) AS excerpt FROM onto_tasks",
            "project_id",
        ),
        HitKind::Project => (
            "SELECT 'project' AS kind, id, id AS project_id, title, substr(description, 1, 200) AS excerpt FROM onto_projects",
            "id",
        ),
    }
}

fn hit(row: &Row) -> Result<Hit, StoreError> {
    let kind = match row.text(0)? {
        "document" => HitKind::Document,
        "task" => HitKind::Task,
        _ => HitKind::Project,
    };
    Ok(Hit {
        kind,
        id: row.parse(1)?,
        project_id: row.parse(2)?,
        title: row.text(3)?.to_owned(),
        excerpt: row.text(4)?.to_owned(),
    })
}

#[async_trait]
impl Library for SqlStore {
    async fn runs(&self, scope: &Scope, filter: RunFilter) -> Result<Vec<RunRow>, StoreError> {
        let mut query = seen_runs(scope);
        equals(&mut query, "kind", filter.kind.map(|kind| Value::from(kind.name())));
        equals(&mut query, "status", filter.status.map(|status| Value::from(status.name())));
        equals(&mut query, "agent_id", filter.agent.map(id));
        if let Some(text) = filter.text.filter(|text| !text.trim().is_empty()) {
            let Some(needles) = terms::needles(&text) else { return Ok(Vec::new()) };
            containing(&mut query, &needles);
        }
        if filter.asking {
            let over = Status::ALL.iter().filter(|status| status.is_terminal());
            query.push(" AND questions <> '[]' AND status NOT IN ").bind_list(over.map(|status| status.name().into()));
        }
        older(&mut query, filter.before);
        self.all(newest(query, filter.limit), records::run).await
    }

    async fn run(&self, scope: &Scope, run: RunId) -> Result<Option<RunRow>, StoreError> {
        self.one(only(seen_runs(scope), "id", run), records::run).await
    }

    async fn iterations(&self, scope: &Scope, run: RunId, slice: Slice<u32>) -> Result<Vec<IterationRow>, StoreError> {
        let mut query = seen_of_run(&ITERATIONS, scope, run);
        if let Some(after) = slice.after {
            query.push(" AND iteration > ").bind(i64::from(after));
        }
        query.push(" ORDER BY iteration LIMIT ").bind(page(slice.limit));
        self.all(query, records::iteration).await
    }

    async fn nodes(&self, scope: &Scope, run: RunId, filter: NodeFilter) -> Result<Vec<NodeRow>, StoreError> {
        let mut query = seen_of_run(&tree::NODES, scope, run);
        if let Some(after) = filter.after {
            query.push(" AND ordinal > ").bind(i64::from(after));
        }
        if let Some(since) = filter.since {
            query.push(" AND updated_at >= ").bind(since.0);
        }
        query.push(" ORDER BY ordinal LIMIT ").bind(page(filter.limit));
        self.all(query, tree::read_node).await
    }

    async fn node(&self, scope: &Scope, run: RunId, node: NodeId) -> Result<Option<NodeRow>, StoreError> {
        self.one(only(seen_of_run(&tree::NODES, scope, run), "id", node), tree::read_node).await
    }

    async fn timeline(
        &self,
        scope: &Scope,
        run: RunId,
        node: NodeId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        let mut query = only(seen_of_run(&tree::EVENTS, scope, run), "node_id", node);
        query.push(" AND seq > ").bind(after).push(" ORDER BY seq LIMIT ").bind(page(limit));
        self.all(query, records::event).await
    }

    async fn plans(
        &self,
        scope: &Scope,
        run: RunId,
        node: Option<NodeId>,
        slice: Slice<PlanId>,
    ) -> Result<Vec<PlanRow>, StoreError> {
        let mut query = seen_of_run(&tree::PLANS, scope, run);
        equals(&mut query, "node_id", node.map(id));
        in_order_made(&mut query, "tree_agent_plans", slice);
        self.all(query, tree::read_plan).await
    }

    async fn artifacts(
        &self,
        scope: &Scope,
        run: RunId,
        node: Option<NodeId>,
        slice: Slice<ArtifactId>,
    ) -> Result<Vec<ArtifactRow>, StoreError> {
        let mut query = seen_of_run(&tree::ARTIFACTS, scope, run);
        equals(&mut query, "node_id", node.map(id));
        in_order_made(&mut query, "tree_agent_artifacts", slice);
        self.all(query, tree::read_artifact).await
    }

    async fn steps(&self, scope: &Scope, run: RunId) -> Result<Vec<StepRow>, StoreError> {
        let mut query = seen_of_run(&agents::STEPS, scope, run);
        query.push(" ORDER BY step LIMIT ").bind(MOST_STEPS);
        self.all(query, agents::read_step).await
    }

    async fn notifications(&self, scope: &Scope, limit: usize) -> Result<Vec<NotificationRow>, StoreError> {
        let mut query = Query::new(format!("{} WHERE 1 = 1", records::NOTIFICATION));
        if let Scope::Actor(actor) | Scope::Within(actor, _) | Scope::OnBehalf { agent: actor, .. } = scope {
            equals(&mut query, "owner", Some(id(actor)));
        }
        query.push(" ORDER BY at DESC, run_id DESC, seq DESC LIMIT ").bind(page(limit));
        self.all(query, records::notification).await
    }

    async fn projects(
        &self,
        scope: &Scope,
        before: Option<ProjectId>,
        limit: usize,
    ) -> Result<Vec<Project>, StoreError> {
        let mut query = seen(records::PROJECT, "id", scope);
        older(&mut query, before);
        self.all(newest(query, limit), records::project).await
    }

    async fn project(&self, scope: &Scope, project: ProjectId) -> Result<Option<Project>, StoreError> {
        self.one(only(seen(records::PROJECT, "id", scope), "id", project), records::project).await
    }

    async fn documents(&self, scope: &Scope, filter: DocumentFilter) -> Result<Vec<Document>, StoreError> {
        if !filter.asks_props() {
            return self.listed(scope, &filter).await;
        }
        // Props are read here: neither database keeps them so that both would find the same.
        let (limit, mut found, mut part) = (page(filter.limit), Vec::new(), filter.clone());
        loop {
            let listed = self.listed(scope, &part).await?;
            let is_last = listed.len() < limit;
            part.before = listed.last().map(|document| document.id);
            found.extend(listed.into_iter().filter(|document| filter.fits_props(&document.props)));
            if is_last || found.len() >= limit {
                found.truncate(limit);
                return Ok(found);
            }
        }
    }

    async fn document(&self, scope: &Scope, document: DocumentId) -> Result<Option<Document>, StoreError> {
        let query = only(seen(records::DOCUMENT, "project_id", scope), "id", document);
        let Some(mut found) = self.one(query, records::document).await? else { return Ok(None) };
        let mut query = Query::new("SELECT markdown FROM onto_document_entries WHERE document_id = ");
        query.bind(id(document)).push(" ORDER BY position, key");
        let entries = self.all(query, |row| row.text(0).map(str::to_owned)).await?;
        if !entries.is_empty() {
            found.content = entries.join("\n\n");
        }
        Ok(Some(found))
    }

    async fn sees_document(&self, scope: &Scope, document: DocumentId) -> Result<bool, StoreError> {
        let query = only(seen("SELECT id FROM onto_documents", "project_id", scope), "id", document);
        Ok(self.one(query, |_| Ok(())).await?.is_some())
    }

    async fn versions(
        &self,
        scope: &Scope,
        document: DocumentId,
        slice: Slice<i64>,
    ) -> Result<Vec<DocumentVersion>, StoreError> {
        let query = only(seen(records::DOCUMENT, "project_id", scope), "id", document);
        let Some(kept) = self.one(query, records::versioned_document).await? else { return Ok(Vec::new()) };
        // Between the two reads the document may have moved on: nothing newer than what was just seen.
        let before = slice.after.unwrap_or(i64::MAX).min(kept.entity.version);
        let mut versions = Vec::new();
        if slice.after.is_none_or(|after| kept.entity.version < after) {
            versions.push(records::current_version(kept));
        }
        let left = page(slice.limit).saturating_sub(versions.len());
        let mut query = Query::new(format!("{} WHERE document_id = ", records::VERSION));
        query.bind(id(document)).push(" AND version < ").bind(before).push(" ORDER BY version DESC LIMIT ").bind(left);
        versions.extend(self.all(query, records::version).await?);
        Ok(versions)
    }

    async fn entries(
        &self,
        scope: &Scope,
        document: DocumentId,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let mut query = Query::new(format!("{} WHERE document_id = ", records::ENTRY));
        query.bind(id(document)).push(" AND EXISTS (SELECT 1 FROM onto_documents d WHERE d.id = document_id");
        narrow(&mut query, "d.project_id", scope);
        query.push(")");
        if let Some(before) = before {
            query.push(" AND position < ").bind(before);
        }
        query.push(" ORDER BY position DESC, key DESC LIMIT ").bind(page(limit));
        self.all(query, records::entry).await
    }

    async fn tasks(&self, scope: &Scope, filter: TaskFilter) -> Result<Vec<Task>, StoreError> {
        let mut query = seen(records::TASK, "project_id", scope);
        equals(&mut query, "project_id", filter.project_id.map(id));
        equals(&mut query, "state", filter.state.map(|state| Value::from(state.name())));
        equals(&mut query, "made_run", filter.run_id.map(id));
        older(&mut query, filter.before);
        self.all(newest(query, filter.limit), records::task).await
    }

    async fn task(&self, scope: &Scope, task: TaskId) -> Result<Option<Task>, StoreError> {
        self.one(only(seen(records::TASK, "project_id", scope), "id", task), records::task).await
    }

    async fn edges(&self, scope: &Scope, filter: EdgeFilter, slice: Slice<EdgeId>) -> Result<Vec<Edge>, StoreError> {
        let mut query = seen(records::EDGE, "project_id", scope);
        equals(&mut query, "src", filter.src.map(id));
        equals(&mut query, "dst", filter.dst.map(id));
        equals(&mut query, "made_run", filter.run_id.map(id));
        self.all(oldest(query, slice), records::edge).await
    }

    async fn edge(&self, scope: &Scope, edge: EdgeId) -> Result<Option<Edge>, StoreError> {
        self.one(only(seen(records::EDGE, "project_id", scope), "id", edge), records::edge).await
    }

    async fn search(&self, scope: &Scope, query: &str, filter: SearchFilter) -> Result<Vec<Hit>, StoreError> {
        let Some(needles) = terms::needles(query) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for kind in [HitKind::Document, HitKind::Task, HitKind::Project] {
            if !filter.kinds.is_empty() && !filter.kinds.contains(&kind) {
                continue;
            }
            let (select, column) = searched(kind);
            let mut query = seen(select, column, scope);
            equals(&mut query, column, filter.project_id.map(id));
            equals(&mut query, "made_run", filter.run_id.map(id));
            older(&mut query, filter.before);
            containing(&mut query, &needles);
            found.extend(self.all(newest(query, filter.limit), hit).await?);
        }
        found.sort_by_key(|hit| std::cmp::Reverse(hit.id));
        found.truncate(page(filter.limit));
        Ok(found)
    }

    async fn change(&self, changes: Vec<Change>) -> Result<(), AppendError> {
        let now = self.now().await?;
        let touched = Touched::by(&changes);
        let mut last = StoreError::Unavailable("the change was not written".into()).into();
        for _ in 0..TRIES {
            let statements = self.revise(&changes, &touched, None, |_| now).await?;
            match self.backend.write(statements).await {
                Ok(_) => {
                    self.backend.hint();
                    return Ok(());
                }
                Err(WriteError::Refused(Guard::Entity(entity))) => last = AppendError::Conflict(entity),
                Err(error) => return Err(unguarded(error).into()),
            }
        }
        Err(last)
    }

    async fn create_actor(&self, actor: ActorRecord) -> Result<(), StoreError> {
        self.backend.write(vec![rows::actor(&actor)]).await.map_err(unguarded)?;
        match self.actor(&actor.handle).await? {
            Some(known) if known.id == actor.id => Ok(()),
            _ => Err(StoreError::Unusable(format!("the handle {} is taken", actor.handle))),
        }
    }

    async fn actors(&self, slice: Slice<ActorId>) -> Result<Vec<ActorRecord>, StoreError> {
        self.all(oldest(Query::new(format!("{} WHERE 1 = 1", records::ACTOR)), slice), records::actor).await
    }

    async fn actor(&self, name: &str) -> Result<Option<ActorRecord>, StoreError> {
        let mut query = Query::new(format!("{} WHERE handle = ", records::ACTOR));
        query.bind(name).push(" OR id = ").bind(name);
        self.one(query, records::actor).await
    }

    async fn grant(&self, project: ProjectId, actor: ActorId, role: Role) -> Result<(), StoreError> {
        let values = vec![id(project), id(actor), Value::from(role.name())];
        self.backend.write(vec![Statement::new(MAKE_MEMBER, values)]).await.map(drop).map_err(unguarded)
    }

    async fn revoke(&self, project: ProjectId, actor: ActorId) -> Result<bool, StoreError> {
        let sql = "DELETE FROM project_members WHERE project_id = ?1 AND actor_id = ?2 RETURNING project_id";
        let written =
            self.backend.write(vec![Statement::new(sql, vec![id(project), id(actor)])]).await.map_err(unguarded)?;
        Ok(written.iter().any(|rows| !rows.is_empty()))
    }

    async fn may_steer(&self, scope: &Scope, run: RunId) -> Result<bool, StoreError> {
        Ok(self.one(only(steered_runs(scope), "id", run), records::run).await?.is_some())
    }

    async fn may_write(&self, scope: &Scope, project: ProjectId) -> Result<bool, StoreError> {
        let mut query = Query::new("SELECT id FROM onto_projects WHERE id = ");
        query.bind(id(project));
        reached(&mut query, "id", scope, Role::Editor);
        Ok(self.one(query, |_| Ok(())).await?.is_some())
    }

    async fn has_room(&self, project: ProjectId) -> Result<bool, StoreError> {
        let sql = "SELECT (SELECT count(*) FROM onto_documents WHERE project_id = ?1) + \
            (SELECT count(*) FROM onto_tasks WHERE project_id = ?1)";
        if self.quota_cache.take(project) {
            return Ok(true);
        }
        let found = self.backend.read(Statement::new(sql, vec![id(project)])).await?;
        let count = found.first().map_or(Ok(0), |row| row.int(0))?;
        Ok(self.quota_cache.counted(project, count.unsigned_abs()))
    }
}
