//! Reading the workspace in memory, with the same scopes, filters and order as on SQL.

use super::workspace::{Conflict, Kept, Origin};
use super::{Memory, State, Stored, page, terms};
use crate::ports::{
    AppendError, DocumentFilter, DocumentVersion, EdgeFilter, Hit, HitKind, Library, NodeFilter, PROJECT_ITEMS,
    RunFilter, SearchFilter, Slice, StoreError, TaskFilter,
};
use async_trait::async_trait;
use engine::batch::{ArtifactRow, IterationRow, NodeRow, NotificationRow, PlanRow, RunRow, StepRow};
use engine::event::StoredEvent;
use engine::ids::{ActorId, ArtifactId, DocumentId, EdgeId, NodeId, PlanId, ProjectId, RunId, TaskId};
use engine::role::Role;
use engine::time::Timestamp;
use engine::workspace::{ActorRecord, Change, DOC_ROLE, Document, Edge, Entry, Project, Scope, Task};
use uuid::Uuid;

/// What comes behind a row in the order of their making; nothing behind one that is not there.
fn behind<'a, K: Copy + Ord + 'a, T: 'a>(
    rows: impl Iterator<Item = (&'a (Timestamp, K), &'a T)> + Clone,
    after: Option<K>,
) -> impl Iterator<Item = &'a T> {
    let last = after.map(|after| rows.clone().map(|(key, _)| *key).find(|(_, id)| *id == after));
    let is_behind = move |key: &(Timestamp, K)| last.is_none_or(|last| last.is_some_and(|last| *key > last));
    rows.filter(move |(key, _)| is_behind(key)).map(|(_, row)| row)
}

impl State {
    fn is_member(&self, project: ProjectId, actor: ActorId, least: Role) -> bool {
        self.members.get(&(project, actor)).is_some_and(|role| *role >= least)
    }

    /// At least this role in the project: for everybody whom the scope stands for.
    fn reaches(&self, scope: &Scope, project: ProjectId, least: Role) -> bool {
        let member = |actor: &ActorId| self.is_member(project, *actor, least);
        match scope {
            Scope::Platform => true,
            Scope::Actor(actor) => member(actor),
            Scope::Within(actor, projects) => projects.contains(&project) && member(actor),
            Scope::OnBehalf { agent, owner } => member(agent) && member(owner),
        }
    }

    fn sees(&self, scope: &Scope, project: ProjectId) -> bool {
        self.reaches(scope, project, Role::Viewer)
    }

    /// Its owner, or at least this role in all of its projects. A run without projects is its owner's alone.
    fn reaches_run(&self, scope: &Scope, run: &RunRow, least: Role) -> bool {
        let shared =
            |fits: &dyn Fn(&ProjectId) -> bool| !run.project_ids.is_empty() && run.project_ids.iter().all(fits);
        let theirs =
            |actor: &ActorId| run.owner == *actor || shared(&|project| self.is_member(*project, *actor, least));
        match scope {
            Scope::Platform => true,
            Scope::Actor(actor) => theirs(actor),
            Scope::Within(actor, projects) => shared(&|project| projects.contains(project)) && theirs(actor),
            Scope::OnBehalf { agent, owner } => theirs(owner) && (run.agent_id == Some(*agent) || theirs(agent)),
        }
    }

    fn sees_run(&self, scope: &Scope, run: &RunRow) -> bool {
        self.reaches_run(scope, run, Role::Viewer)
    }

    fn seen_run(&self, scope: &Scope, run: RunId) -> Option<&Stored> {
        self.runs.get(&run).filter(|stored| self.sees_run(scope, &stored.row))
    }

    fn whole(&self, document: &Document) -> Document {
        let mut whole = document.clone();
        if let Some(entries) = self.entries.get(&document.id).filter(|entries| !entries.is_empty()) {
            let mut entries: Vec<&Entry> = entries.values().collect();
            entries.sort_by_key(|entry| entry.position);
            whole.content = entries.iter().map(|entry| entry.markdown.as_str()).collect::<Vec<_>>().join("\n\n");
        }
        whole
    }

