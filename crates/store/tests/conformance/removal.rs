//! Deletion: what is deleted, what is deleted with it, and what stays.

use crate::world::{World, document, document_as, fresh, link, rewrite, run_id, task};
use engine::ids::{DocumentId, RunId, TaskId};
use engine::run::Command;
use engine::workspace::Scope;
use runtime::ports::{EdgeFilter, Library, Log, RunFilter, SearchFilter, Slice};
use serde_json::json;
use store::Removed;

crate::promises!(on [sqlite = Sqlite, inline = Inline, postgres = Postgres]: [
    a_document_or_task_goes_with_its_versions_and_edges,
    a_project_goes_with_everything_in_it_once_no_run_needs_it,
    a_run_goes_when_it_has_ended_with_its_own_documents_and_leaves_peoples,
    lists_and_searches_go_on_after_a_cursor,
]);

async fn a_document_or_task_goes_with_its_versions_and_edges(world: World) {
    let project = world.project("Oak").await;
    let ((doc, make), (todo, make_task)) = (document(project, "Prices", "oak"), task(project, "Call", "oak"));
    world.change(make).await.unwrap();
    world.change(make_task).await.unwrap();
    world.change(rewrite(doc, Some(1), "birch")).await.unwrap();
    world.change(link(project, doc.0, todo.0)).await.unwrap();
    assert_eq!(world.store.remove_document(doc).await.unwrap(), Removed::Done);
    assert_eq!(world.store.remove_document(doc).await.unwrap(), Removed::Gone);
    assert!(world.store.document(&Scope::Platform, doc).await.unwrap().is_none());
    assert!(world.store.versions(&Scope::Platform, doc, Slice::first(10)).await.unwrap().is_empty());
    assert!(
        world
            .store
            .edges(&Scope::Platform, EdgeFilter { src: Some(doc.0), ..EdgeFilter::default() }, Slice::first(10))
            .await
            .unwrap()
            .is_empty()
    );
    assert!(world.store.search(&world.mine(), "birch", SearchFilter::default()).await.unwrap().is_empty());
    assert_eq!(world.store.remove_task(todo).await.unwrap(), Removed::Done);
    assert_eq!(world.store.remove_task(fresh::<TaskId>()).await.unwrap(), Removed::Gone);
}

async fn a_project_goes_with_everything_in_it_once_no_run_needs_it(world: World) {
    let (project, other) = (world.project("Oak").await, world.project("Elm").await);
    let ((doc, make), (kept, make_kept)) = (document(project, "Prices", "oak"), document(other, "Kept", "elm"));
    world.change(make).await.unwrap();
    world.change(make_kept).await.unwrap();
    world.change(link(other, kept.0, doc.0)).await.unwrap();
    let mut run = world.queued(&[project]).await;
    assert_eq!(world.store.remove_project(project).await.unwrap(), Removed::Needed);
    assert!(world.store.document(&world.mine(), doc).await.unwrap().is_some(), "nothing was removed");
    let cancel = world.commanded(&mut run, Command::Cancel);
    world.store.append(cancel).await.unwrap();
    assert_eq!(world.store.remove_run(run_id(&run)).await.unwrap(), Removed::Done);
    assert_eq!(world.store.remove_project(project).await.unwrap(), Removed::Done);
    assert_eq!(world.store.remove_project(project).await.unwrap(), Removed::Gone);
    assert!(world.store.document(&Scope::Platform, doc).await.unwrap().is_none());
    assert!(
        world
            .store
            .edges(&Scope::Platform, EdgeFilter { dst: Some(doc.0), ..EdgeFilter::default() }, Slice::first(10))
            .await
            .unwrap()
            .is_empty()
    );
    assert!(world.store.members(project, world.now()).await.unwrap().is_empty());
    assert!(world.store.document(&world.mine(), kept).await.unwrap().is_some());
}

async fn a_run_goes_when_it_has_ended_with_its_own_documents_and_leaves_peoples(world: World) {
    let project = world.project("Oak").await;
    let mut run = world.queued(&[project]).await;
    let (pad, (made, make)) = (fresh::<DocumentId>(), document(project, "Prices", "oak"));
    let own = document_as(pad, project, "Pad", "", json!({"doc_role": "scratchpad_root"}));
    let append = world.with(&mut run, vec![own, make]);
    world.store.append(append).await.unwrap();
    assert_eq!(world.store.remove_run(run_id(&run)).await.unwrap(), Removed::Needed);
    let cancel = world.commanded(&mut run, Command::Cancel);
    world.store.append(cancel).await.unwrap();
    assert_eq!(world.store.remove_run(run_id(&run)).await.unwrap(), Removed::Done);
    assert!(world.store.run(&Scope::Platform, run_id(&run)).await.unwrap().is_none());
    assert!(world.store.events(run_id(&run), 0, 10).await.unwrap().is_empty());
    assert!(world.store.runs(&world.mine(), RunFilter::default()).await.unwrap().is_empty());
    assert!(world.store.document(&Scope::Platform, pad).await.unwrap().is_none());
    assert!(world.store.document(&Scope::Platform, made).await.unwrap().is_some(), "what was made for people stays");
    assert_eq!(world.store.remove_run(fresh::<RunId>()).await.unwrap(), Removed::Gone);
}

async fn lists_and_searches_go_on_after_a_cursor(world: World) {
    let mut projects = Vec::new();
    for number in 0..3 {
        projects.push(world.project(&format!("Oak {number}")).await);
    }
    projects.sort();
    let older = world.store.projects(&world.mine(), Some(projects[2]), 1).await.unwrap();
    assert_eq!(older.iter().map(|project| project.id).collect::<Vec<_>>(), [projects[1]]);
    let filter = SearchFilter { before: Some(projects[1].0), ..SearchFilter::default() };
    let hits = world.store.search(&world.mine(), "oak", filter).await.unwrap();
    assert_eq!(hits.iter().map(|hit| hit.id).collect::<Vec<_>>(), [projects[0].0]);
}
