//! The mutations of writing tools: links, props, versions, and the same ids on every attempt.

use crate::fixture::Fixture;
use engine::effect::EffectId;
use engine::ids::DocumentId;
use engine::workspace::Mutation;
use serde_json::{Value, json};
use uuid::Uuid;

#[tokio::test]
async fn a_new_document_goes_to_the_runs_project_under_its_workspace_with_its_run_id() {
    let fixture = Fixture::bound().await;
    let made = fixture.done("create_document", json!({"title": " Findings ", "content": "# Text"})).await;
    let document = fixture.document(&made["id"]).await;
    assert_eq!(
        (document.title.as_str(), document.content.as_str(), document.project_id),
        ("Findings", "# Text", fixture.home)
    );
    assert_eq!(document.props, json!({"homework_run_id": fixture.run.run_id, "iteration": 3}));
    let edges = fixture.edges_to(&made["id"]).await;
    assert_eq!((edges[0].src, edges[0].rel.as_str()), (fixture.workspace.0, "document_has_document"));
    assert_eq!(edges[0].props["homework_run_id"], json!(fixture.run.run_id));
}

#[tokio::test]
async fn s4_a_parent_named_in_the_call_is_where_the_new_thing_links() {
    let fixture = Fixture::bound().await;
    let parent = fixture.document_in(fixture.home, 1, "Parent", "").await;
    let child =
        fixture.done("create_document", json!({"title": "Child", "content": "", "parent_document_id": parent})).await;
    assert_eq!(fixture.edges_to(&child["id"]).await[0].src, parent.0);
    let task =
        fixture.done("create_task", json!({"title": "Do", "parent_document_id": parent, "state": "blocked"})).await;
    let edges = fixture.edges_to(&task["id"]).await;
    assert_eq!(
        (edges[0].src, edges[0].rel.as_str(), &task["state"]),
        (parent.0, "document_has_task", &json!("blocked"))
    );
}

#[tokio::test]
async fn props_are_merged_and_the_platforms_keys_win() {
    let fixture = Fixture::bound().await;
    let props = json!({"topic": "soil", "homework_run_id": "mine", "iteration": 99});
    let made = fixture.done("create_document", json!({"title": "T", "content": "", "props": props})).await;
    let stamped = json!({"topic": "soil", "homework_run_id": fixture.run.run_id, "iteration": 3});
    assert_eq!(fixture.document(&made["id"]).await.props, stamped);

    let patch = json!({"topic": "water", "branch_id": "x", "homework_run_id": "y", "tags": ["a"]});
    fixture.done("update_document", json!({"document_id": made["id"], "props": patch})).await;
    let merged = json!({"topic": "water", "tags": ["a"], "homework_run_id": fixture.run.run_id, "iteration": 3});
    assert_eq!(fixture.document(&made["id"]).await.props, merged);

    for (tool, arguments) in [
        ("create_document", json!({"title": "T", "content": "", "props": {"doc_role": "plan"}})),
        ("create_task", json!({"title": "T", "props": {"doc_role": null}})),
        ("update_document", json!({"document_id": made["id"], "props": {"doc_role": "plan"}})),
    ] {
        let error = fixture.error(tool, arguments).await;
        assert!(error.contains("doc_role"), "{tool}: {error}");
    }
}

#[tokio::test]
async fn an_update_compares_versions_appends_and_keeps_the_rest() {
    let fixture = Fixture::bound().await;
    let document = fixture.document_in(fixture.home, 1, "Log", "one").await;
    let changed =
        fixture.done("update_document", json!({"document_id": document, "append": "two", "version": 1})).await;
    assert_eq!(changed["version"], 2);
    let read = fixture.done("get_document", json!({"document_id": document})).await;
    assert_eq!((&read["content"], &read["title"], &read["version"]), (&json!("one\ntwo"), &json!("Log"), &json!(2)));

    let error = fixture.error("update_document", json!({"document_id": document, "content": "x", "version": 1})).await;
    assert!(error.contains("at version 2") && error.contains("you gave version 1"), "{error}");
    let error = fixture.error("update_document", json!({"document_id": document, "content": "x", "append": "y"})).await;
    assert!(error.contains("not both"), "{error}");
    let error = fixture.error("update_document", json!({"document_id": document})).await;
    assert!(error.starts_with("nothing to change"), "{error}");

    let outcome = fixture.outcome("update_document", json!({"document_id": document, "content": "new"})).await;
    let [Mutation::UpdateDocument { expected_version, title, .. }] = outcome.mutations.as_slice() else {
        panic!("one update")
    };
    assert_eq!((*expected_version, title.as_deref()), (Some(2), Some("Log")), "named, and safe against others' edits");
}

#[tokio::test]
async fn b10_an_update_that_changes_nothing_asks_for_no_change() {
    let fixture = Fixture::bound().await;
    let document = fixture.document_in(fixture.home, 1, "Log", "one").await;
    let task = fixture.done("create_task", json!({"title": "Do"})).await;
    for (tool, arguments) in [
        ("update_document", json!({"document_id": document, "title": "Log", "content": "one"})),
        ("update_task", json!({"task_id": task["id"], "state": "todo"})),
        ("update_project", json!({"project_id": fixture.home, "title": "Home"})),
    ] {
        let outcome = fixture.outcome(tool, arguments).await;
        assert!(outcome.mutations.is_empty(), "{tool}");
        let output = outcome.result.expect("it is no error");
        assert!(output.content["unchanged"] == true && !output.read, "{tool}");
    }
}

