//! The `Library` port: what tools and pages read, always through a scope. It must not write.

use crate::scope::{row_in_scope, steerable_runs, visible, visible_of_run, visible_row, visible_runs};
use crate::sql::{Query, Row, Statement, Value, equals, id, newest, older, oldest, only, page};
use crate::tree::NodeFilter;
use crate::{SqlStore, StoreError, agents, codec, records};
use async_trait::async_trait;
use engine::batch::{NodeRow, RunRow, StepRow};
use engine::blob::Hash;
use engine::ids::{ActorId, DocumentId, EdgeId, ProjectId, RunId, TaskId};
use engine::member_role::MemberRole;
use engine::run::Status;
use engine::workspace::{ActorRecord, Document, Edge, Project, Scope, Task, WORKSPACE_OF_RUN};
use runtime::agents::{AgentRecord, ScratchpadVersion};
use runtime::ports::{DocumentFilter, EdgeFilter, Hit, HitKind, Library, RunFilter, SearchFilter, Slice, TaskFilter};
use runtime::search_terms as terms;
use std::collections::HashMap;

const TEXTS_AT_ONCE: usize = 200;
/// More than any task has: at most fifty steps count, and at most as many do not.
const MAX_STEPS_LISTED: usize = 1_000;

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
    /// As `projects`, without those that a run made for itself and nobody has described anew.
    pub async fn projects_without_workspaces(
        &self,
        scope: &Scope,
        before: Option<ProjectId>,
        limit: usize,
    ) -> Result<Vec<Project>, StoreError> {
        let mut query = visible(records::PROJECT, "id", scope);
        query.push(" AND (made_run IS NULL OR description <> ").bind(WORKSPACE_OF_RUN).push(" || made_run)");
        older(&mut query, before);
        self.all(newest(query, limit), records::project).await
    }

    /// The documents by the conditions that SQL can check. The caller checks properties, which are JSON.
    async fn listed(&self, scope: &Scope, filter: &DocumentFilter) -> Result<Vec<Document>, StoreError> {
        let mut query = visible(records::LISTED_DOCUMENT, "project_id", scope);
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

fn containing(query: &mut Query, needles: &[String]) {
    for needle in needles {
        query.push(" AND instr(terms, ").bind(needle.as_str()).push(") > 0");
    }
}

/// For a kind of hit, the select and the column that names the project.
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
        let mut query = visible_runs(scope);
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
        self.one(only(visible_runs(scope), "id", run), records::run).await
    }

    async fn steps(&self, scope: &Scope, run: RunId) -> Result<Vec<StepRow>, StoreError> {
        let mut query = visible_of_run(&agents::STEPS, scope, run);
        query.push(" ORDER BY step LIMIT ").bind(MAX_STEPS_LISTED);
        self.all(query, agents::read_step).await
    }

    async fn first_nodes(&self, scope: &Scope, run: RunId, limit: usize) -> Result<Vec<NodeRow>, StoreError> {
        self.nodes(scope, run, NodeFilter { limit, ..NodeFilter::default() }).await
    }

    async fn projects(
        &self,
        scope: &Scope,
        before: Option<ProjectId>,
        limit: usize,
    ) -> Result<Vec<Project>, StoreError> {
        let mut query = visible(records::PROJECT, "id", scope);
        older(&mut query, before);
        self.all(newest(query, limit), records::project).await
    }

    async fn project(&self, scope: &Scope, project: ProjectId) -> Result<Option<Project>, StoreError> {
        self.one(visible_row(records::PROJECT, "id", scope, project), records::project).await
    }

    async fn documents(&self, scope: &Scope, filter: DocumentFilter) -> Result<Vec<Document>, StoreError> {
        if !filter.asks_props() {
            return self.listed(scope, &filter).await;
        }
        // Properties are filtered here: the two databases do not offer the same queries on JSON.
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
        let query = visible_row(records::DOCUMENT, "project_id", scope, document);
        let Some(mut found) = self.one(query, records::document).await? else { return Ok(None) };
        let mut query = Query::new("SELECT markdown FROM onto_document_entries WHERE document_id = ");
        query.bind(id(document)).push(" ORDER BY position, key");
        let entries = self.all(query, |row| row.text(0).map(str::to_owned)).await?;
        if !entries.is_empty() {
            found.version += entries.len() as i64;
            // What a scratchpad was created with comes before its entries.
            let opening = Some(found.content).filter(|opening| !opening.is_empty());
            found.content = opening.into_iter().chain(entries).collect::<Vec<_>>().join("\n\n");
        }
        Ok(Some(found))
    }

    async fn tasks(&self, scope: &Scope, filter: TaskFilter) -> Result<Vec<Task>, StoreError> {
        let mut query = visible(records::TASK, "project_id", scope);
        equals(&mut query, "project_id", filter.project_id.map(id));
        equals(&mut query, "state", filter.state.map(|state| Value::from(state.name())));
        equals(&mut query, "made_run", filter.run_id.map(id));
        older(&mut query, filter.before);
        self.all(newest(query, filter.limit), records::task).await
    }

    async fn task(&self, scope: &Scope, task: TaskId) -> Result<Option<Task>, StoreError> {
        self.one(visible_row(records::TASK, "project_id", scope, task), records::task).await
    }

    async fn edges(&self, scope: &Scope, filter: EdgeFilter, slice: Slice<EdgeId>) -> Result<Vec<Edge>, StoreError> {
        let mut query = visible(records::EDGE, "project_id", scope);
        equals(&mut query, "src", filter.src.map(id));
        equals(&mut query, "dst", filter.dst.map(id));
        equals(&mut query, "made_run", filter.run_id.map(id));
        self.all(oldest(query, slice), records::edge).await
    }

    async fn edge(&self, scope: &Scope, edge: EdgeId) -> Result<Option<Edge>, StoreError> {
        self.one(visible_row(records::EDGE, "project_id", scope, edge), records::edge).await
    }

    async fn search(&self, scope: &Scope, query: &str, filter: SearchFilter) -> Result<Vec<Hit>, StoreError> {
        let Some(needles) = terms::needles(query) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for kind in [HitKind::Document, HitKind::Task, HitKind::Project] {
            let only_documents = filter.type_key.is_some() && kind != HitKind::Document;
            if only_documents || !filter.kinds.is_empty() && !filter.kinds.contains(&kind) {
                continue;
            }
            let (select, column) = searched(kind);
            let mut query = visible(select, column, scope);
            equals(&mut query, column, filter.project_id.map(id));
            equals(&mut query, "made_run", filter.run_id.map(id));
            equals(&mut query, "type_key", filter.type_key.clone().map(Value::from));
            older(&mut query, filter.before);
            containing(&mut query, &needles);
            found.extend(self.all(newest(query, filter.limit), hit).await?);
        }
        if filter.type_key.is_some() {
            found.extend(self.search_platform(scope, &needles, &filter).await?);
        }
        found.sort_by_key(|hit| std::cmp::Reverse(hit.id));
        found.truncate(page(filter.limit));
        Ok(found)
    }

    async fn actor(&self, name: &str) -> Result<Option<ActorRecord>, StoreError> {
        let mut query = Query::new(format!("{} WHERE handle = ", records::ACTOR));
        query.bind(name).push(" OR id = ").bind(name);
        self.one(query, records::actor).await
    }

    async fn may_steer(&self, scope: &Scope, run: RunId) -> Result<bool, StoreError> {
        Ok(self.one(only(steerable_runs(scope), "id", run), records::run).await?.is_some())
    }

    async fn may_write(&self, scope: &Scope, project: ProjectId) -> Result<bool, StoreError> {
        let mut query = Query::new("SELECT id FROM onto_projects WHERE id = ");
        query.bind(id(project));
        row_in_scope(&mut query, "id", scope, MemberRole::Editor);
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

    async fn agent(&self, name: &str) -> Result<Option<AgentRecord>, StoreError> {
        let mut query = Query::new(agents::AGENT);
        query.push(" AND (a.handle = ").bind(name).push(" OR a.id = ").bind(name).push(")");
        self.one(query, agents::agent).await
    }

    async fn scratchpad(&self, agent: ActorId) -> Result<Option<ScratchpadVersion>, StoreError> {
        Ok(self.scratchpad_versions(agent, None, 1).await?.pop())
    }

    async fn pending_lessons(&self, agent: ActorId) -> Result<u64, StoreError> {
        self.pending_of(agent).await
    }

    async fn blobs(&self, hashes: &[Hash]) -> Result<Vec<String>, StoreError> {
        let mut distinct = hashes.to_vec();
        distinct.sort();
        distinct.dedup();
        let mut texts: HashMap<Hash, String> = HashMap::new();
        for chunk in distinct.chunks(TEXTS_AT_ONCE) {
            let mut query = Query::new("SELECT body FROM blobs WHERE hash IN ");
            query.bind_list(chunk.iter().map(|hash| Value::from(hash.0.to_vec())));
            for row in self.backend.read(query.statement()).await? {
                // The hash is computed and not read, so that a damaged text counts as missing.
                let text = codec::unpack(row.bytes(0)?)?;
                texts.insert(Hash::of(&[text.as_bytes()]), text);
            }
        }
        let missing = |hash: &Hash| StoreError::Unusable(format!("the text {hash} is missing or was changed"));
        hashes.iter().map(|hash| texts.get(hash).cloned().ok_or_else(|| missing(hash))).collect()
    }
}
