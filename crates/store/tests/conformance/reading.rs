//! Reading: only what is in scope at that moment, in a fixed order, and found by its words.

use crate::world::{World, document, document_as, fresh, rewrite, run_id, task};
use engine::actor::ActorKind;
use engine::ids::{ActorId, DocumentId, ProjectId};
use engine::role::Role;
use engine::run::{Command, Kind, Status};
use engine::time::Timestamp;
use engine::workspace::{ActorRecord, Scope, TaskState};
use runtime::ports::{DocumentFilter, HitKind, Library, Log, RunFilter, SearchFilter, Slice, StoreError, TaskFilter};
use serde_json::json;

crate::promises!(on [sqlite = Sqlite, inline = Inline, postgres = Postgres]: [
    what_is_out_of_scope_does_not_exist,
    a_revoked_membership_takes_effect_at_once,
    a_narrowed_scope_sees_only_its_projects,
    runs_are_listed_newest_first_and_filtered,
    documents_are_listed_without_their_text_and_without_the_platforms_own,
    h9_documents_of_a_run_are_found_by_what_it_stamped_on_them,
    tasks_are_filtered,
    notifications_are_their_owners,
    search_wants_every_term_and_takes_the_last_as_a_prefix,
    search_sees_title_and_text_of_documents_tasks_and_projects,
    search_follows_every_change,
    search_leaves_out_the_platforms_own_and_what_is_out_of_scope,
    no_query_reaches_a_grammar,
    actors_are_found_by_id_and_handle_and_handles_are_unique,
]);

async fn stranger(world: &World) -> ActorId {
    let id: ActorId = fresh();
    let record = ActorRecord {
        id,
        kind: ActorKind::Person,
        handle: format!("p-{id}"),
        name: "Stranger".into(),
        created_at: Timestamp(1),
    };
    world.store.create_actor(record).await.unwrap();
    id
}

async fn what_is_out_of_scope_does_not_exist(world: World) {
    let project = world.project("Oak").await;
    let ((doc, make_doc), (todo, make_task)) = (document(project, "Prices", "x"), task(project, "Call", ""));
    world.change(make_doc).await.unwrap();
    world.change(make_task).await.unwrap();
    let theirs = Scope::Actor(stranger(&world).await);
    assert!(world.store.project(&theirs, project).await.unwrap().is_none());
    assert!(world.store.projects(&theirs, None, 10).await.unwrap().is_empty());
    assert!(world.store.document(&theirs, doc).await.unwrap().is_none());
    assert!(world.store.versions(&theirs, doc, Slice::first(10)).await.unwrap().is_empty());
    assert!(world.store.entries(&theirs, doc, None, 10).await.unwrap().is_empty());
    assert!(world.store.task(&theirs, todo).await.unwrap().is_none());
    assert!(world.store.documents(&theirs, DocumentFilter::default()).await.unwrap().is_empty());
    assert!(world.store.tasks(&theirs, TaskFilter::default()).await.unwrap().is_empty());
    assert!(world.store.document(&Scope::Platform, doc).await.unwrap().is_some());
}

async fn a_revoked_membership_takes_effect_at_once(world: World) {
    let project = world.project("Oak").await;
    let (doc, make) = document(project, "Prices", "x");
    world.change(make).await.unwrap();
    let guest = stranger(&world).await;
    world.store.grant(project, guest, Role::Viewer).await.unwrap();
    assert!(world.store.document(&Scope::Actor(guest), doc).await.unwrap().is_some());
    assert!(world.store.revoke(project, guest).await.unwrap());
    assert!(world.store.document(&Scope::Actor(guest), doc).await.unwrap().is_none());
    assert!(!world.store.revoke(project, guest).await.unwrap(), "nothing left to revoke");
}

