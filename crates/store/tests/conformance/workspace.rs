//! Workspace changes: they commit with their events or not at all, and never overwrite somebody else's edit.

use crate::world::{World, document, document_as, fresh, link, now, rewrite, run_id, task};
use engine::batch::EntryRow;
use engine::ids::{DocumentId, EdgeId};
use engine::workspace::{Mutation, Scope, TaskState};
use runtime::ports::{AppendError, DocumentFilter, EdgeFilter, Library, Log, SearchFilter, Slice};
use serde_json::json;

crate::promises!(on [sqlite = Sqlite, inline = Inline, postgres = Postgres]: [
    changes_commit_with_the_events_that_made_them,
    a_compare_and_swap_that_misses_rolls_back_the_whole_append,
    of_many_edits_of_one_version_one_wins,
    props_are_merged_and_never_replaced,
    every_version_says_which_event_wrote_it,
    a_document_made_and_changed_in_one_batch_is_both,
    x11_lists_come_in_parts_that_the_store_counts_off,
    creating_what_exists_is_a_conflict,
    the_platforms_own_documents_are_written_without_a_version,
    changing_what_is_not_there_is_a_conflict,
    tasks_and_projects_are_compared_and_swapped_too,
    edges_come_and_go,
    an_entry_is_written_exactly_once,
    a_scratchpad_is_its_entries,
    h12_every_entry_is_a_version_of_its_pad,
    h12_pads_and_plans_are_found_by_their_words_when_their_type_is_asked_for,
    invariant_20_entries_stay_in_order_and_are_paged_from_the_newest,
]);

async fn changes_commit_with_the_events_that_made_them(world: World) {
    let project = world.project("Oak").await;
    let mut run = world.queued(&[project]).await;
    let ((doc, make_doc), (todo, make_task)) =
        (document(project, "Prices", "oak: 12"), task(project, "Call", "the mill"));
    let append = world.with(&mut run, vec![make_doc, make_task]);
    world.store.append(append).await.unwrap();
    let found = world.store.document(&world.mine(), doc).await.unwrap().unwrap();
    assert_eq!((found.title.as_str(), found.content.as_str(), found.version), ("Prices", "oak: 12", 1));
    assert_eq!(world.store.task(&world.mine(), todo).await.unwrap().unwrap().description, "the mill");
}

async fn a_compare_and_swap_that_misses_rolls_back_the_whole_append(world: World) {
    let project = world.project("Oak").await;
    let mut run = world.queued(&[project]).await;
    let (doc, make) = document(project, "Prices", "one");
    world.change(make).await.unwrap();
    world.change(rewrite(doc, Some(1), "two, by a person")).await.unwrap();
    let (other, make_other) = document(project, "Other", "");
    let append = world.with(&mut run, vec![make_other, rewrite(doc, Some(1), "two, by a tool")]);
    assert_eq!(world.store.append(append).await, Err(AppendError::Conflict(doc.0)));
    assert_eq!(world.store.events(run_id(&run), 0, 10).await.unwrap().len(), 1);
    assert!(world.store.document(&Scope::Platform, other).await.unwrap().is_none());
    assert_eq!(world.store.document(&Scope::Platform, doc).await.unwrap().unwrap().content, "two, by a person");
}

async fn of_many_edits_of_one_version_one_wins(world: World) {
    let project = world.project("Oak").await;
    let (doc, make) = document(project, "Prices", "one");
    world.change(make).await.unwrap();
    let edits = (0..8).map(|n| {
        let world = world.clone();
        tokio::spawn(async move { world.change(rewrite(doc, Some(1), &format!("edit {n}"))).await })
    });
    let outcomes = futures::future::join_all(edits).await;
    assert_eq!(outcomes.iter().filter(|outcome| matches!(outcome, Ok(Ok(())))).count(), 1);
    assert_eq!(
        outcomes.iter().filter(|outcome| matches!(outcome, Ok(Err(AppendError::Conflict(id))) if *id == doc.0)).count(),
        7
    );
}

async fn props_are_merged_and_never_replaced(world: World) {
    let project = world.project("Oak").await;
    let doc: DocumentId = fresh();
    world.change(document_as(doc, project, "P", "", json!({"homework_run_id": "r1", "tags": ["a"]}))).await.unwrap();
    let props = Some(json!({"tags": ["b"], "note": null}));
    world
        .change(Mutation::UpdateDocument { id: doc, expected_version: Some(1), title: None, content: None, props })
        .await
        .unwrap();
    let found = world.store.document(&world.mine(), doc).await.unwrap().unwrap();
    assert_eq!(found.props, json!({"homework_run_id": "r1", "tags": ["b"], "note": null}));
}

