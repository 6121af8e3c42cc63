//! H9: search has one meaning, and leaves out the platform's own documents.

use crate::fixture::Fixture;
use engine::ids::DocumentId;
use serde_json::json;

async fn found(fixture: &Fixture, query: &str) -> usize {
    fixture.done("search_documents", json!({"query": query})).await["results"].as_array().expect("a list").len()
}

#[tokio::test]
async fn h9_all_terms_are_required_and_the_last_one_is_a_prefix() {
    let fixture = Fixture::bound().await;
    fixture.document_in(fixture.home, 1, "Quarterly-report", "Budget, forecast and NOTES").await;
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
        assert_eq!(found(&fixture, query).await, hits, "{query}");
    }
}

#[tokio::test]
async fn h9_the_platforms_documents_are_found_by_type_and_never_by_words() {
    let fixture = Fixture::bound().await;
    assert_eq!(found(&fixture, "ledger").await, 0);
    assert_eq!(fixture.done("list_documents", json!({})).await["documents"], json!([]));
    let listed = fixture.done("list_documents", json!({"type_key": "document.homework.workspace"})).await;
    assert_eq!(listed["documents"][0]["id"], json!(fixture.workspace));
}

#[tokio::test]
async fn b10_another_search_without_results_is_no_progress() {
    // Given two searches that find nothing
    let fixture = Fixture::bound().await;
    for tool in ["search", "search_documents"] {
        let first = fixture.done(tool, json!({"query": "unicorn"})).await;
        let second = fixture.done(tool, json!({"query": "griffin"})).await;
        // Then neither shows anything, so neither is a new reading
        for result in [first, second] {
            assert_eq!(engine::sightings::shown(&result), [], "{tool}");
        }
    }
}

#[tokio::test]
async fn b10_reading_the_platforms_documents_is_no_progress() {
    let fixture = Fixture::bound().await;
    let own = fixture.document_in(fixture.home, 1, "Ours", "text").await;
    let reads = |document: DocumentId| fixture.outcome("get_document", json!({"document_id": document}));
    assert!(reads(own).await.result.expect("readable").read);
    let platform = reads(fixture.workspace).await.result.expect("readable");
    assert!(!platform.read && platform.content["platform"] == true);
}

#[tokio::test]
async fn a_search_finds_tasks_and_projects_too_and_says_when_there_is_more() {
    let fixture = Fixture::global().await;
    for number in 0..3 {
        fixture.done("create_task", json!({"title": format!("Weed bed {number}")})).await;
    }
    let page = fixture.done("search", json!({"query": "weed", "limit": 2})).await;
    assert_eq!((page["results"].as_array().map(Vec::len), &page["more"]), (Some(2), &json!(true)));
    assert_eq!(page["results"][0]["kind"], "task");
    assert_eq!(fixture.done("search", json!({"query": "second"})).await["results"][0]["kind"], "project");
    let error = fixture.error("search", json!({"query": "…"})).await;
    assert!(error.contains("`query`"), "{error}");
}

#[tokio::test]
async fn r7_a_query_of_too_many_words_is_refused_with_the_limit() {
    let fixture = Fixture::bound().await;
    for tool in ["search", "search_documents"] {
        let error = fixture.error(tool, json!({"query": "a ".repeat(40)})).await;
        assert!(error.contains("40 words; at most 32"), "{error}");
    }
}