    fn hits(&self, scope: &Scope, filter: &SearchFilter, needles: &[String]) -> Vec<Hit> {
        let hit = |kind, id: Uuid, made: Origin, project_id, title: &str, text: &str| {
            let wanted = (filter.kinds.is_empty() || filter.kinds.contains(&kind))
                && filter.project_id.is_none_or(|project| project == project_id)
                && filter.run_id.is_none_or(|run| made.run_id == Some(run))
                && filter.before.is_none_or(|before| id < before)
                && self.sees(scope, project_id)
                && terms::matches(&terms::index(&[title, text]), needles);
            wanted.then(|| Hit { kind, id, project_id, title: title.into(), excerpt: terms::excerpt(text) })
        };
        let documents = self.workspace.documents.values().filter(|kept| !kept.entity.is_platform());
        let documents = documents.filter_map(|Kept { entity: d, made, .. }| {
            hit(HitKind::Document, d.id.0, *made, d.project_id, &d.title, &d.content)
        });
        let tasks = self.workspace.tasks.values().filter_map(|Kept { entity: t, made, .. }| {
            hit(HitKind::Task, t.id.0, *made, t.project_id, &t.title, &t.description)
        });
        let projects = self.workspace.projects.values().filter_map(|Kept { entity: p, made, .. }| {
            hit(HitKind::Project, p.id.0, *made, p.id, &p.title, &p.description)
        });
        documents.chain(tasks).chain(projects).collect()
    }
}

fn asked(run: &RunRow) -> bool {
    run.questions.as_array().is_some_and(|asked| !asked.is_empty())
}

fn version(kept: &Kept<Document>) -> DocumentVersion {
    DocumentVersion {
        version: kept.entity.version,
        title: kept.entity.title.clone(),
        content: kept.entity.content.clone(),
        run_id: kept.changed.run_id,
        seq: kept.changed.seq,
        at: kept.entity.updated_at,
    }
}

#[async_trait]
impl Library for Memory {
    async fn runs(&self, scope: &Scope, filter: RunFilter) -> Result<Vec<RunRow>, StoreError> {
        let state = self.state();
        let needles = filter.text.as_deref().filter(|text| !text.trim().is_empty()).map(terms::needles);
        let wanted = |run: &&RunRow| {
            filter.kind.is_none_or(|kind| kind == run.kind)
                && filter.status.is_none_or(|status| status == run.status)
                && filter.agent.is_none_or(|agent| run.agent_id == Some(agent))
                && (!filter.asking || (!run.status.is_terminal() && asked(run)))
                && filter.before.is_none_or(|before| run.id < before)
                && needles.as_ref().is_none_or(|needles| {
                    needles.as_ref().is_some_and(|needles| terms::matches(&terms::index(&[&run.objective]), needles))
                })
                && state.sees_run(scope, run)
        };
        let runs = state.runs.values().rev().map(|stored| &stored.row).filter(wanted);
        Ok(runs.take(page(filter.limit)).cloned().collect())
    }

    async fn run(&self, scope: &Scope, id: RunId) -> Result<Option<RunRow>, StoreError> {
        Ok(self.state().seen_run(scope, id).map(|stored| stored.row.clone()))
    }

    async fn iterations(&self, scope: &Scope, run: RunId, slice: Slice<u32>) -> Result<Vec<IterationRow>, StoreError> {
        let state = self.state();
        let iterations = state.seen_run(scope, run).into_iter().flat_map(|stored| stored.iterations.values());
        let behind = iterations.filter(|row| slice.after.is_none_or(|after| row.iteration > after));
        Ok(behind.take(page(slice.limit)).cloned().collect())
    }

