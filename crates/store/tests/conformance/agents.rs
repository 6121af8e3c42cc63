//! Subagents: their records, their scope, their scratchpads, and the order in which their tasks are leased.

use crate::played::{dumps, played, replied, sql};
use crate::world::{LONG, World, brief, document, drafted, fenced, fresh, now, run_id};
use engine::actor::Actor;
use engine::effect::{EffectAttempt, Outcome, ToolOutcome, ToolOutput, Work};
use engine::facts::run::{Agent, Queued};
use engine::ids::ActorId;
use engine::model::Role;
use engine::run::{Command, Kind, Run, Status};
use engine::workspace::Mutation;
use runtime::agents::AgentRecord;
use runtime::ports::{AppendError, DocumentFilter, Library, Log, RunFilter, Slice};
use serde_json::{Value, json};

crate::promises!(on [sqlite = Sqlite, inline = Inline, postgres = Postgres]: [
    an_agent_is_an_actor_that_a_person_owns,
    a_changed_agent_is_changed_once_per_version,
    a5_every_version_of_a_scratchpad_is_kept_with_where_it_came_from,
    a_scratchpad_is_never_lost_to_a_concurrent_change,
    h8_an_agent_sees_what_it_and_its_owner_may_both_see,
    an_agent_sees_its_own_tasks_and_those_of_its_projects,
    a_tasks_steps_are_rows,
    one_task_of_an_agent_is_held_at_a_time_and_the_next_waits_its_turn,
    whoever_asks_for_one_task_waits_only_while_its_agent_is_busy,
]);

mod sql_only {
    crate::promises!(on [sqlite = Sqlite, inline = Inline, postgres = Postgres]: [
        rebuilding_a_task_gives_the_same_rows,
        many_claims_at_once_never_hold_two_tasks_of_one_agent,
    ]);
    use super::{many_claims_at_once_never_hold_two_tasks_of_one_agent, rebuilding_a_task_gives_the_same_rows};
}

pub async fn agent(world: &World, handle: &str) -> AgentRecord {
    let agent = AgentRecord {
        id: fresh(),
        handle: handle.into(),
        name: handle.to_uppercase(),
        owner: world.me,
        identity: "You are tidy.".into(),
        actions: vec!["create_document".into()],
        model: None,
        version: 1,
        created_at: now(),
        updated_at: now(),
    };
    world.store.create_agent(agent.clone()).await.unwrap();
    agent
}

fn task_brief(world: &World, agent: &AgentRecord) -> Queued {
    let sent =
        Agent { id: agent.id, handle: agent.handle.clone(), identity: agent.identity.clone(), max_steps: Some(5) };
    Queued { kind: Kind::Task, agent: Some(sent), ..brief(world.me, &[]) }
}

async fn queued(world: &World, agent: &AgentRecord) -> Run {
    let mut run = Run::create(fresh(), task_brief(world, agent), world.actor(), now()).unwrap();
    world.store.append(drafted(&mut run, None)).await.unwrap();
    run
}

pub fn write(agent: ActorId, content: &str, based_on: i64) -> Mutation {
    Mutation::WriteScratchpad { agent, content: content.into(), based_on, step: None }
}

fn shown(content: Value) -> ToolOutcome {
    ToolOutcome { result: Ok(ToolOutput { content, summary: "shown".into(), read: true }), mutations: Vec::new() }
}

/// A task run that opens a page, ends, and writes to the scratchpad.
async fn run_task(world: &World, agent: &AgentRecord, learned: &'static str) -> Run {
    let (id, mut asked) = (agent.id, 0);
    let based_on = world.store.scratchpad(id).await.unwrap().map_or(0, |pad| pad.version);
    played(world, task_brief(world, agent), move |job: &EffectAttempt| match &job.work {
        Work::Check(work) => panic!("no criteria are checked here: {work:?}"),
        Work::Model(call) if call.role == Role::AgentReflection => replied(json!({"scratchpad": learned})),
        Work::Model(_) => {
            asked += 1;
            let step =
                if asked == 1 { json!({"action": "navigate", "path": "/projects"}) } else { json!({"action": "done"}) };
            replied(step)
        }
        Work::Tool(call) => Outcome::Tool(match call.tool.as_str() {
            "write_scratchpad" => {
                ToolOutcome { mutations: vec![write(id, learned, based_on)], ..shown(json!({"version": based_on + 1})) }
            }
            "read_scratchpad" => shown(json!({"version": based_on, "content": ""})),
            _ => shown(json!("# A page")),
        }),
    })
    .await
}