async fn every_version_says_which_event_wrote_it(world: World) {
    let project = world.project("Oak").await;
    let mut run = world.queued(&[project]).await;
    let (doc, make) = document(project, "Prices", "one");
    let append = world.with(&mut run, vec![make]);
    world.store.append(append).await.unwrap();
    world.change(rewrite(doc, Some(1), &"two ".repeat(200))).await.unwrap();
    let append = world.with(&mut run, vec![rewrite(doc, Some(2), "three")]);
    world.store.append(append).await.unwrap();
    let versions = world.store.versions(&world.mine(), doc, Slice::first(10)).await.unwrap();
    let told: Vec<_> = versions.iter().map(|version| (version.version, version.run_id, version.seq)).collect();
    assert_eq!(told, vec![(3, Some(run_id(&run)), Some(3)), (2, None, None), (1, Some(run_id(&run)), Some(2))]);
    assert_eq!(versions[1].content, "two ".repeat(200));
}

async fn a_document_made_and_changed_in_one_batch_is_both(world: World) {
    let project = world.project("Oak").await;
    let mut run = world.queued(&[project]).await;
    let (doc, make) = document(project, "Prices", "one");
    let append = world.with(&mut run, vec![make, rewrite(doc, Some(1), "two"), rewrite(doc, None, "three")]);
    world.store.append(append).await.unwrap();
    let found = world.store.document(&world.mine(), doc).await.unwrap().unwrap();
    assert_eq!((found.version, found.content.as_str()), (3, "three"));
    assert_eq!(world.store.versions(&world.mine(), doc, Slice::first(10)).await.unwrap().len(), 3);
}

async fn x11_lists_come_in_parts_that_the_store_counts_off(world: World) {
    // Given five versions of a document, and four edges from it
    let project = world.project("Oak").await;
    let (doc, make) = document(project, "Prices", "one");
    world.change(make).await.unwrap();
    for version in 1..5 {
        world.change(rewrite(doc, Some(version), &format!("text {version}"))).await.unwrap();
        let (other, make) = document(project, "Other", "x");
        world.change(make).await.unwrap();
        world.change(link(project, doc.0, other.0)).await.unwrap();
    }
    let (mine, theirs) = (world.mine(), Scope::Actor(fresh()));
    // When they are read two at a time
    let mut versions = Vec::new();
    for _ in 0..3 {
        let slice = Slice { after: versions.last().copied(), limit: 2 };
        let part = world.store.versions(&mine, doc, slice).await.unwrap();
        assert!(part.len() <= 2);
        versions.extend(part.iter().map(|version| version.version));
    }
    let filter = EdgeFilter { src: Some(doc.0), ..EdgeFilter::default() };
    let first = world.store.edges(&mine, filter, Slice::first(3)).await.unwrap();
    let rest = world.store.edges(&mine, filter, Slice { after: Some(first[2].id), limit: 3 }).await.unwrap();
    // Then each comes once and in order, and only to those who may see the document
    assert_eq!(versions, [5, 4, 3, 2, 1]);
    assert_eq!((first.len(), rest.len()), (3, 1));
    assert!(first.iter().chain(&rest).map(|edge| edge.id).is_sorted());
    assert!(world.store.sees_document(&mine, doc).await.unwrap());
    assert!(!world.store.sees_document(&theirs, doc).await.unwrap());
    assert!(world.store.versions(&theirs, doc, Slice::first(2)).await.unwrap().is_empty());
}

async fn creating_what_exists_is_a_conflict(world: World) {
    let project = world.project("Oak").await;
    let mut run = world.queued(&[project]).await;
    let (doc, make) = document(project, "Prices", "one");
    let append = world.with(&mut run, vec![make.clone()]);
    world.store.append(append).await.unwrap();
    let append = world.with(&mut run, vec![make.clone()]);
    assert_eq!(world.store.append(append).await, Err(AppendError::Conflict(doc.0)));
    assert_eq!(world.change(make).await, Err(AppendError::Conflict(doc.0)));
}