async fn a_narrowed_scope_sees_only_its_projects(world: World) {
    let (oak, ash) = (world.project("Oak").await, world.project("Ash").await);
    let ((in_oak, make_oak), (in_ash, make_ash)) = (document(oak, "A", ""), document(ash, "B", ""));
    world.change(make_oak).await.unwrap();
    world.change(make_ash).await.unwrap();
    let narrow = Scope::Within(world.me, vec![oak]);
    assert!(world.store.document(&narrow, in_oak).await.unwrap().is_some());
    assert!(world.store.document(&narrow, in_ash).await.unwrap().is_none());
    assert_eq!(world.store.projects(&narrow, None, 10).await.unwrap().len(), 1);
    assert!(world.store.projects(&Scope::Within(world.me, vec![]), None, 10).await.unwrap().is_empty());
    let theirs = Scope::Within(stranger(&world).await, vec![oak]);
    assert!(world.store.document(&theirs, in_oak).await.unwrap().is_none(), "naming a project gives no right to it");
}

async fn runs_are_listed_newest_first_and_filtered(world: World) {
    let (first, mut second, third) = (world.queued(&[]).await, world.queued(&[]).await, world.queued(&[]).await);
    let append = world.commanded(&mut second, Command::Cancel);
    world.store.append(append).await.unwrap();
    let listed = |filter: RunFilter| {
        let world = world.clone();
        async move {
            world.store.runs(&world.mine(), filter).await.unwrap().into_iter().map(|run| run.id).collect::<Vec<_>>()
        }
    };
    let (first, second, third) = (run_id(&first), run_id(&second), run_id(&third));
    assert_eq!(listed(RunFilter::default()).await, vec![third, second, first]);
    assert_eq!(listed(RunFilter { limit: 2, ..RunFilter::default() }).await, vec![third, second]);
    assert_eq!(listed(RunFilter { before: Some(second), ..RunFilter::default() }).await, vec![first]);
    assert_eq!(
        listed(RunFilter { status: Some(Status::Queued), kind: Some(Kind::Homework), ..RunFilter::default() }).await,
        vec![third, first]
    );
    assert_eq!(listed(RunFilter { text: Some("SUPPLIERS oa".into()), ..RunFilter::default() }).await.len(), 3);
    assert!(listed(RunFilter { text: Some("walnut".into()), ..RunFilter::default() }).await.is_empty());
}

async fn documents_are_listed_without_their_text_and_without_the_platforms_own(world: World) {
    let project = world.project("Oak").await;
    let mut run = world.queued(&[project]).await;
    let ((first, make_first), (second, make_second)) = (document(project, "A", "text"), document(project, "B", "text"));
    let plan: DocumentId = fresh();
    let make_plan = document_as(plan, project, "Plan", "", json!({"doc_role": "plan"}));
    world.change(make_first).await.unwrap();
    let append = world.with(&mut run, vec![make_second, make_plan]);
    world.store.append(append).await.unwrap();
    let listed = |filter: DocumentFilter| {
        let world = world.clone();
        async move { world.store.documents(&world.mine(), filter).await.unwrap() }
    };
    let all = listed(DocumentFilter::default()).await;
    assert_eq!(
        all.iter().map(|doc| (doc.id, doc.content.as_str())).collect::<Vec<_>>(),
        vec![(second, ""), (first, "")]
    );
    let of_run = listed(DocumentFilter { run_id: Some(run_id(&run)), ..DocumentFilter::default() }).await;
    assert_eq!(of_run.iter().map(|doc| doc.id).collect::<Vec<_>>(), vec![plan, second]);
    let by_type = listed(DocumentFilter { type_key: Some("document.note".into()), ..DocumentFilter::default() }).await;
    assert_eq!(by_type.len(), 3, "asking by type shows the platform's own");
    let by_role = listed(DocumentFilter { doc_role: Some("plan".into()), ..DocumentFilter::default() }).await;
    assert_eq!(by_role.iter().map(|doc| doc.id).collect::<Vec<_>>(), vec![plan], "and so does asking by role");
    assert!(
        listed(DocumentFilter { project_id: Some(fresh::<ProjectId>()), ..DocumentFilter::default() }).await.is_empty()
    );
}

