//! The list of models, and the model that is used when none was chosen.

use crate::harness::TestClient;
use effects::model::ProviderKind;
use simulation::scripted::{Script, Scripted};

#[tokio::test]
async fn a_provider_that_lists_one_model_needs_no_choice() {
    let server = Scripted::start().await;
    for kind in [ProviderKind::Openai, ProviderKind::Anthropic] {
        let client = TestClient::at(kind, &server.url());
        assert_eq!(client.gateway.list_models(kind.name()).await.unwrap(), ["scripted"]);
        assert_eq!(client.gateway.only_model(kind.name()).await.unwrap(), "scripted");
    }
}

#[tokio::test]
async fn without_a_choice_the_error_names_three_models() {
    let server = Scripted::start().await;
    server.play(Script::default().models(&["a", "b", "c", "d"]));
    let error = TestClient::at(ProviderKind::Openai, &server.url()).gateway.only_model("openai").await.unwrap_err();
    assert!(error.0.contains("openai/a, openai/b, openai/c") && !error.0.contains("openai/d"), "{error}");
    let error = TestClient::at(ProviderKind::Anthropic, "http://127.0.0.1:1")
        .gateway
        .only_model("anthropic")
        .await
        .unwrap_err();
    assert_eq!(error.0.matches("anthropic/claude-").count(), 3, "{error}");
}