async fn the_platforms_own_documents_are_written_without_a_version(world: World) {
    let project = world.project("Oak").await;
    let mut run = world.queued(&[project]).await;
    let doc: DocumentId = fresh();
    let append = world.with(&mut run, vec![document_as(doc, project, "Plan", "", json!({"doc_role": "plan"}))]);
    world.store.append(append).await.unwrap();
    for text in ["one", "two"] {
        let append = world.with(&mut run, vec![rewrite(doc, None, text)]);
        world.store.append(append).await.unwrap();
    }
    assert_eq!(world.store.document(&world.mine(), doc).await.unwrap().unwrap().version, 3);
}

async fn changing_what_is_not_there_is_a_conflict(world: World) {
    let doc: DocumentId = fresh();
    assert_eq!(world.change(rewrite(doc, None, "x")).await, Err(AppendError::Conflict(doc.0)));
}

async fn tasks_and_projects_are_compared_and_swapped_too(world: World) {
    let project = world.project("Oak").await;
    let (todo, make) = task(project, "Call", "");
    world.change(make).await.unwrap();
    let done = |expected_version| Mutation::UpdateTask {
        id: todo,
        expected_version,
        title: None,
        description: None,
        state: Some(TaskState::Done),
        props: Some(json!({"by": "phone"})),
    };
    world.change(done(1)).await.unwrap();
    assert_eq!(world.change(done(1)).await, Err(AppendError::Conflict(todo.0)));
    let found = world.store.task(&world.mine(), todo).await.unwrap().unwrap();
    assert_eq!((found.state, found.version, found.props), (TaskState::Done, 2, json!({"by": "phone"})));
    let rename = |expected_version| Mutation::UpdateProject {
        id: project,
        expected_version,
        title: Some("Ash".into()),
        description: None,
        props: Some(json!({"owner": "grove"})),
    };
    world.change(rename(1)).await.unwrap();
    assert_eq!(world.change(rename(1)).await, Err(AppendError::Conflict(project.0)));
    let found = world.store.project(&world.mine(), project).await.unwrap().unwrap();
    assert_eq!((found.title.as_str(), found.version, found.props), ("Ash", 2, json!({"owner": "grove"})));
    let more = Mutation::UpdateProject {
        id: project,
        expected_version: 2,
        title: None,
        description: None,
        props: Some(json!({"tree": "oak"})),
    };
    world.change(more).await.unwrap();
    let found = world.store.project(&world.mine(), project).await.unwrap().unwrap();
    assert_eq!(found.props, json!({"owner": "grove", "tree": "oak"}), "merged key by key");
}

async fn edges_come_and_go(world: World) {
    let project = world.project("Oak").await;
    let mut run = world.queued(&[project]).await;
    let ((a, make_a), (b, make_b)) = (document(project, "A", ""), document(project, "B", ""));
    let edge: EdgeId = fresh();
    let link = Mutation::Link {
        id: edge,
        project_id: project,
        src: a.0,
        dst: b.0,
        rel: "document_has_document".into(),
        props: json!({}),
    };
    let append = world.with(&mut run, vec![make_a, make_b, link]);
    world.store.append(append).await.unwrap();
    let mine = world.mine();
    assert_eq!(
        world
            .store
            .edges(&mine, EdgeFilter { src: Some(a.0), ..EdgeFilter::default() }, Slice::first(10))
            .await
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        world
            .store
            .edges(&mine, EdgeFilter { dst: Some(b.0), ..EdgeFilter::default() }, Slice::first(10))
            .await
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        world
            .store
            .edges(&mine, EdgeFilter { run_id: Some(run_id(&run)), ..EdgeFilter::default() }, Slice::first(10))
            .await
            .unwrap()
            .len(),
        1
    );
    assert_eq!(world.store.edge(&mine, edge).await.unwrap().unwrap().dst, b.0);
    world.change(Mutation::Unlink { id: edge }).await.unwrap();
    assert!(world.store.edge(&mine, edge).await.unwrap().is_none());
    world.change(Mutation::Unlink { id: edge }).await.unwrap();
}

fn entry(world_run: &engine::run::Run, document_id: DocumentId, key: &str, markdown: &str) -> EntryRow {
    EntryRow {
        document_id,
        key: key.into(),
        markdown: markdown.into(),
        run_id: run_id(world_run),
        seq: world_run.shared.last_seq,
        at: now(),
    }
}

/// A run with an empty scratchpad.
async fn with_pad(world: &World) -> (engine::run::Run, DocumentId) {
    let project = world.project("Oak").await;
    let mut run = world.queued(&[project]).await;
    let pad: DocumentId = fresh();
    let append =
        world.with(&mut run, vec![document_as(pad, project, "Pad", "", json!({"doc_role": "scratchpad_root"}))]);
    world.store.append(append).await.unwrap();
    (run, pad)
}