    async fn nodes(&self, scope: &Scope, run: RunId, filter: NodeFilter) -> Result<Vec<NodeRow>, StoreError> {
        let state = self.state();
        let first = filter.after.map_or(0, |after| after.saturating_add(1));
        let nodes = state.seen_run(scope, run).into_iter().flat_map(|stored| stored.nodes.range(first..));
        let wanted = nodes.map(|(_, row)| row).filter(|row| filter.since.is_none_or(|since| row.updated_at >= since));
        Ok(wanted.take(page(filter.limit)).cloned().collect())
    }

    async fn node(&self, scope: &Scope, run: RunId, node: NodeId) -> Result<Option<NodeRow>, StoreError> {
        let state = self.state();
        Ok(state.seen_run(scope, run).and_then(|stored| stored.nodes.values().find(|row| row.id == node).cloned()))
    }

    async fn timeline(
        &self,
        scope: &Scope,
        run: RunId,
        node: NodeId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        let state = self.state();
        let events = state.seen_run(scope, run).into_iter().flat_map(|stored| &stored.events);
        let own = events.skip(after as usize).filter(|event| event.node_id == Some(node));
        Ok(own.take(page(limit)).cloned().collect())
    }

    async fn plans(
        &self,
        scope: &Scope,
        run: RunId,
        node: Option<NodeId>,
        slice: Slice<PlanId>,
    ) -> Result<Vec<PlanRow>, StoreError> {
        let state = self.state();
        let plans = state.seen_run(scope, run).into_iter().flat_map(|stored| &stored.plans);
        let rows = behind(plans, slice.after).filter(|row| node.is_none_or(|node| node == row.node_id));
        Ok(rows.take(page(slice.limit)).cloned().collect())
    }

    async fn artifacts(
        &self,
        scope: &Scope,
        run: RunId,
        node: Option<NodeId>,
        slice: Slice<ArtifactId>,
    ) -> Result<Vec<ArtifactRow>, StoreError> {
        let state = self.state();
        let artifacts = state.seen_run(scope, run).into_iter().flat_map(|stored| &stored.artifacts);
        let rows = behind(artifacts, slice.after).filter(|row| node.is_none_or(|node| node == row.node_id));
        Ok(rows.take(page(slice.limit)).cloned().collect())
    }

    async fn steps(&self, scope: &Scope, run: RunId) -> Result<Vec<StepRow>, StoreError> {
        let state = self.state();
        Ok(state.seen_run(scope, run).into_iter().flat_map(|stored| stored.steps.values().cloned()).collect())
    }

    async fn notifications(&self, scope: &Scope, limit: usize) -> Result<Vec<NotificationRow>, StoreError> {
        let state = self.state();
        let theirs = |row: &&NotificationRow| match scope {
            Scope::Platform => true,
            Scope::Actor(actor) | Scope::Within(actor, _) | Scope::OnBehalf { agent: actor, .. } => row.owner == *actor,
        };
        let mut rows: Vec<NotificationRow> = state.notifications.values().filter(theirs).cloned().collect();
        rows.sort_by_key(|row| std::cmp::Reverse((row.at, row.run_id, row.seq)));
        rows.truncate(page(limit));
        Ok(rows)
    }

    async fn projects(
        &self,
        scope: &Scope,
        before: Option<ProjectId>,
        limit: usize,
    ) -> Result<Vec<Project>, StoreError> {
        let state = self.state();
        let wanted = |id: ProjectId| before.is_none_or(|before| id < before) && state.sees(scope, id);
        let seen = state.workspace.projects.values().rev().filter(|kept| wanted(kept.entity.id));
        Ok(seen.take(page(limit)).map(|kept| kept.entity.clone()).collect())
    }

    async fn project(&self, scope: &Scope, id: ProjectId) -> Result<Option<Project>, StoreError> {
        let state = self.state();
        Ok(state.workspace.projects.get(&id).filter(|_| state.sees(scope, id)).map(|kept| kept.entity.clone()))
    }

