//! H9: one meaning of search, and the platform's own documents left out.

use crate::world::World;
use engine::ids::DocumentId;
use serde_json::json;

async fn found(world: &World, query: &str) -> usize {
    world.done("search_documents", json!({"query": query})).await["results"].as_array().expect("a list").len()
}

#[tokio::test]
async fn h9_all_terms_are_required_and_the_last_one_is_a_prefix() {
    let world = World::bound().await;
    world.document_in(world.home, 1, "Quarterly-report", "Budget, forecast and NOTES").await;
    for (query, hits) in [
        ("quarterly", 1),
        ("FORECAST budget", 1),
        ("budget fore", 1),
        ("fore budget", 0),
        ("budget missing", 0),
        ("\"quarterly\" OR *", 0),
        ("notes'; DROP TABLE onto_documents; --", 0),
        ("report:quarter", 1),
    ] {
        assert_eq!(found(&world, query).await, hits, "{query}");
    }
}

#[tokio::test]
async fn h9_the_platforms_documents_are_found_by_type_and_never_by_words() {
    let world = World::bound().await;
    assert_eq!(found(&world, "ledger").await, 0);
    assert_eq!(world.done("list_documents", json!({})).await["documents"], json!([]));
    let listed = world.done("list_documents", json!({"type_key": "document.homework.workspace"})).await;
    assert_eq!(listed["documents"][0]["id"], json!(world.workspace));
}

#[tokio::test]
async fn b10_finding_nothing_by_other_words_is_nothing_new() {
    // Given two searches that find nothing
    let world = World::bound().await;
    for tool in ["search", "search_documents"] {
        let first = world.done(tool, json!({"query": "unicorn"})).await;
        let second = world.done(tool, json!({"query": "griffin"})).await;
        // Then their results are equal, so the second is no new reading
        assert_eq!(engine::json::without_noise(&first), engine::json::without_noise(&second), "{tool}");
    }
}

#[tokio::test]
async fn b10_reading_the_platforms_documents_never_counts_as_news() {
    let world = World::bound().await;
    let own = world.document_in(world.home, 1, "Ours", "text").await;
    let reads = |document: DocumentId| world.outcome("get_document", json!({"document_id": document}));
    assert!(reads(own).await.result.expect("readable").read);
    let platform = reads(world.workspace).await.result.expect("readable");
    assert!(!platform.read && platform.content["platform"] == true);
}

#[tokio::test]
async fn a_search_finds_tasks_and_projects_too_and_says_when_there_is_more() {
    let world = World::global().await;
    for number in 0..3 {
        world.done("create_task", json!({"title": format!("Weed bed {number}")})).await;
    }
    let page = world.done("search", json!({"query": "weed", "limit": 2})).await;
    assert_eq!((page["results"].as_array().map(Vec::len), &page["more"]), (Some(2), &json!(true)));
    assert_eq!(page["results"][0]["kind"], "task");
    assert_eq!(world.done("search", json!({"query": "second"})).await["results"][0]["kind"], "project");
    let error = world.error("search", json!({"query": "…"})).await;
    assert!(error.contains("`query`"), "{error}");
}

#[tokio::test]
async fn r7_a_query_of_too_many_words_is_refused_with_the_limit() {
    let world = World::bound().await;
    for tool in ["search", "search_documents"] {
        let error = world.error(tool, json!({"query": "a ".repeat(40)})).await;
        assert!(error.contains("40 words; at most 32"), "{error}");
    }
}
