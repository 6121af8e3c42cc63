//! A subagent's calls within a run: owner, run and grants limit its scope at the moment of the call.

use crate::fixture::Fixture;
use effects::tools::{ActionError, Registry, agent_scope};
use engine::effect::{EffectId, ExternalTool, RepeatSafety, ToolCall};
use engine::ids::ActorId;
use engine::lessons;
use engine::member_role::MemberRole;
use engine::time::Timestamp;
use engine::workspace::{Mutation, Scope};
use runtime::agents::AgentRecord;
use runtime::ports::Library;
use serde_json::{Value, json};
use uuid::Uuid;

async fn scout(fixture: &Fixture, owner: ActorId, actions: &[&str]) -> ActorId {
    let id = ActorId(Uuid::from_u128(77));
    let agent = AgentRecord {
        id,
        handle: "scout".into(),
        name: "scout".into(),
        owner,
        identity: String::new(),
        actions: actions.iter().map(|name| (*name).to_owned()).collect(),
        model: None,
        version: 1,
        created_at: Timestamp(0),
        updated_at: Timestamp(0),
    };
    fixture.store.create_agent(agent).await.expect("an agent");
    id
}

fn call_of(fixture: &Fixture, agent: ActorId, tool: &str, arguments: Value) -> ToolCall {
    ToolCall { agent: Some(agent), ..fixture.request(tool, arguments) }
}

/// The scope of the call, or why it is refused.
async fn scope_of(fixture: &Fixture, call: &ToolCall) -> Result<Scope, String> {
    match agent_scope(&*fixture.store, &fixture.registry, &fixture.run, call, call.agent.expect("a subagent")).await {
        Ok(run) => Ok(run.scope),
        Err(ActionError::Refused(why)) => Err(why),
        Err(ActionError::Store(error)) => panic!("{error}"),
    }
}

#[tokio::test]
async fn h8_a_subagent_reads_and_takes_granted_actions_and_others_are_refused() {
    let fixture = Fixture::global().await;
    let agent = scout(&fixture, fixture.owner, &["create_document"]).await;
    let scope_for = |tool: &'static str| scope_of_tool(&fixture, agent, tool);
    for open in ["list_documents", "create_document", "add_lesson", "no_such_tool"] {
        assert!(scope_for(open).await.is_ok(), "{open}");
    }
    let why = scope_for("create_task").await.expect_err("it was not granted");
    assert!(why.contains("create_task was not granted to scout") && why.contains("create_document"), "{why}");
    // Tools of toolboxes cannot be granted: only those that read may be called
    for (class, may) in [(RepeatSafety::ReadOnly, true), (RepeatSafety::Idempotent, false), (RepeatSafety::Once, false)]
    {
        let external = Some(ExternalTool { server: "post".into(), class, hash: String::new() });
        let call = ToolCall { external, ..call_of(&fixture, agent, "post__send", json!({})) };
        assert_eq!(scope_of(&fixture, &call).await.is_ok(), may, "{class:?}");
    }
    // A grant that was revoked is refused at the next call
    let mut record = fixture.store.agent("scout").await.expect("readable").expect("there");
    record.actions.clear();
    assert!(fixture.store.change_agent(record, 1).await.expect("writable"));
    assert!(scope_for("create_document").await.is_err());
}

async fn scope_of_tool(fixture: &Fixture, agent: ActorId, tool: &str) -> Result<Scope, String> {
    scope_of(fixture, &call_of(fixture, agent, tool, json!({}))).await
}