    async fn documents(&self, scope: &Scope, filter: DocumentFilter) -> Result<Vec<Document>, StoreError> {
        let state = self.state();
        let wanted = |kept: &&Kept<Document>| {
            let document = &kept.entity;
            let role = document.props.get(DOC_ROLE).and_then(|role| role.as_str());
            !(filter.hides_platform() && document.is_platform())
                && filter.project_id.is_none_or(|project| project == document.project_id)
                && filter.type_key.as_ref().is_none_or(|key| *key == document.type_key)
                && filter.doc_role.as_ref().is_none_or(|asked| role == Some(asked))
                && filter.run_id.is_none_or(|run| kept.made.run_id == Some(run))
                && filter.fits_props(&document.props)
                && filter.before.is_none_or(|before| document.id < before)
                && state.sees(scope, document.project_id)
        };
        let found = state.workspace.documents.values().rev().filter(wanted).take(page(filter.limit));
        Ok(found.map(|kept| Document { content: String::new(), ..kept.entity.clone() }).collect())
    }

    async fn document(&self, scope: &Scope, id: DocumentId) -> Result<Option<Document>, StoreError> {
        let state = self.state();
        let kept = state.workspace.documents.get(&id).filter(|kept| state.sees(scope, kept.entity.project_id));
        Ok(kept.map(|kept| state.whole(&kept.entity)))
    }

    async fn sees_document(&self, scope: &Scope, id: DocumentId) -> Result<bool, StoreError> {
        let state = self.state();
        Ok(state.workspace.documents.get(&id).is_some_and(|kept| state.sees(scope, kept.entity.project_id)))
    }

    async fn versions(
        &self,
        scope: &Scope,
        id: DocumentId,
        slice: Slice<i64>,
    ) -> Result<Vec<DocumentVersion>, StoreError> {
        let state = self.state();
        let Some(kept) = state.workspace.documents.get(&id).filter(|kept| state.sees(scope, kept.entity.project_id))
        else {
            return Ok(Vec::new());
        };
        let superseded = state.superseded.get(&id).into_iter().flatten().rev();
        let older = |kept: &&Kept<Document>| slice.after.is_none_or(|after| kept.entity.version < after);
        Ok([kept].into_iter().chain(superseded).filter(older).take(page(slice.limit)).map(version).collect())
    }

