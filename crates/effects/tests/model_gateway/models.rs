//! Which models there are, and which one is meant when nobody said.

use crate::harness::Asked;
use effects::model::ProviderKind;
use simulation::scripted::{Script, Scripted};

#[tokio::test]
async fn a_provider_that_lists_one_model_needs_no_choice() {
    let server = Scripted::start().await;
    for kind in [ProviderKind::Openai, ProviderKind::Anthropic] {
        let asked = Asked::at(kind, &server.url());
        assert_eq!(asked.gateway.list_models(kind.name()).await.unwrap(), ["scripted"]);
        assert_eq!(asked.gateway.only_model(kind.name()).await.unwrap(), "scripted");
    }
}

#[tokio::test]
async fn otherwise_the_error_names_three() {
    let server = Scripted::start().await;
    server.play(Script::default().models(&["a", "b", "c", "d"]));
    let error = Asked::at(ProviderKind::Openai, &server.url()).gateway.only_model("openai").await.unwrap_err();
    assert!(error.0.contains("openai/a, openai/b, openai/c") && !error.0.contains("openai/d"), "{error}");
    let error =
        Asked::at(ProviderKind::Anthropic, "http://127.0.0.1:1").gateway.only_model("anthropic").await.unwrap_err();
    assert_eq!(error.0.matches("anthropic/claude-").count(), 3, "{error}");
}
