//! P8 and H8: what a run may see and change, checked at the moment of the call.

use crate::fixture::Fixture;
use engine::member_role::MemberRole;
use engine::workspace::Scope;
use serde_json::json;
use uuid::Uuid;

#[tokio::test]
async fn p8_a_project_outside_the_scope_is_refused_with_a_list_of_the_scope() {
    let fixture = Fixture::bound().await;
    let unknown = Uuid::from_u128(999);
    for outside in [fixture.second.0, fixture.foreign.0, unknown] {
        for (tool, arguments) in [
            ("get_project", json!({"project_id": outside})),
            ("list_documents", json!({"project_id": outside})),
            ("list_tasks", json!({"project_id": outside})),
            ("search_documents", json!({"query": "x", "project_id": outside})),
            ("create_document", json!({"title": "T", "content": "", "project_id": outside})),
            ("create_task", json!({"title": "T", "project_id": outside})),
            ("update_project", json!({"project_id": outside, "title": "T"})),
        ] {
            let error = fixture.error(tool, arguments).await;
            let expected = format!("project {outside} is outside the scope; projects in scope: {}", fixture.home);
            assert_eq!(error, expected, "{tool}");
        }
    }
}

#[tokio::test]
async fn p8_a_foreign_document_and_an_unknown_one_are_the_same_error() {
    let fixture = Fixture::bound().await;
    let known = fixture.document_in(fixture.home, 1, "Ours", "…").await;
    let foreign = fixture.document_in(fixture.foreign, 2, "Theirs", "…").await;
    let other = fixture.document_in(fixture.second, 3, "Elsewhere", "…").await;
    let unknown = Uuid::from_u128(999);
    for hidden in [foreign.0, other.0, unknown] {
        for (tool, arguments) in [
            ("get_document", json!({"document_id": hidden})),
            ("update_document", json!({"document_id": hidden, "append": "x"})),
            ("create_document", json!({"title": "T", "content": "", "parent_document_id": hidden})),
        ] {
            let expected = format!("document {hidden} not found in scope; newest valid ids: {known}");
            assert_eq!(fixture.error(tool, arguments).await, expected, "{tool}");
        }
        let error = fixture.error("link_entities", json!({"src_id": known, "dst_id": hidden, "rel": "supports"})).await;
        assert!(error.starts_with(&format!("{hidden} not found among")), "{error}");
        let error = fixture.error("get_task", json!({"task_id": hidden})).await;
        assert_eq!(error, format!("task {hidden} not found in scope; there is no task yet"));
    }
}

#[tokio::test]
async fn p8_lists_and_searches_stay_inside_the_scope() {
    let mut fixture = Fixture::bound().await;
    fixture.document_in(fixture.home, 1, "Harvest plan", "apples").await;
    fixture.document_in(fixture.second, 2, "Harvest budget", "apples").await;
    fixture.document_in(fixture.foreign, 3, "Harvest secret", "apples").await;
    let titles = |found: &serde_json::Value, list: &str| {
        let items = found[list].as_array().expect("a list").iter();
        items.map(|item| item["title"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(titles(&fixture.done("list_documents", json!({})).await, "documents"), ["Harvest plan"]);
    assert_eq!(titles(&fixture.done("search", json!({"query": "apples"})).await, "results"), ["Harvest plan"]);
    assert_eq!(titles(&fixture.done("list_projects", json!({})).await, "projects"), ["Home"]);

    fixture.run.scope = Scope::Actor(fixture.owner);
    let mut found = titles(&fixture.done("search_documents", json!({"query": "apples"})).await, "results");
    found.sort();
    assert_eq!(found, ["Harvest budget", "Harvest plan"], "global scope is what the owner may access, no more");
}

#[tokio::test]
async fn p8_projects_are_created_only_with_global_scope() {
    let error = Fixture::bound().await.error("create_project", json!({"title": "New"})).await;
    assert!(error.contains("only some projects may be used"), "{error}");
    let fixture = Fixture::global().await;
    let made = fixture.done("create_project", json!({"title": " New ", "description": "d"})).await;
    let read = fixture.done("get_project", json!({"project_id": made["id"]})).await;
    assert_eq!((&read["title"], &read["description"]), (&json!("New"), &json!("d")), "its owner is a member at once");
}

#[tokio::test]
async fn h8_access_revoked_in_the_middle_of_a_run_is_refused_at_the_next_call() {
    let fixture = Fixture::bound().await;
    let document = fixture.document_in(fixture.home, 1, "Ours", "text").await;
    fixture.done("get_document", json!({"document_id": document})).await;
    assert!(fixture.store.revoke(fixture.home, fixture.owner).await.expect("revoked"));
    let error = fixture.error("get_document", json!({"document_id": document})).await;
    assert!(error.contains("not found in scope"), "{error}");
    let error = fixture.error("create_document", json!({"title": "T", "content": ""})).await;
    assert_eq!(error, format!("project {} not found; projects that may be used here: ", fixture.home));
    fixture.store.grant(fixture.home, fixture.owner, MemberRole::Owner).await.expect("granted");
    fixture.done("create_document", json!({"title": "T", "content": ""})).await;
}

#[tokio::test]
async fn x1_a_viewer_is_refused_by_every_writing_tool_and_reads_on() {
    let fixture = Fixture::global().await;
    let (theirs, mine) = (
        fixture.document_in(fixture.foreign, 1, "Theirs", "t").await,
        fixture.document_in(fixture.second, 2, "Mine", "m").await,
    );
    fixture.store.grant(fixture.foreign, fixture.owner, MemberRole::Viewer).await.expect("granted");
    fixture.done("get_document", json!({"document_id": theirs})).await;
    let foreign = fixture.foreign;
    for (tool, arguments) in [
        ("create_document", json!({"title": "T", "content": "", "project_id": foreign})),
        ("create_task", json!({"title": "T", "project_id": foreign})),
        ("update_document", json!({"document_id": theirs, "append": "x"})),
        ("update_project", json!({"project_id": foreign, "title": "T"})),
        ("link_entities", json!({"src_id": theirs, "dst_id": mine, "rel": "cites"})),
    ] {
        let error = fixture.error(tool, arguments).await;
        assert!(error.starts_with("viewer_only: project \"Foreign\""), "{tool}: {error}");
    }
    // A document elsewhere may link to one that may only be read
    fixture.done("link_entities", json!({"src_id": mine, "dst_id": theirs, "rel": "cites"})).await;
    fixture.store.set_role(foreign, fixture.owner, MemberRole::Editor).await.expect("an editor");
    fixture.done("update_document", json!({"document_id": theirs, "append": "x"})).await;
}
