//! Renders each kind of page for its reader.

use crate::actions::places_of;
use crate::nodes::{self, MAX_NODES_LISTED};
use crate::page::{Page, QUOTED_NOTICE, TITLES_NOTICE, item, line, listed, quoted};
use crate::path::PageSubject;
use crate::{Pages, Reader};
use engine::ids::{DocumentId, ProjectId, RunId, TaskId};
use engine::task::MAX_SCRATCHPAD_CHARS;
use runtime::ports::{DocumentFilter, RunFilter, StoreError, TaskFilter};
use serde_json::{Value, json};

/// How many items of each kind a page lists.
const MAX_ITEMS_LISTED: usize = 50;
/// The characters of a text on one page; the rest is on the next pages.
const MAX_TEXT_CHARS: usize = 20_000;
const EMPTY_PAD: &str =
    "_Your scratchpad is empty. Use the `update_scratchpad` action to save notes for your future self._";

impl Pages<'_> {
    /// `None` if the page does not exist or its reader may not see it.
    pub(super) async fn view(&self, subject: PageSubject, from: usize) -> Result<Option<Page>, StoreError> {
        let page = match subject {
            PageSubject::Whoami => Some(self.whoami().await?),
            PageSubject::Projects => Some(self.projects().await?),
            PageSubject::Runs => Some(self.runs().await?),
            PageSubject::Project(id) => self.project(id).await?,
            PageSubject::Document(id) => self.document(id, from).await?,
            PageSubject::Task(id) => self.task(id).await?,
            PageSubject::Run(id) => self.run(id).await?,
            PageSubject::Tools => None,
        };
        match page {
            Some(page) => Ok(Some(page.actions(self.permitted_actions(subject).await?))),
            None => Ok(None),
        }
    }

    pub(super) async fn is_visible(&self, subject: PageSubject) -> Result<bool, StoreError> {
        let scope = &self.reader.scope;
        Ok(match subject {
            PageSubject::Whoami | PageSubject::Projects | PageSubject::Runs | PageSubject::Tools => true,
            PageSubject::Project(id) => self.store.project(scope, id).await?.is_some(),
            PageSubject::Document(id) => self.store.document(scope, id).await?.is_some(),
            PageSubject::Task(id) => self.store.task(scope, id).await?.is_some(),
            PageSubject::Run(id) => self.store.run(scope, id).await?.is_some(),
        })
    }

    async fn whoami(&self) -> Result<Page, StoreError> {
        let Reader { actor, agent, .. } = self.reader;
        let mut page = Page::new(200, PageSubject::Whoami, format!("You are {}", actor.handle))
            .fact("handle", actor.handle.as_str())
            .fact("name", actor.name.as_str())
            .fact("id", actor.id.to_string());
        page = match agent {
            None => page.fact("kind", "person"),
            Some(agent) => {
                let owner = self.store.actor(&agent.owner.to_string()).await?;
                let identity = format!("In the words of your owner:\n\n{}", quoted(&agent.identity));
                page.fact("kind", "subagent")
                    .fact("owner", owner.map(|owner| owner.handle))
                    .section("Who you are", &identity)
            }
        };
        let projects = self.store.projects(&self.reader.scope, None, MAX_ITEMS_LISTED).await?;
        let lines = projects.iter().map(|project| item(PageSubject::Project(project.id), &project.title, "")).collect();
        page = page
            .data("projects", project_list(&projects))
            .section("Your projects", &format!("{TITLES_NOTICE}\n\n{}", listed(lines, "You have no projects.")));
        let actions = self.permitted_actions(PageSubject::Whoami).await?;
        let lines = actions.iter().map(|action| {
            let (name, params, about) = (action.name(), action.params().0, action.description());
            format!("- `{name}({params})`: {about} POST {}\n", action.path())
        });
        let granted = agent
            .iter()
            .flat_map(|agent| &agent.actions)
            .filter(|name| !actions.iter().any(|action| action.name() == *name));
        let granted = granted.map(|name| self.granted_line(name));
        let lines = lines.chain(granted).collect();
        page = page.section("Your actions", &listed(lines, "You may only read."));
        if let Some(agent) = agent {
            page = page.fact("granted", agent.actions.clone());
            let pending = self.store.pending_lessons(agent.id).await?;
            page = self.scratchpad(page, agent.id).await?.fact("pending_lessons", pending);
        }
        Ok(page)
    }

    /// An action that was granted and is taken elsewhere.
    fn granted_line(&self, name: &str) -> String {
        let about = self.registry.find(name).map(|action| action.description).unwrap_or_default();
        match places_of(name, self.registry).as_slice() {
            [] => format!("- `{name}`: {about} When a run gives you work.\n"),
            places => format!("- `{name}`: {about} On the pages of {}.\n", places.join(", ")),
        }
    }

    async fn scratchpad(&self, page: Page, agent: engine::ids::ActorId) -> Result<Page, StoreError> {
        let pad = self.store.scratchpad(agent).await?;
        let (version, content) = pad.map_or((0, String::new()), |pad| (pad.version, pad.content));
        let characters = content.chars().count();
        let text = match content.is_empty() {
            true => EMPTY_PAD.to_owned(),
            false => format!(
                "Version {version}, {characters} of {MAX_SCRATCHPAD_CHARS} characters, as you left it:\n\n{}",
                quoted(&content)
            ),
        };
        let fact = json!({"version": version, "characters": characters, "content": content});
        Ok(page.data("scratchpad", fact).section("Your Scratchpad", &text))
    }

    async fn projects(&self) -> Result<Page, StoreError> {
        let mut projects = self.store.projects(&self.reader.scope, None, MAX_ITEMS_LISTED).await?;
        projects.retain(|project| !project.is_run_workspace());
        let lines = projects.iter().map(|project| item(PageSubject::Project(project.id), &project.title, "")).collect();
        let page = Page::new(200, PageSubject::Projects, "Projects").data("projects", project_list(&projects));
        Ok(page.paragraph(listed(lines, "There is no project that you may see.")))
    }

    async fn project(&self, id: ProjectId) -> Result<Option<Page>, StoreError> {
        let scope = &self.reader.scope;
        let Some(project) = self.store.project(scope, id).await? else { return Ok(None) };
        let of_project = DocumentFilter { project_id: Some(id), limit: MAX_ITEMS_LISTED, ..DocumentFilter::default() };
        let documents = self.store.documents(scope, of_project).await?;
        let of_project = TaskFilter { project_id: Some(id), limit: MAX_ITEMS_LISTED, ..TaskFilter::default() };
        let tasks = self.store.tasks(scope, of_project).await?;
        let document_items =
            documents.iter().map(|document| item(PageSubject::Document(document.id), &document.title, ""));
        let task_items = tasks.iter().map(|task| item(PageSubject::Task(task.id), &task.title, task.state.name()));
        let page = Page::new(200, PageSubject::Project(id), &project.title)
            .fact("kind", "project")
            .fact("id", id.to_string())
            .fact("version", project.version)
            .fact("updated_at", project.updated_at.to_string())
            .data("description", project.description.as_str())
            .fact("documents", document_items.len())
            .fact("tasks", task_items.len())
            .paragraph(QUOTED_NOTICE)
            .section("Description", &quoted(&project.description))
            .section("Documents", &listed(document_items.collect(), "There is no document here yet."))
            .section("Tasks", &listed(task_items.collect(), "There is no task here yet."));
        Ok(Some(page))
    }

    async fn document(&self, id: DocumentId, from: usize) -> Result<Option<Page>, StoreError> {
        let scope = &self.reader.scope;
        let Some(document) = self.store.document(scope, id).await? else { return Ok(None) };
        let characters = document.content.chars().count();
        let from = from.min(characters);
        let part: String = document.content.chars().skip(from).take(MAX_TEXT_CHARS).collect();
        let to = from + part.chars().count();
        let mut page = Page::new(200, PageSubject::Document(id), &document.title)
            .fact("kind", "document")
            .fact("id", id.to_string())
            .fact("type_key", document.type_key.as_str())
            .fact("project", PageSubject::Project(document.project_id).to_string())
            .fact("version", document.version)
            .fact("updated_at", document.updated_at.to_string())
            .fact("characters", characters)
            .data("content", part.as_str())
            .paragraph(QUOTED_NOTICE)
            .section("Text", &quoted(&part));
        if from > 0 || to < characters {
            page = page.paragraph(format!("Characters {from} to {to} of {characters} are shown."));
        }
        if to < characters {
            page = page.paragraph(format!("The text goes on at {}?from={to}.", PageSubject::Document(id)));
        }
        Ok(Some(page))
    }

    async fn task(&self, id: TaskId) -> Result<Option<Page>, StoreError> {
        let Some(task) = self.store.task(&self.reader.scope, id).await? else { return Ok(None) };
        let page = Page::new(200, PageSubject::Task(id), &task.title)
            .fact("kind", "task")
            .fact("id", id.to_string())
            .fact("state", task.state.name())
            .fact("project", PageSubject::Project(task.project_id).to_string())
            .fact("version", task.version)
            .fact("updated_at", task.updated_at.to_string())
            .data("description", task.description.as_str())
            .paragraph(QUOTED_NOTICE)
            .section("Description", &quoted(&task.description));
        Ok(Some(page))
    }

    async fn runs(&self) -> Result<Page, StoreError> {
        let filter = RunFilter { limit: MAX_ITEMS_LISTED, ..RunFilter::default() };
        let runs = self.store.runs(&self.reader.scope, filter).await?;
        let lines = runs.iter().map(|run| {
            let objective: String = run.objective.chars().take(120).collect();
            item(PageSubject::Run(run.id), &objective, &format!("{} {}", run.kind.name(), run.status.name()))
        });
        Ok(Page::new(200, PageSubject::Runs, "Runs")
            .paragraph(listed(lines.collect(), "There is no run that you may see.")))
    }

    async fn run(&self, id: RunId) -> Result<Option<Page>, StoreError> {
        let scope = &self.reader.scope;
        let Some(mut run) = self.store.run(scope, id).await? else { return Ok(None) };
        engine::report::refresh(&mut run);
        let title: String = engine::lines::lines(&run.objective).next().unwrap_or_default().chars().take(120).collect();
        let mut page = Page::new(200, PageSubject::Run(id), title)
            .fact("kind", run.kind.name())
            .fact("id", id.to_string())
            .fact("status", run.status.name())
            .fact("activity", run.activity.as_str())
            .fact("stop_reason", run.stop_reason.map(|reason| reason.name()))
            .fact("iteration", run.iteration)
            .fact("created_at", run.created_at.to_string())
            .fact("cost_usd", run.metrics.cost_known.then(|| run.metrics.cost_usd.dollars()))
            .paragraph(QUOTED_NOTICE)
            .section("Objective", &quoted(&run.objective));
        if let Some(agent) = &run.agent {
            page = page.fact("agent", agent.as_str());
            let steps = self.store.steps(scope, id).await?;
            let lines = steps.iter().map(|step| {
                let place = step.path.as_deref().or(step.message.as_deref()).unwrap_or_default();
                let name = step.action_name.as_deref().unwrap_or_default();
                format!("- {}. {} {} {}\n", step.step, step.action.name(), line(name), line(place))
            });
            page = page.section("Steps", &listed(lines.collect(), "It has not begun."));
        }
        if run.root_node_id.is_some() {
            let nodes = self.store.first_nodes(scope, id, MAX_NODES_LISTED).await?;
            page = page.fact("nodes", nodes.len()).section("Nodes", &nodes::outline(&nodes));
        }
        let open = run.questions.as_array().into_iter().flatten().filter(|question| question["answer"].is_null());
        let open: Vec<String> = open
            .map(|question| format!("- {} {}\n", line(question["id"].clone()), line(question["text"].clone())))
            .collect();
        if !open.is_empty() {
            page = page.section("Open questions", &open.concat());
        }
        if !run.report.is_null() {
            page = page.section("Report", &quoted(&engine::report::markdown(&run.report)));
        }
        Ok(Some(page))
    }
}

fn project_list(projects: &[engine::workspace::Project]) -> Value {
    let listed = |project: &engine::workspace::Project| json!({"path": PageSubject::Project(project.id).to_string(), "title": project.title});
    projects.iter().map(listed).collect()
}