async fn noted(world: &World, run: &mut engine::run::Run, pad: DocumentId, notes: &[(&str, &str)]) {
    let mut append = world.said(run, "noted");
    append.rows.entries = notes.iter().map(|(key, text)| entry(run, pad, key, text)).collect();
    world.store.append(append).await.unwrap();
}

async fn an_entry_is_written_exactly_once(world: World) {
    let (mut run, pad) = with_pad(&world).await;
    noted(&world, &mut run, pad, &[("i1", "first")]).await;
    noted(&world, &mut run, pad, &[("i1", "again"), ("i2", "second")]).await;
    let entries = world.store.entries(&world.mine(), pad, None, 10).await.unwrap();
    let texts: Vec<_> = entries.iter().map(|entry| (entry.key.as_str(), entry.markdown.as_str())).collect();
    assert_eq!(texts, vec![("i2", "second"), ("i1", "first")]);
}

async fn a_scratchpad_is_its_entries(world: World) {
    let (mut run, pad) = with_pad(&world).await;
    assert_eq!(world.store.document(&world.mine(), pad).await.unwrap().unwrap().content, "");
    noted(&world, &mut run, pad, &[("i1", "# one"), ("i1b", "more")]).await;
    noted(&world, &mut run, pad, &[("i2", "# two")]).await;
    assert_eq!(world.store.document(&world.mine(), pad).await.unwrap().unwrap().content, "# one\n\nmore\n\n# two");
}

async fn h12_every_entry_is_a_version_of_its_pad(world: World) {
    let (mut run, pad) = with_pad(&world).await;
    noted(&world, &mut run, pad, &[("i1", "one")]).await;
    noted(&world, &mut run, pad, &[("i2", "two")]).await;
    assert_eq!(world.store.document(&world.mine(), pad).await.unwrap().unwrap().version, 3);
    let filter = DocumentFilter { doc_role: Some("scratchpad_root".into()), ..DocumentFilter::default() };
    assert_eq!(world.store.documents(&world.mine(), filter).await.unwrap()[0].version, 3);
}

async fn h12_pads_and_plans_are_found_by_their_words_when_their_type_is_asked_for(world: World) {
    // Given a pad with two entries, and a document of people with the same words
    let (mut run, pad) = with_pad(&world).await;
    noted(&world, &mut run, pad, &[("i1", "The Oak is\ntall"), ("i2", "the birch is white")]).await;
    let project = world.project("Elm").await;
    let (own, make) = document(project, "Trees", "oak and birch");
    world.change(make).await.unwrap();
    let pad_type = world.store.document(&world.mine(), pad).await.unwrap().unwrap().type_key;
    let search = async |type_key: Option<&str>, words: &str, scope: &Scope| -> Vec<runtime::ports::Hit> {
        let filter = SearchFilter { type_key: type_key.map(str::to_owned), ..SearchFilter::default() };
        world.store.search(scope, words, filter).await.unwrap()
    };
    // When its words are looked for in documents of its type, then it is found with the line that has them
    let mine = world.mine();
    let hits = search(Some("document.pad"), "white oak", &mine).await;
    let found: Vec<_> = search(Some(&pad_type), "oak whi", &mine).await;
    assert!(hits.is_empty(), "there is none of that type");
    assert!(found.iter().any(|hit| hit.id == pad.0 && hit.excerpt.starts_with("The Oak is")), "{found:?}");
    // And without the type, or for somebody else, it is not there
    assert_eq!(search(None, "birch", &mine).await.iter().map(|hit| hit.id).collect::<Vec<_>>(), [own.0]);
    assert!(search(Some(&pad_type), "oak", &Scope::Within(world.me, vec![])).await.is_empty());
}

async fn invariant_20_entries_stay_in_order_and_are_paged_from_the_newest(world: World) {
    let (mut run, pad) = with_pad(&world).await;
    for n in 1..=5 {
        noted(&world, &mut run, pad, &[(&format!("i{n}"), "text")]).await;
    }
    let newest = world.store.entries(&world.mine(), pad, None, 2).await.unwrap();
    assert_eq!(newest.iter().map(|entry| entry.key.as_str()).collect::<Vec<_>>(), vec!["i5", "i4"]);
    let older = world.store.entries(&world.mine(), pad, Some(newest[1].position), 10).await.unwrap();
    assert_eq!(older.iter().map(|entry| entry.key.as_str()).collect::<Vec<_>>(), vec!["i3", "i2", "i1"]);
}