async fn an_agent_is_an_actor_that_a_person_owns(world: World) {
    let scout = agent(&world, "scout").await;
    assert_eq!(world.store.agent("scout").await.unwrap(), Some(scout.clone()));
    assert_eq!(world.store.agent(&scout.id.to_string()).await.unwrap(), Some(scout.clone()));
    assert_eq!(world.store.actor("scout").await.unwrap(), Some(scout.actor()));
    assert_eq!(world.store.agents(world.me, Slice::first(10)).await.unwrap(), std::slice::from_ref(&scout));
    let behind = Slice { after: Some(scout.id), limit: 10 };
    assert!(world.store.agents(world.me, behind).await.unwrap().is_empty());
    assert!(world.store.agents(fresh(), Slice::first(10)).await.unwrap().is_empty());
    // A handle belongs to one actor.
    let again = AgentRecord { id: fresh(), ..scout };
    assert!(world.store.create_agent(again.clone()).await.is_err());
    assert_eq!(world.store.agent(&again.id.to_string()).await.unwrap(), None);
}

async fn a_changed_agent_is_changed_once_per_version(world: World) {
    let scout = agent(&world, "scout").await;
    let changed = AgentRecord { identity: "You are brief.".into(), name: "Scout II".into(), ..scout.clone() };
    assert!(world.store.change_agent(changed.clone(), 1).await.unwrap());
    assert!(!world.store.change_agent(scout, 1).await.unwrap());
    let found = world.store.agent("scout").await.unwrap().unwrap();
    assert_eq!(found, AgentRecord { version: 2, ..changed });
    assert_eq!(world.store.actor("scout").await.unwrap().unwrap().name, "Scout II");
}

async fn a5_every_version_of_a_scratchpad_is_kept_with_where_it_came_from(world: World) {
    let scout = agent(&world, "scout").await;
    assert_eq!(world.store.scratchpad(scout.id).await.unwrap(), None);
    let run = run_task(&world, &scout, "the hours are in one document").await;
    world.change(write(scout.id, "", 1)).await.unwrap();
    let versions = world.store.scratchpad_versions(scout.id, None, 10).await.unwrap();
    let [cleared, learned] = versions.as_slice() else { panic!("two versions, not {versions:?}") };
    assert_eq!((learned.version, learned.characters, learned.run_id), (1, 29, Some(run_id(&run))));
    assert_eq!((learned.actor, learned.seq.is_some()), (Actor::Subagent(scout.id), true));
    assert_eq!((cleared.version, cleared.content.as_str(), cleared.run_id), (2, "", None));
    assert_eq!(cleared.actor, world.actor());
    assert_eq!(world.store.scratchpad(scout.id).await.unwrap().as_ref(), Some(cleared));
    assert_eq!(world.store.scratchpad_versions(scout.id, Some(2), 10).await.unwrap(), std::slice::from_ref(learned));
}

async fn a_scratchpad_is_never_lost_to_a_concurrent_change(world: World) {
    let scout = agent(&world, "scout").await;
    world.change(write(scout.id, "first", 0)).await.unwrap();
    // Given two writers who have both read version 1
    world.change(write(scout.id, "the owner's", 1)).await.unwrap();
    let refused = world.change(write(scout.id, "the agent's", 1)).await;
    // Then the second is refused, and nothing is overwritten
    assert_eq!(refused, Err(AppendError::Conflict(scout.id.0)));
    assert_eq!(world.store.scratchpad(scout.id).await.unwrap().unwrap().content, "the owner's");
    // And of many concurrent writers exactly one succeeds.
    let writers = (0..8).map(|n| {
        let world = world.clone();
        tokio::spawn(async move { world.change(write(scout.id, &format!("writer {n}"), 2)).await.is_ok() })
    });
    let mut won = 0;
    for writer in writers.collect::<Vec<_>>() {
        won += usize::from(writer.await.unwrap());
    }
    assert_eq!((won, world.store.scratchpad(scout.id).await.unwrap().unwrap().version), (1, 3));
}

async fn h8_an_agent_sees_what_it_and_its_owner_may_both_see(world: World) {
    let scout = agent(&world, "scout").await;
    let (shared, mine) = (world.project("Shared").await, world.project("Mine alone").await);
    world.store.grant(shared, scout.id, engine::member_role::MemberRole::Editor).await.unwrap();
    for project in [shared, mine] {
        world.change(document(project, "Prices", "twelve").1).await.unwrap();
    }
    let seen = |documents: Vec<engine::workspace::Document>| documents.len();
    let scope = scout.scope();
    let listed = || world.store.documents(&scope, DocumentFilter::default());
    assert_eq!(world.store.projects(&scout.scope(), None, 10).await.unwrap().len(), 1);
    assert!(world.store.project(&scout.scope(), mine).await.unwrap().is_none());
    assert_eq!(seen(listed().await.unwrap()), 1);
    // When its owner leaves the project, the agent loses it with the next query.
    world.store.revoke(shared, world.me).await.unwrap();
    assert_eq!(seen(listed().await.unwrap()), 0);
    world.store.grant(shared, world.me, engine::member_role::MemberRole::Owner).await.unwrap();
    world.store.revoke(shared, scout.id).await.unwrap();
    assert_eq!(seen(listed().await.unwrap()), 0);
}

