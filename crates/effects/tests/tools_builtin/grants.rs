//! The built-in tools, and who may call them.

use crate::fixture::Fixture;
use effects::tools::Registry;
use serde_json::json;

const READS: &str = "get_document get_project get_task list_documents list_projects list_tasks search search_documents";
const WRITES: &str = "create_document create_project create_task link_entities unlink_entities update_document \
    update_project update_task";

#[test]
fn the_registry_has_the_tools_of_the_contract_and_no_others() {
    let catalogue = Registry::builtin().catalogue();
    let named = |read: bool| {
        let mut names: Vec<&str> =
            catalogue.iter().filter(|tool| tool.read == read).map(|tool| tool.name.as_str()).collect();
        names.sort_unstable();
        names.join(" ")
    };
    assert_eq!(named(true), READS);
    assert_eq!(named(false), WRITES);
}

#[test]
fn a_catalogue_entry_names_each_argument_its_type_and_whether_it_is_optional() {
    let catalogue = Registry::builtin().catalogue();
    let create = catalogue.iter().find(|tool| tool.name == "create_document").expect("there");
    assert_eq!(
        create.arguments,
        "title: 1-500 characters, content: up to 1000000 characters, project_id?: uuid, parent_document_id?: uuid, \
         type_key?: dotted lower-case words, props?: object"
    );
}

#[test]
fn every_schema_is_a_closed_object_whose_required_arguments_exist() {
    for action in Registry::builtin().list() {
        let schema = action.schema();
        assert_eq!(
            (&schema["type"], &schema["additionalProperties"]),
            (&json!("object"), &json!(false)),
            "{}",
            action.name
        );
        for name in schema["required"].as_array().expect("a list") {
            assert!(schema["properties"].get(name.as_str().expect("a name")).is_some(), "{}: {name}", action.name);
        }
    }
}

#[tokio::test]
async fn an_unknown_tool_is_an_error_that_lists_the_valid_ones() {
    let error = Fixture::bound().await.error("delete_everything", json!({})).await;
    assert!(error.starts_with("unknown_tool:") && error.contains("delete_everything"), "{error}");
    assert!(READS.split(' ').chain(WRITES.split(' ')).all(|name| error.contains(name)), "{error}");
}

#[tokio::test]
async fn h3_a_tool_that_was_not_granted_is_refused_and_the_granted_ones_are_listed() {
    let mut fixture = Fixture::bound().await;
    fixture.granted = vec!["get_document".into(), "search".into()];
    let error = fixture.error("create_document", json!({"title": "T", "content": ""})).await;
    assert!(
        error.starts_with("tool_not_granted:") && error.ends_with("granted tools: get_document, search"),
        "{error}"
    );
    let error = fixture.error("nonsense", json!({})).await;
    assert!(error.ends_with("valid tools: get_document, search"), "only granted tools are listed: {error}");
}
