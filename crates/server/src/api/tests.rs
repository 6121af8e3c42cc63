//! The API from a client's side, on a database in memory and the rehearsal model.

mod page_types;
mod tree;

use super::*;
use crate::api_client::{ApiClient, ApiError};
use crate::args::Global;
use crate::config::{Config, Environment};
use crate::drive::{Drive, SystemClock, WorkerScope};
use engine::actor::ActorKind;
use engine::batch::RunRow;
use engine::workspace::ActorRecord;
use futures::StreamExt;
use runtime::ports::{Library, local_person};
use serde_json::{Value, json};

struct World {
    router: Router,
    drive: Drive,
}

async fn world() -> World {
    let config =
        Config::load(&Global::default(), &Environment { directory: "/nowhere".into(), ..Environment::default() })
            .unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let store = store::open_inline(None, clock.clone()).await.unwrap();
    let now = clock.now();
    let id = |name: &str| engine::ids::derive(now, &[name.as_bytes()]).into();
    if store.actor("local").await.unwrap().is_none() {
        store.create_actor(local_person(now, id("local"))).await.unwrap();
    }
    let eve = ActorRecord {
        id: id("eve"),
        kind: ActorKind::Person,
        handle: "eve".into(),
        name: "Eve".into(),
        created_at: now,
    };
    store.create_actor(eve).await.unwrap();
    let live = Live::default();
    let catalogue = Arc::new(Catalogue::new(&config));
    let performer = catalogue.performer(store.clone(), live.clone()).unwrap();
    let drive = Drive::start(&config, WorkerScope::Everything, store.clone(), performer, clock.clone(), live.clone());
    let app = AppState {
        commands: Some(drive.commands()),
        drives: Drives::All,
        ..AppState::reading(store, catalogue, clock, live)
    };
    World { router: router(Arc::new(app), RequestSource::Private), drive }
}

impl World {
    fn client(&self, actor: &str) -> ApiClient {
        ApiClient::to_router(self.router.clone(), actor)
    }
}