async fn an_agent_sees_its_own_tasks_and_those_of_its_projects(world: World) {
    let (scout, other) = (agent(&world, "scout").await, agent(&world, "other").await);
    let own = queued(&world, &scout).await;
    let _others = queued(&world, &other).await;
    let shared = world.project("Shared").await;
    world.store.grant(shared, scout.id, engine::member_role::MemberRole::Editor).await.unwrap();
    let joined = world.queued(&[shared]).await;
    let _mine = world.queued(&[]).await;
    let runs = world.store.runs(&scout.scope(), RunFilter::default()).await.unwrap();
    let seen: Vec<_> = runs.iter().map(|run| run.id).collect();
    assert_eq!(seen, [run_id(&joined), run_id(&own)]);
    let row = &runs[1];
    assert_eq!((row.agent.as_deref(), row.agent_id, row.max_steps), (Some("scout"), Some(scout.id), Some(5)));
    assert!(world.store.notifications(&scout.scope(), 10).await.unwrap().is_empty());
}

async fn a_tasks_steps_are_rows(world: World) {
    let scout = agent(&world, "scout").await;
    let run = run_task(&world, &scout, "learned").await;
    assert_eq!(run.shared.status(), Status::Completed);
    let steps = world.store.steps(&world.mine(), run_id(&run)).await.unwrap();
    let words: Vec<_> = steps.iter().map(|row| (row.step, row.action.name(), row.path.as_deref(), row.ok)).collect();
    assert_eq!(
        words,
        [
            (0, "navigate", Some("/whoami"), Some(true)),
            (1, "navigate", Some("/projects"), Some(true)),
            (2, "done", None, None)
        ]
    );
    assert!(steps[1].result.is_some() && steps[1].ended_at.is_some());
    assert!(world.store.steps(&other_scope(), run_id(&run)).await.unwrap().is_empty());
}

fn other_scope() -> engine::workspace::Scope {
    engine::workspace::Scope::Actor(fresh())
}

async fn one_task_of_an_agent_is_held_at_a_time_and_the_next_waits_its_turn(world: World) {
    let (scout, other) = (agent(&world, "scout").await, agent(&world, "other").await);
    let mut first = queued(&world, &scout).await;
    world.pass(std::time::Duration::from_millis(5)).await;
    let second = queued(&world, &scout).await;
    let elsewhere = queued(&world, &other).await;
    // When a worker claims all it can
    let claimed = world.store.claim("one", 10, LONG, None, &[]).await.unwrap();
    // Then it holds the oldest task of each agent
    let mut held: Vec<_> = claimed.iter().map(|claimed| claimed.lease.run_id).collect();
    held.sort();
    assert_eq!(held, [run_id(&first), run_id(&elsewhere)]);
    assert!(world.store.claim("two", 10, LONG, None, &[]).await.unwrap().is_empty());
    // And the next task can be claimed when the first has ended
    let lease = claimed.into_iter().find(|claimed| claimed.lease.run_id == run_id(&first)).unwrap().lease;
    let end = world.commanded(&mut first, Command::Cancel);
    world.store.append(fenced(end, &lease)).await.unwrap();
    let next = world.store.claim("two", 10, LONG, None, &[]).await.unwrap();
    assert_eq!(next.len(), 1);
    assert_eq!(next[0].lease.run_id, run_id(&second));
}

async fn whoever_asks_for_one_task_waits_only_while_its_agent_is_busy(world: World) {
    let scout = agent(&world, "scout").await;
    let first = queued(&world, &scout).await;
    let second = queued(&world, &scout).await;
    let lease = world.claim_one("one", &second).await;
    assert!(world.store.claim("two", 1, LONG, Some(run_id(&first)), &[]).await.unwrap().is_empty());
    world.store.release(&[lease]).await.unwrap();
    world.claim_one("two", &first).await;
}

async fn rebuilding_a_task_gives_the_same_rows(world: World) {
    const TABLES: [&str; 4] = ["agent_task_runs", "agent_task_steps", "notifications", "agent_scratchpads"];
    let scout = agent(&world, "scout").await;
    run_task(&world, &scout, "learned").await;
    queued(&world, &scout).await;
    let before = dumps(&world, &TABLES).await;
    sql(&world).rebuild().await.unwrap();
    assert_eq!(dumps(&world, &TABLES).await, before);
    assert!(before.iter().all(|rows| !rows.is_empty()));
}

async fn many_claims_at_once_never_hold_two_tasks_of_one_agent(world: World) {
    let scout = agent(&world, "scout").await;
    for _ in 0..6 {
        queued(&world, &scout).await;
    }
    let workers = (0..6).map(|n| {
        let store = world.store.clone();
        tokio::spawn(async move { store.claim(&format!("worker {n}"), 3, LONG, None, &[]).await.unwrap().len() })
    });
    let mut held = 0;
    for worker in workers.collect::<Vec<_>>() {
        held += worker.await.unwrap();
    }
    assert_eq!(held, 1);
}
