//! Nodes, plans, artifacts and the inbox, from a client's side.

use super::*;
use crate::api::NodeView;
use engine::batch::{ArtifactRow, NodeRow, PlanRow};

const RUN: &str = "01a1de11-0000-7000-8000-00000000000a";
const NOBODY: &str = "01a1de11-0000-7000-8000-00000000beef";

/// A tree on the built-in model, until nobody needs to drive it.
async fn grown(client: &ApiClient, model: &str) -> RunRow {
    let new =
        json!({"id": RUN, "kind": "tree", "objective": "Plan a vegetable garden for a family of four", "model": model});
    let _: RunRow = client.post("/api/runs", &new).await.unwrap();
    settled(client).await
}

async fn settled(client: &ApiClient) -> RunRow {
    let mut events = client.events(&format!("/api/runs/{RUN}/stream?after=0&until=settled")).await.unwrap();
    loop {
        let event = events.next().await.expect("ends with the run").unwrap();
        if event.name == "settled" {
            return serde_json::from_str(&event.data).unwrap();
        }
    }
}

#[tokio::test]
async fn t11_a_node_comes_with_its_step_timeline_result_and_scratchpad() {
    let world = world().await;
    let client = world.client("local");
    let run = grown(&client, "rehearsal/default").await;
    let page: Page<NodeRow> = client.get(&format!("/api/runs/{RUN}/nodes?limit=2")).await.unwrap();
    assert_eq!((page.items.len(), page.next_cursor.as_deref()), (2, Some("1")));
    assert_eq!(run.root_node_id, Some(page.items[0].id));
    let rest: Page<NodeRow> = client.get(&format!("/api/runs/{RUN}/nodes?cursor=1")).await.unwrap();
    assert!(rest.items.len() >= 2 && rest.items[0].ordinal.0 == 2 && rest.next_cursor.is_none());

    let first = &page.items[1];
    let view: NodeView = client.get(&format!("/api/runs/{RUN}/nodes/{}", first.id)).await.unwrap();
    assert_eq!(&view.node, first);
    assert_eq!(view.step["step"]["title"], json!(first.title), "{}", view.step);
    assert_eq!(view.timeline[0]["type"], "tree.node_created");
    assert!(view.timeline.iter().all(|event| event["nodeId"] == json!(first.id)));
    assert!(!view.scratchpad.is_empty() && !view.artifacts.is_empty() && view.node.result["summary"].is_string());
    let events: Page<Value> = client
        .get(&format!("/api/runs/{RUN}/nodes/{}/events?after={}&limit=1", first.id, view.timeline[0]["seq"]))
        .await
        .unwrap();
    assert_eq!(events.items[0], view.timeline[1]);

    let plans: Vec<PlanRow> = client.get(&format!("/api/runs/{RUN}/plans?node_id={}", page.items[0].id)).await.unwrap();
    assert_eq!(plans.len(), 1);
    let made: Vec<ArtifactRow> = client.get(&format!("/api/runs/{RUN}/artifacts")).await.unwrap();
    assert!(made.iter().any(|made| made.node_id == page.items[0].id && made.is_primary));
    world.drive.stop().await;
}

#[tokio::test]
async fn nodes_of_others_and_nodes_that_are_not_there_are_the_same_404() {
    let world = world().await;
    let (client, eve) = (world.client("local"), world.client("eve"));
    let run = grown(&client, "rehearsal/default").await;
    let root = run.root_node_id.unwrap();
    for path in ["nodes", "plans", "artifacts", &format!("nodes/{root}")] {
        assert_eq!(slug(eve.get::<Value>(&format!("/api/runs/{RUN}/{path}")).await), "404 run_not_found", "{path}");
    }
    for path in [format!("nodes/{NOBODY}"), "nodes/oak".into(), format!("nodes/{NOBODY}/events")] {
        assert_eq!(slug(client.get::<Value>(&format!("/api/runs/{RUN}/{path}")).await), "404 node_not_found", "{path}");
    }
    let order = async |node: &str, what: &str| {
        slug(client.post::<Value>(&format!("/api/runs/{RUN}/nodes/{node}/{what}"), &json!({})).await)
    };
    assert_eq!(order(NOBODY, "retry").await, "404 node_not_found");
    assert_eq!(order(&root.to_string(), "cancel").await, "409 run_ended");
    assert_eq!(order(&root.to_string(), "pause").await, "409 run_ended");
    world.drive.stop().await;
}

#[tokio::test]
async fn b9_one_inbox_has_the_open_questions_of_all_runs() {
    let world = world().await;
    let (client, eve) = (world.client("local"), world.client("eve"));
    let run = grown(&client, "rehearsal/demo").await;
    assert_eq!(run.status.name(), "waiting_on_user");
    let inbox: Page<Value> = client.get("/api/questions?open=1").await.unwrap();
    let asked = &inbox.items[0];
    assert_eq!((inbox.items.len(), &asked["run_id"]), (1, &json!(run.id)));
    assert!(
        asked["node_title"].is_string() && asked["deadline_at"].is_string() && asked["text"].is_string(),
        "{asked}"
    );
    assert!(eve.get::<Page<Value>>("/api/questions?open=1").await.unwrap().items.is_empty());
    let answer = json!({"answers": [{"question_id": asked["id"], "text": "a quick one"}]});
    let _: RunRow = client.post(&format!("/api/runs/{RUN}/respond"), &answer).await.unwrap();
    assert_eq!(settled(&client).await.status.name(), "completed");
    assert!(client.get::<Page<Value>>("/api/questions?open=1").await.unwrap().items.is_empty());
    let all: Page<Value> = client.get("/api/questions").await.unwrap();
    assert_eq!(all.items[0]["answer"], "a quick one");
    world.drive.stop().await;
}
