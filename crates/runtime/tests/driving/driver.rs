//! What a driver does when a commit fails: it never loses a paid answer and never acts twice on one.

use crate::fixture::{Fixture, LEASE, a_while};
use crate::performer::Scripted;
use engine::ids::{self, DocumentId, ProjectId};
use engine::run::{Kind, Status};
use engine::time::Timestamp;
use engine::workspace::{Change, Mutation, Scope};
use runtime::ports::{AppendError, Library, Log};
use serde_json::json;
use std::sync::Arc;
use store::SqlStore;

#[tokio::test(start_paused = true)]
async fn a_paid_answer_survives_a_database_outage() {
    let fixture = Fixture::new().await;
    let (run, performer) = (fixture.queue(Kind::Tree, 1).await, Scripted::finishing());
    let process = fixture.serve(performer.clone(), 1);
    performer.until_model_calls(1).await;
    fixture.log.set_away(true);
    performer.answer(1);
    a_while().await;
    assert!(!fixture.kinds(run).await.contains(&"effect.finished".to_owned()), "nothing could be committed");
    fixture.log.set_away(false);
    performer.answer_all();
    assert_eq!(process.settled(run).await.status, Status::Completed);
    assert!(performer.called_once_each());
    process.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_commit_whose_answer_was_lost_is_found_in_the_log_and_not_repeated() {
    let fixture = Fixture::new().await;
    let (run, performer) = (fixture.queue(Kind::Tree, 1).await, Scripted::finishing());
    let process = fixture.serve(performer.clone(), 1);
    performer.until_model_calls(1).await;
    fixture.log.lose_next_answer();
    performer.answer(1);
    performer.until_model_calls(2).await;
    let kinds = fixture.kinds(run).await;
    assert_eq!(kinds.iter().filter(|kind| *kind == "effect.finished").count(), 1, "{kinds:?}");
    performer.answer_all();
    assert_eq!(process.settled(run).await.status, Status::Completed);
    assert!(performer.called_once_each());
    process.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_append_refused_by_a_conflict_runs_the_tool_again_on_the_new_version() {
    let fixture = Fixture::new().await;
    let document = a_document(&fixture).await;
    let run = fixture.queue(Kind::Homework, 1).await;
    let performer = Scripted::rewriting(fixture.store.clone(), document);
    let (store, actor) = (fixture.store.clone(), fixture.actor());
    let process = fixture.serve(performer.clone(), 1);
    performer.until_model_calls(1).await;
    fixture.log.before_next_append(move || async move {
        let rewrite = rewrite(document, "somebody's");
        store.change(vec![Change { mutation: rewrite, actor, seq: 0 }]).await.expect("changed");
    });
    performer.answer(1);
    // The next planner call is not answered: by then the tool's change is committed.
    performer.until_model_calls(2).await;
    assert_eq!(performer.tool_calls(), 2, "once on the old version and once on the new");
    assert_eq!(content(&fixture.store, document).await, "somebody's and the run's");
    let kinds = fixture.kinds(run).await;
    assert_eq!(kinds.iter().filter(|kind| *kind == "homework.tool_call_result").count(), 1, "{kinds:?}");
    process.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_lost_its_lease_commits_nothing() {
    let fixture = Fixture::new().await;
    let (run, performer) = (fixture.queue(Kind::Tree, 1).await, Scripted::finishing());
    let process = fixture.serve(performer.clone(), 1);
    performer.until_model_calls(1).await;
    // The process cannot renew its lease, and another worker takes the run.
    fixture.log.set_away(true);
    tokio::time::sleep(LEASE * 2).await;
    let taken = fixture.claim_elsewhere().await;
    assert_eq!(taken.iter().map(|lease| lease.run_id).collect::<Vec<_>>(), [run]);
    let before = fixture.kinds(run).await;
    fixture.log.set_away(false);
    performer.answer(1);
    a_while().await;
    assert_eq!(fixture.kinds(run).await, before);
    assert_eq!(performer.model_calls(), 1, "it did not begin again either");
    assert!(fixture.store.renew(&taken, LEASE).await.unwrap().is_empty(), "the other worker still has it");
    process.stop().await;
}

async fn a_document(fixture: &Fixture) -> DocumentId {
    let derive = |name: &[u8]| ids::derive(Timestamp(1_790_000_000_000), &[name]);
    let (project, document) = (ProjectId(derive(b"project")), DocumentId(derive(b"document")));
    let made = [
        Mutation::CreateProject {
            id: project,
            title: "Oak".into(),
            description: String::new(),
            props: json!({}),
            owner: fixture.owner,
        },
        Mutation::CreateDocument {
            id: document,
            project_id: project,
            title: "Suppliers".into(),
            type_key: "document.note".into(),
            content: "the first".into(),
            props: json!({}),
        },
    ];
    for mutation in made {
        let changed: Result<(), AppendError> =
            fixture.store.change(vec![Change { mutation, actor: fixture.actor(), seq: 0 }]).await;
        changed.expect("made");
    }
    document
}

fn rewrite(id: DocumentId, content: &str) -> Mutation {
    Mutation::UpdateDocument { id, expected_version: None, title: None, content: Some(content.into()), props: None }
}

async fn content(store: &Arc<SqlStore>, id: DocumentId) -> String {
    store.document(&Scope::Platform, id).await.expect("readable").expect("it exists").content
}