#[tokio::test]
async fn the_platforms_documents_cannot_be_written_by_tools() {
    let fixture = Fixture::bound().await;
    let error = fixture.error("update_document", json!({"document_id": fixture.workspace, "append": "x"})).await;
    assert!(error.contains("belongs to the platform"), "{error}");
}

#[tokio::test]
async fn h9_the_platforms_types_cannot_be_taken_by_tools() {
    let fixture = Fixture::bound().await;
    for type_key in ["document.homework.plan", "document.tree_agent.scratchpad"] {
        let arguments = json!({"title": "Mine", "content": "x", "type_key": type_key});
        let error = fixture.error("create_document", arguments).await;
        assert!(error.contains(type_key) && error.contains("document.note"), "{error}");
    }
}

#[tokio::test]
async fn tasks_and_projects_are_updated_by_compare_and_swap_too() {
    let fixture = Fixture::bound().await;
    let task = fixture.done("create_task", json!({"title": "Do", "description": "d"})).await;
    let arguments = json!({"task_id": task["id"], "state": "done", "props": {"by": "me"}, "version": 1});
    fixture.done("update_task", arguments.clone()).await;
    let read = fixture.done("get_task", json!({"task_id": task["id"]})).await;
    assert_eq!(
        (&read["state"], &read["description"], &read["props"]["by"]),
        (&json!("done"), &json!("d"), &json!("me"))
    );
    assert!(fixture.error("update_task", arguments).await.contains("at version 2"));
    let arguments = json!({"project_id": fixture.home, "description": "About home", "version": 1});
    fixture.done("update_project", arguments.clone()).await;
    assert!(fixture.error("update_project", arguments).await.contains("at version 2"));
    let done = fixture.done("list_tasks", json!({"state": "done"})).await;
    assert_eq!(done["tasks"][0]["id"], task["id"]);
    assert_eq!(fixture.done("list_tasks", json!({"state": "todo"})).await["tasks"], json!([]));
}

#[tokio::test]
async fn two_things_are_linked_once_and_unlinked_by_the_edges_id() {
    let fixture = Fixture::bound().await;
    let from = fixture.document_in(fixture.home, 1, "From", "").await;
    let arguments = json!({"src_id": from, "dst_id": fixture.home, "rel": "belongs_to"});
    let linked = fixture.done("link_entities", arguments.clone()).await;
    let again = fixture.done("link_entities", arguments).await;
    assert_eq!((&again["edge_id"], &again["unchanged"]), (&linked["edge_id"], &json!(true)));
    fixture.done("unlink_entities", json!({"edge_id": linked["edge_id"]})).await;
    let error = fixture.error("unlink_entities", json!({"edge_id": linked["edge_id"]})).await;
    assert!(error.contains("not found in scope"), "{error}");
}

#[tokio::test]
async fn the_skeleton_of_the_workspace_cannot_be_unlinked() {
    let fixture = Fixture::bound().await;
    let (pad, edge) = (Uuid::from_u128(77), Uuid::from_u128(78));
    fixture.platform_document(DocumentId(pad), "document.homework.scratchpad.root", "scratchpad_root").await;
    let (project_id, src, rel) = (fixture.home, fixture.workspace.0, "document_has_document".to_owned());
    fixture.commit(vec![Mutation::Link { id: edge.into(), project_id, src, dst: pad, rel, props: json!({}) }]).await;
    let error = fixture.error("unlink_entities", json!({"edge_id": edge})).await;
    assert!(error.contains("belongs to the platform"), "{error}");
}

#[tokio::test]
async fn carrying_out_the_same_effect_again_asks_for_the_same_change() {
    let fixture = Fixture::bound().await;
    let call = fixture.request("create_document", json!({"title": "T", "content": "c"}));
    let carry_out = |effect: &'static str| {
        let effect = EffectId(effect.into());
        let (fixture, call) = (&fixture, &call);
        async move {
            fixture
                .registry
                .call(&*fixture.store, &fixture.run, call, &effect)
                .await
                .expect("the store answers")
                .mutations
        }
    };
    assert_eq!(carry_out("i1.t0").await, carry_out("i1.t0").await);
    assert_ne!(carry_out("i1.t0").await, carry_out("i1.t1").await);
}

#[tokio::test]
async fn titles_and_texts_have_limits() {
    let fixture = Fixture::bound().await;
    let create = |title: String, content: String| json!({"title": title, "content": content});
    fixture.done("create_document", create("t".repeat(500), "c".repeat(1_000_000))).await;
    let error = fixture.error("create_document", create("t".repeat(501), String::new())).await;
    assert!(error.contains("`title`") && error.contains("500"), "{error}");
    let error = fixture.error("create_document", create("t".into(), "c".repeat(1_000_001))).await;
    assert!(error.contains("`content`") && error.contains("1000001 characters") && error.len() < 500, "{error}");
    let full = fixture.document_in(fixture.home, 1, "Full", &"c".repeat(1_000_000)).await;
    let error = fixture.error("update_document", json!({"document_id": full, "append": "x"})).await;
    assert!(error.contains("at most 1000000"), "{error}");
    let many: Value = fixture.done("list_documents", json!({"limit": 5_000})).await;
    assert_eq!(many["more"], false);
}