fn slug<T: std::fmt::Debug>(result: Result<T, ApiError>) -> String {
    match result {
        Err(ApiError::Refused(problem)) => format!("{} {}", problem.status.as_u16(), problem.slug),
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test]
async fn a_run_is_started_once_followed_to_its_end_and_seen_by_its_owner_only() {
    let world = world().await;
    let client = world.client("local");
    let id = "01a1de11-0000-7000-8000-000000000000";
    let new = json!({"id": id, "kind": "homework", "objective": "List three kinds of bees"});
    let created: RunRow = client.post("/api/runs", &new).await.unwrap();
    let again: RunRow = client.post("/api/runs", &new).await.unwrap();
    assert_eq!(created.id, again.id);

    let mut events = client.events(&format!("/api/runs/{id}/stream?after=0&until=settled")).await.unwrap();
    let mut seqs = Vec::new();
    let settled: RunRow = loop {
        let event = events.next().await.expect("ends with the run").unwrap();
        match event.name.as_str() {
            "settled" => break serde_json::from_str(&event.data).unwrap(),
            _ => seqs.push(serde_json::from_str::<Value>(&event.data).unwrap()["seq"].as_u64().unwrap()),
        }
    };
    assert_eq!(settled.status.name(), "completed", "{settled:?}");
    assert_eq!(seqs, (1..=settled.last_seq).collect::<Vec<_>>());

    let page: Page<Value> = client.get(&format!("/api/runs/{id}/events?after=3&limit=2")).await.unwrap();
    assert_eq!((page.items[0]["seq"].as_u64(), page.next_cursor.as_deref()), (Some(4), Some("5")));
    let markdown = client.get_text(&format!("/api/runs/{id}/report.md")).await.unwrap();
    assert!(markdown.starts_with("# "), "{markdown}");
    assert_eq!(slug(world.client("eve").get::<Value>(&format!("/api/runs/{id}")).await), "404 run_not_found");
    assert_eq!(slug(client.post::<Value>(&format!("/api/runs/{id}/cancel"), &json!({})).await), "409 run_ended");
    world.drive.stop().await;
}

#[tokio::test]
async fn a_bad_brief_is_refused_with_its_own_slug_and_makes_no_run() {
    let world = world().await;
    let client = world.client("local");
    let refused = async |change: Value| {
        let mut new = json!({"kind": "homework", "objective": "x"});
        new.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        slug(client.post::<Value>("/api/runs", &new).await)
    };
    assert_eq!(refused(json!({"kind": "forest"})).await, "422 unknown_kind");
    assert_eq!(refused(json!({"objective": " "})).await, "422 empty_objective");
    assert_eq!(refused(json!({"objective": "x".repeat(40_000)})).await, "422 objective_too_long");
    assert_eq!(refused(json!({"objective": "x".repeat(2 << 20)})).await, "413 body_too_large");
    assert_eq!(
        refused(json!({"project_ids": ["01a1de11-0000-7000-8000-000000000009"]})).await,
        "404 project_not_found"
    );
    assert_eq!(refused(json!({"tools": ["rm"]})).await, "422 unknown_tool");
    assert_eq!(refused(json!({"budgets": {"max_tokens": 5}})).await, "422 budget_too_small");
    assert_eq!(refused(json!({"budgets": {"max_toknes": 5}})).await, "400 bad_request");
    assert_eq!(refused(json!({"model": "openai/gpt"})).await, "422 bad_model");
    let runs: Page<RunRow> = client.get("/api/runs").await.unwrap();
    assert!(runs.items.is_empty());
    world.drive.stop().await;
}

#[tokio::test]
async fn projects_are_seen_by_members_only_and_actors_act_under_their_own_name() {
    let world = world().await;
    let (client, eve) = (world.client("local"), world.client("eve"));
    let project: Value = client.post("/api/projects", &json!({"title": "Bees"})).await.unwrap();
    let id = project["id"].as_str().unwrap();
    let seen = async |client: &ApiClient| client.get::<Page<Value>>("/api/projects").await.unwrap().items.len();
    assert_eq!((seen(&client).await, seen(&eve).await), (1, 0));
    assert_eq!(
        slug(eve.post::<Value>(&format!("/api/projects/{id}/members"), &json!({"actor": "eve"})).await),
        "404 project_not_found"
    );
    let _: Value = client.post(&format!("/api/projects/{id}/members"), &json!({"actor": "eve"})).await.unwrap();
    assert_eq!(seen(&eve).await, 0, "invited is no member");
    let invitation = eve.get::<Page<Value>>("/api/invitations").await.unwrap().items.remove(0);
    let accept = format!("/api/invitations/{}/accept", invitation["id"].as_str().unwrap());
    let _: Value = eve.post(&accept, &json!({})).await.unwrap();
    assert_eq!(seen(&eve).await, 1);
    client.send(axum::http::Method::DELETE, &format!("/api/projects/{id}/members/eve"), &json!({})).await.unwrap();
    assert_eq!(seen(&eve).await, 0);
    assert_eq!(slug(world.client("nobody").get::<Value>("/api/runs").await), "404 actor_not_found");
    world.drive.stop().await;
}

#[tokio::test]
async fn t14_a_client_that_falls_behind_is_told_so_and_misses_nothing() {
    let world = world().await;
    let client = world.client("local");
    let run: RunRow = client.post("/api/runs", &json!({"kind": "homework", "objective": "List bees"})).await.unwrap();
    let mut events = client.events(&format!("/api/runs/{}/stream?until=ended", run.id)).await.unwrap();
    let seq = |data: &str| serde_json::from_str::<Value>(data).unwrap()["seq"].as_u64().unwrap();
    let mut seqs = vec![seq(&events.next().await.unwrap().unwrap().data)];
    let tell = async |what: &str, body: Value| {
        client.post::<Value>(&format!("/api/runs/{}/{what}", run.id), &body).await.unwrap();
    };
    // Paused, so that it takes more messages than anybody is kept.
    tell("pause", json!({})).await;
    for number in 0..400 {
        tell("messages", json!({"text": format!("Message {number}")})).await;
    }
    tell("resume", json!({})).await;
    let (mut behind, mut last) = (0, 0);
    while let Some(event) = events.next().await {
        let event = event.unwrap();
        match event.name.as_str() {
            "behind" => behind += 1,
            "settled" => last = serde_json::from_str::<RunRow>(&event.data).unwrap().last_seq,
            _ => seqs.push(seq(&event.data)),
        }
    }
    assert_eq!(seqs, (1..=last).collect::<Vec<_>>(), "all of the log, once, in order");
    assert!(behind >= 1, "nobody told the client that it fell behind");
    world.drive.stop().await;
}