async fn h9_documents_of_a_run_are_found_by_what_it_stamped_on_them(world: World) {
    let project = world.project("Oak").await;
    let mut run = world.queued(&[project]).await;
    let stamps = [
        json!({"iteration": 1, "branch_id": "b1"}),
        json!({"iteration": 1, "branch_id": "b2"}),
        json!({"iteration": 2, "branch_id": "b1", "doc_role": "scratchpad_exec"}),
        // These only look alike: the keys are nested, or the values have another type
        json!({"own": {"iteration": 2, "branch_id": "b1"}, "iteration": "2", "branch_id": 7}),
        json!({"iteration": 12, "branch_id": "b12"}),
    ];
    let ids: Vec<DocumentId> = stamps.iter().map(|_| fresh()).collect();
    let make = ids.iter().zip(&stamps).map(|(id, props)| document_as(*id, project, "D", "", props.clone()));
    let append = world.with(&mut run, make.collect());
    world.store.append(append).await.unwrap();
    let of_run = DocumentFilter { run_id: Some(run_id(&run)), ..DocumentFilter::default() };
    let branch = |id: &str| DocumentFilter { branch_id: Some(id.into()), ..of_run.clone() };
    let found = |filter: DocumentFilter| {
        let world = world.clone();
        async move {
            let found = world.store.documents(&world.mine(), filter).await.unwrap();
            found.into_iter().map(|document| document.id).collect::<Vec<_>>()
        }
    };
    assert_eq!(found(branch("b1")).await, vec![ids[2], ids[0]]);
    assert_eq!(found(DocumentFilter { iteration: Some(1), ..of_run.clone() }).await, vec![ids[1], ids[0]]);
    assert_eq!(found(DocumentFilter { iteration: Some(2), ..branch("b1") }).await, vec![ids[2]]);
    assert_eq!(found(DocumentFilter { doc_role: Some("scratchpad_exec".into()), ..branch("b1") }).await, vec![ids[2]]);
    assert!(found(DocumentFilter { doc_role: Some("plan".into()), ..branch("b1") }).await.is_empty());
    // The filter reads further pages when few documents of a page match
    assert_eq!(found(DocumentFilter { limit: 1, ..branch("b1") }).await, vec![ids[2]]);
    let next = DocumentFilter { limit: 1, before: Some(ids[2]), ..branch("b1") };
    assert_eq!(found(next).await, vec![ids[0]]);
    assert!(found(DocumentFilter { iteration: Some(3), limit: 2, ..of_run }).await.is_empty());
}

async fn tasks_are_filtered(world: World) {
    let project = world.project("Oak").await;
    let mut run = world.queued(&[project]).await;
    let ((_, by_hand), (by_run, make)) = (task(project, "A", ""), task(project, "B", ""));
    world.change(by_hand).await.unwrap();
    let append = world.with(&mut run, vec![make]);
    world.store.append(append).await.unwrap();
    let mine = world.mine();
    let todo = TaskFilter { state: Some(TaskState::Todo), project_id: Some(project), ..TaskFilter::default() };
    assert_eq!(world.store.tasks(&mine, todo).await.unwrap().len(), 2);
    let done = TaskFilter { state: Some(TaskState::Done), ..TaskFilter::default() };
    assert!(world.store.tasks(&mine, done).await.unwrap().is_empty());
    let of_run = TaskFilter { run_id: Some(run_id(&run)), ..TaskFilter::default() };
    assert_eq!(
        world.store.tasks(&mine, of_run).await.unwrap().iter().map(|task| task.id).collect::<Vec<_>>(),
        vec![by_run]
    );
}

async fn notifications_are_their_owners(world: World) {
    let mut run = world.queued(&[]).await;
    let append = world.commanded(&mut run, Command::Cancel);
    world.store.append(append).await.unwrap();
    let mine = world.store.notifications(&world.mine(), 10).await.unwrap();
    assert_eq!(
        mine.iter().map(|note| (note.run_id, note.kind.as_str())).collect::<Vec<_>>(),
        vec![(run_id(&run), "canceled")]
    );
    assert!(world.store.notifications(&Scope::Actor(fresh()), 10).await.unwrap().is_empty());
}

async fn found(world: &World, query: &str) -> Vec<uuid::Uuid> {
    world
        .store
        .search(&world.mine(), query, SearchFilter::default())
        .await
        .unwrap()
        .into_iter()
        .map(|hit| hit.id)
        .collect()
}

