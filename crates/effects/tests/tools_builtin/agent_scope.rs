//! A run's tools in the hands of a subagent: owner, run and grants all have a say, at the moment of the call.

use crate::fixture::Fixture;
use effects::tools::{ActionError, Registry, agent_scope};
use engine::effect::{Class, EffectId, Outside, ToolCall};
use engine::ids::ActorId;
use engine::lessons;
use engine::role::Role;
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

fn asked(fixture: &Fixture, agent: ActorId, tool: &str, arguments: Value) -> ToolCall {
    ToolCall { agent: Some(agent), ..fixture.request(tool, arguments) }
}

/// The scope the call is carried out with, or why it is not.
async fn judged(fixture: &Fixture, call: &ToolCall) -> Result<Scope, String> {
    match agent_scope(&*fixture.store, &fixture.registry, &fixture.run, call, call.agent.expect("a subagent")).await {
        Ok(run) => Ok(run.scope),
        Err(ActionError::Refused(why)) => Err(why),
        Err(ActionError::Store(error)) => panic!("{error}"),
    }
}

#[tokio::test]
async fn h8_it_reads_changes_what_it_was_granted_and_is_told_when_it_was_not() {
    let fixture = Fixture::global().await;
    let agent = scout(&fixture, fixture.owner, &["create_document"]).await;
    let judge = |tool: &'static str| judged_by_name(&fixture, agent, tool);
    for open in ["list_documents", "create_document", "add_lesson", "no_such_tool"] {
        assert!(judge(open).await.is_ok(), "{open}");
    }
    let why = judge("create_task").await.expect_err("it was not granted");
    assert!(why.contains("create_task was not granted to scout") && why.contains("create_document"), "{why}");
    // Tools of servers cannot be granted: it may read through them, and nothing more
    for (class, may) in [(Class::ReadOnly, true), (Class::Idempotent, false), (Class::Once, false)] {
        let outside = Some(Outside { server: "post".into(), class, hash: String::new() });
        let call = ToolCall { outside, ..asked(&fixture, agent, "post__send", json!({})) };
        assert_eq!(judged(&fixture, &call).await.is_ok(), may, "{class:?}");
    }
    // Taken back, it is refused at the next call
    let mut record = fixture.store.agent("scout").await.expect("readable").expect("there");
    record.actions.clear();
    assert!(fixture.store.change_agent(record, 1).await.expect("writable"));
    assert!(judge("create_document").await.is_err());
}

async fn judged_by_name(fixture: &Fixture, agent: ActorId, tool: &str) -> Result<Scope, String> {
    judged(fixture, &asked(fixture, agent, tool, json!({}))).await
}

#[tokio::test]
async fn h8_it_sees_what_it_its_owner_and_the_run_may_all_see_and_the_runs_own_workspace() {
    let mut fixture = Fixture::global().await;
    let agent = scout(&fixture, fixture.owner, &[]).await;
    let look = |fixture: &Fixture| asked(fixture, agent, "list_projects", json!({}));
    assert_eq!(judged(&fixture, &look(&fixture)).await, Ok(Scope::Within(fixture.owner, vec![fixture.home])));
    fixture.store.grant(fixture.second, agent, Role::Editor).await.expect("granted");
    let both = Scope::Within(fixture.owner, vec![fixture.second, fixture.home]);
    assert_eq!(judged(&fixture, &look(&fixture)).await, Ok(both));
    // A project of somebody else's is not its owner's to lend
    fixture.store.grant(fixture.foreign, agent, Role::Editor).await.expect("granted");
    let Ok(Scope::Within(_, seen)) = judged(&fixture, &look(&fixture)).await else { panic!("a scope") };
    assert!(!seen.contains(&fixture.foreign));
    // A run that was given projects lends no others, and those only to who may see them
    fixture.run.scope = Scope::Within(fixture.owner, vec![fixture.home, fixture.second]);
    (fixture.run.projects, fixture.run.home_project) = (vec![fixture.home, fixture.second], fixture.home);
    assert_eq!(judged(&fixture, &look(&fixture)).await, Ok(Scope::Within(fixture.owner, vec![fixture.second])));
}

#[tokio::test]
async fn h8_somebody_elses_subagent_and_one_that_is_gone_may_do_nothing() {
    let fixture = Fixture::global().await;
    let theirs = scout(&fixture, ActorId(Uuid::from_u128(5)), &["create_document"]).await;
    for agent in [theirs, ActorId(Uuid::nil())] {
        let why = judged_by_name(&fixture, agent, "list_documents").await.expect_err("nobody's");
        assert!(why.starts_with("tool_not_granted"), "{why}");
    }
}

#[tokio::test]
async fn b15_a_lesson_is_one_line_with_where_it_was_learned_and_only_a_subagents() {
    let fixture = Fixture::global().await;
    let agent = scout(&fixture, fixture.owner, &[]).await;
    let call = asked(&fixture, agent, "add_lesson", json!({"text": "Oak is\n## dear"}));
    let effect = EffectId("i3.x0.r1.t0".into());
    let kept = fixture.registry.call(&*fixture.store, &fixture.run, &call, &effect).await.expect("the store answers");
    let [Mutation::AddLesson { agent: of, text, iteration, .. }] = kept.mutations.as_slice() else {
        panic!("{kept:?}")
    };
    assert_eq!((*of, text.as_str(), *iteration), (agent, "Oak is ## dear", Some(3)));
    for text in ["", "  \n", &"x".repeat(1_001)] {
        let call = asked(&fixture, agent, "add_lesson", json!({ "text": text }));
        let refused =
            fixture.registry.call(&*fixture.store, &fixture.run, &call, &effect).await.expect("the store answers");
        assert!(refused.result.is_err_and(|why| why.contains("1000")) && refused.mutations.is_empty());
    }
    assert!(fixture.error("add_lesson", json!({"text": "mine"})).await.contains("subagent"));
    // What prompts say of it is what the registry holds it to
    let spec = lessons::spec();
    let action = Registry::builtin().find(&spec.name).copied().expect("in the registry");
    assert_eq!((action.without(&[]).0, action.description), (spec.arguments, spec.description.as_str()));
}

#[tokio::test]
async fn x1_a_subagent_that_only_reads_a_project_writes_in_the_runs_own_workspace_and_not_there() {
    let fixture = Fixture::global().await;
    let agent = scout(&fixture, fixture.owner, &["create_document"]).await;
    fixture.store.grant(fixture.second, agent, Role::Viewer).await.expect("granted");
    let written = |project| {
        let call =
            asked(&fixture, agent, "create_document", json!({"title": "T", "content": "", "project_id": project}));
        let fixture = &fixture;
        async move {
            let Ok(run) = agent_scope(&*fixture.store, &fixture.registry, &fixture.run, &call, agent).await else {
                panic!("lent")
            };
            let effect = EffectId("i1.t0".into());
            fixture.registry.call(&*fixture.store, &run, &call, &effect).await.expect("readable").result
        }
    };
    let refused = written(fixture.second).await.expect_err("a viewer");
    assert!(refused.starts_with("viewer_only: project \"Second\""), "{refused}");
    written(fixture.home).await.expect("the run's own workspace");
}