#[tokio::test]
async fn h8_a_subagent_sees_what_its_owner_and_the_run_may_see_too_and_the_runs_workspace() {
    let mut fixture = Fixture::global().await;
    let agent = scout(&fixture, fixture.owner, &[]).await;
    let look = |fixture: &Fixture| call_of(fixture, agent, "list_projects", json!({}));
    assert_eq!(scope_of(&fixture, &look(&fixture)).await, Ok(Scope::Within(fixture.owner, vec![fixture.home])));
    fixture.store.grant(fixture.second, agent, MemberRole::Editor).await.expect("granted");
    let both = Scope::Within(fixture.owner, vec![fixture.second, fixture.home]);
    assert_eq!(scope_of(&fixture, &look(&fixture)).await, Ok(both));
    // A project that its owner may not see is left out
    fixture.store.grant(fixture.foreign, agent, MemberRole::Editor).await.expect("granted");
    let Ok(Scope::Within(_, seen)) = scope_of(&fixture, &look(&fixture)).await else { panic!("a scope") };
    assert!(!seen.contains(&fixture.foreign));
    // In a run with a list of projects, only those of them that the subagent may see
    fixture.run.scope = Scope::Within(fixture.owner, vec![fixture.home, fixture.second]);
    (fixture.run.projects, fixture.run.home_project) = (vec![fixture.home, fixture.second], fixture.home);
    assert_eq!(scope_of(&fixture, &look(&fixture)).await, Ok(Scope::Within(fixture.owner, vec![fixture.second])));
}

#[tokio::test]
async fn h8_a_subagent_of_another_owner_or_one_that_was_deleted_is_refused() {
    let fixture = Fixture::global().await;
    let theirs = scout(&fixture, ActorId(Uuid::from_u128(5)), &["create_document"]).await;
    for agent in [theirs, ActorId(Uuid::nil())] {
        let why = scope_of_tool(&fixture, agent, "list_documents").await.expect_err("refused");
        assert!(why.starts_with("tool_not_granted"), "{why}");
    }
}

#[tokio::test]
async fn b15_a_lesson_is_one_line_with_its_origin_and_only_subagents_add_it() {
    let fixture = Fixture::global().await;
    let agent = scout(&fixture, fixture.owner, &[]).await;
    let call = call_of(&fixture, agent, "add_lesson", json!({"text": "Oak is\n## dear"}));
    let effect = EffectId("i3.x0.r1.t0".into());
    let kept = fixture.registry.call(&*fixture.store, &fixture.run, &call, &effect).await.expect("the store answers");
    let [Mutation::AddLesson { agent: of, text, iteration, .. }] = kept.mutations.as_slice() else {
        panic!("{kept:?}")
    };
    assert_eq!((*of, text.as_str(), *iteration), (agent, "Oak is ## dear", Some(3)));
    for text in ["", "  \n", &"x".repeat(1_001)] {
        let call = call_of(&fixture, agent, "add_lesson", json!({ "text": text }));
        let refused =
            fixture.registry.call(&*fixture.store, &fixture.run, &call, &effect).await.expect("the store answers");
        assert!(refused.result.is_err_and(|why| why.contains("1000")) && refused.mutations.is_empty());
    }
    assert!(fixture.error("add_lesson", json!({"text": "mine"})).await.contains("subagent"));
    // The prompt describes the action as the registry does
    let spec = lessons::spec();
    let action = Registry::builtin().find(&spec.name).copied().expect("in the registry");
    assert_eq!((action.without(&[]).0, action.description), (spec.arguments, spec.description.as_str()));
}

#[tokio::test]
async fn x1_a_subagent_that_is_a_viewer_writes_only_in_the_runs_own_workspace() {
    let fixture = Fixture::global().await;
    let agent = scout(&fixture, fixture.owner, &["create_document"]).await;
    fixture.store.grant(fixture.second, agent, MemberRole::Viewer).await.expect("granted");
    let write = |project| {
        let call =
            call_of(&fixture, agent, "create_document", json!({"title": "T", "content": "", "project_id": project}));
        let fixture = &fixture;
        async move {
            let Ok(run) = agent_scope(&*fixture.store, &fixture.registry, &fixture.run, &call, agent).await else {
                panic!("in scope")
            };
            let effect = EffectId("i1.t0".into());
            fixture.registry.call(&*fixture.store, &run, &call, &effect).await.expect("readable").result
        }
    };
    let refused = write(fixture.second).await.expect_err("a viewer");
    assert!(refused.starts_with("viewer_only: project \"Second\""), "{refused}");
    write(fixture.home).await.expect("the run's own workspace");
}