async fn search_wants_every_term_and_takes_the_last_as_a_prefix(world: World) {
    let project = world.project("Project").await;
    let (doc, make) = document(project, "Quarterly-report: Q3", "Наличие дуба, préséance of OAK_planks");
    world.change(make).await.unwrap();
    for query in ["report", "REPORT quarterly", "q3 oak plan", "дуба", "Наличие ду", "préséance", "planks oak"]
    {
        assert_eq!(found(&world, query).await, vec![doc.0], "{query}");
    }
    for query in ["reports", "quarter oak", "q3 walnut", "дубы", "presence", ""] {
        assert!(found(&world, query).await.is_empty(), "{query}");
    }
}

async fn search_sees_title_and_text_of_documents_tasks_and_projects(world: World) {
    let project = world.project("Birch forest").await;
    let ((doc, make_doc), (todo, make_task)) =
        (document(project, "Prices", "birch is cheap"), task(project, "Fell", "one birch"));
    world.change(make_doc).await.unwrap();
    world.change(make_task).await.unwrap();
    assert_eq!(found(&world, "birch").await, vec![todo.0, doc.0, project.0]);
    let mine = world.mine();
    let hits = world
        .store
        .search(&mine, "birch", SearchFilter { kinds: vec![HitKind::Task], ..SearchFilter::default() })
        .await
        .unwrap();
    assert_eq!((hits.len(), hits[0].kind, hits[0].excerpt.as_str()), (1, HitKind::Task, "one birch"));
    assert!(
        world
            .store
            .search(&mine, "birch", SearchFilter { project_id: Some(fresh()), ..SearchFilter::default() })
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(
        world
            .store
            .search(&mine, "birch", SearchFilter { project_id: Some(project), limit: 2, ..SearchFilter::default() })
            .await
            .unwrap()
            .len(),
        2
    );
}

async fn search_follows_every_change(world: World) {
    let project = world.project("Project").await;
    let (doc, make) = document(project, "Prices", "oak");
    world.change(make).await.unwrap();
    world.change(rewrite(doc, Some(1), "maple")).await.unwrap();
    assert!(found(&world, "oak").await.is_empty());
    assert_eq!(found(&world, "maple").await, vec![doc.0]);
}

async fn search_leaves_out_the_platforms_own_and_what_is_out_of_scope(world: World) {
    let project = world.project("Project").await;
    world.change(document_as(fresh(), project, "Plan", "oak", json!({"doc_role": "plan"}))).await.unwrap();
    let (doc, make) = document(project, "Prices", "oak");
    world.change(make).await.unwrap();
    assert_eq!(found(&world, "oak").await, vec![doc.0]);
    let theirs = Scope::Actor(stranger(&world).await);
    assert!(world.store.search(&theirs, "oak", SearchFilter::default()).await.unwrap().is_empty());
}

async fn no_query_reaches_a_grammar(world: World) {
    let project = world.project("Project").await;
    let (doc, make) = document(project, "Prices", "100% of a_b OR c NEAR d");
    world.change(make).await.unwrap();
    for query in ["'", "\"", "%", "_", "*", "a:*", "NEAR(", "') OR 1=1 --", "{", "\\", "^", "\0"] {
        found(&world, query).await;
    }
    assert_eq!(found(&world, "100% of").await, vec![doc.0]);
    assert!(found(&world, "x%").await.is_empty());
    assert_eq!(found(&world, "c NEAR d").await, vec![doc.0], "words are only words");
}

async fn actors_are_found_by_id_and_handle_and_handles_are_unique(world: World) {
    let id = stranger(&world).await;
    let found = world.store.actor(&id.to_string()).await.unwrap().unwrap();
    assert_eq!(world.store.actor(&found.handle).await.unwrap().unwrap().id, id);
    assert_eq!(world.store.actors(Slice::first(10)).await.unwrap().len(), 2);
    world.store.create_actor(found.clone()).await.unwrap();
    let imposter = ActorRecord { id: fresh(), ..found };
    assert!(matches!(world.store.create_actor(imposter).await, Err(StoreError::Unusable(_))));
    assert!(world.store.actor("nobody").await.unwrap().is_none());
}