    async fn entries(
        &self,
        scope: &Scope,
        document: DocumentId,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let state = self.state();
        let seen =
            state.workspace.documents.get(&document).is_some_and(|kept| state.sees(scope, kept.entity.project_id));
        let mut entries: Vec<Entry> =
            state.entries.get(&document).filter(|_| seen).into_iter().flat_map(|all| all.values().cloned()).collect();
        entries.retain(|entry| before.is_none_or(|before| entry.position < before));
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.position));
        entries.truncate(page(limit));
        Ok(entries)
    }

    async fn tasks(&self, scope: &Scope, filter: TaskFilter) -> Result<Vec<Task>, StoreError> {
        let state = self.state();
        let wanted = |kept: &&Kept<Task>| {
            filter.project_id.is_none_or(|project| project == kept.entity.project_id)
                && filter.state.is_none_or(|wanted| wanted == kept.entity.state)
                && filter.run_id.is_none_or(|run| kept.made.run_id == Some(run))
                && filter.before.is_none_or(|before| kept.entity.id < before)
                && state.sees(scope, kept.entity.project_id)
        };
        let found = state.workspace.tasks.values().rev().filter(wanted);
        Ok(found.take(page(filter.limit)).map(|kept| kept.entity.clone()).collect())
    }

    async fn task(&self, scope: &Scope, id: TaskId) -> Result<Option<Task>, StoreError> {
        let state = self.state();
        let kept = state.workspace.tasks.get(&id).filter(|kept| state.sees(scope, kept.entity.project_id));
        Ok(kept.map(|kept| kept.entity.clone()))
    }

    async fn edges(&self, scope: &Scope, filter: EdgeFilter, slice: Slice<EdgeId>) -> Result<Vec<Edge>, StoreError> {
        let state = self.state();
        let EdgeFilter { src, dst, run_id } = filter;
        let wanted = |kept: &&Kept<Edge>| {
            src.is_none_or(|src| src == kept.entity.src)
                && dst.is_none_or(|dst| dst == kept.entity.dst)
                && run_id.is_none_or(|run| kept.made.run_id == Some(run))
                && slice.after.is_none_or(|after| kept.entity.id > after)
                && state.sees(scope, kept.entity.project_id)
        };
        let edges = state.workspace.edges.values().filter(wanted).take(page(slice.limit));
        Ok(edges.map(|kept| kept.entity.clone()).collect())
    }

    async fn edge(&self, scope: &Scope, id: EdgeId) -> Result<Option<Edge>, StoreError> {
        let state = self.state();
        let kept = state.workspace.edges.get(&id).filter(|kept| state.sees(scope, kept.entity.project_id));
        Ok(kept.map(|kept| kept.entity.clone()))
    }

    async fn search(&self, scope: &Scope, query: &str, filter: SearchFilter) -> Result<Vec<Hit>, StoreError> {
        let Some(needles) = terms::needles(query) else { return Ok(Vec::new()) };
        let mut hits = self.state().hits(scope, &filter, &needles);
        hits.sort_by_key(|hit| std::cmp::Reverse(hit.id));
        hits.truncate(page(filter.limit));
        Ok(hits)
    }

    async fn change(&self, changes: Vec<Change>) -> Result<(), AppendError> {
        let now = self.clock.now();
        let mut state = self.state();
        let revised = state.revise(&changes, None, |_| now).map_err(|Conflict(id)| AppendError::Conflict(id))?;
        state.write(revised);
        Ok(())
    }

    async fn create_actor(&self, actor: ActorRecord) -> Result<(), StoreError> {
        let mut state = self.state();
        match state.actors.values().find(|known| known.handle == actor.handle) {
            Some(known) if known.id != actor.id => {
                Err(StoreError::Unusable(format!("the handle {} is taken", actor.handle)))
            }
            _ => {
                state.actors.entry(actor.id).or_insert(actor);
                Ok(())
            }
        }
    }

    async fn actors(&self, slice: Slice<ActorId>) -> Result<Vec<ActorRecord>, StoreError> {
        let state = self.state();
        let behind = state.actors.values().filter(|actor| slice.after.is_none_or(|after| actor.id > after));
        Ok(behind.take(page(slice.limit)).cloned().collect())
    }

    async fn actor(&self, name: &str) -> Result<Option<ActorRecord>, StoreError> {
        let named = |actor: &&ActorRecord| actor.handle == name || actor.id.to_string() == name;
        Ok(self.state().actors.values().find(named).cloned())
    }

    async fn grant(&self, project: ProjectId, actor: ActorId, role: Role) -> Result<(), StoreError> {
        self.state().members.entry((project, actor)).or_insert(role);
        Ok(())
    }

    async fn revoke(&self, project: ProjectId, actor: ActorId) -> Result<bool, StoreError> {
        Ok(self.state().members.remove(&(project, actor)).is_some())
    }

    async fn may_steer(&self, scope: &Scope, run: RunId) -> Result<bool, StoreError> {
        let state = self.state();
        Ok(state.runs.get(&run).is_some_and(|stored| state.reaches_run(scope, &stored.row, Role::Editor)))
    }

    async fn may_write(&self, scope: &Scope, project: ProjectId) -> Result<bool, StoreError> {
        Ok(self.state().reaches(scope, project, Role::Editor))
    }

    async fn has_room(&self, project: ProjectId) -> Result<bool, StoreError> {
        let workspace = &self.state().workspace;
        let documents = workspace.documents.values().filter(|document| document.entity.project_id == project).count();
        let tasks = workspace.tasks.values().filter(|task| task.entity.project_id == project).count();
        Ok(((documents + tasks) as u64) < PROJECT_ITEMS)
    }
}
