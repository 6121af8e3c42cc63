//! `pleach webhooks`.

use super::{Session, closing, note, print};
use crate::api::{NewWebhook, WebhookView, WebhookWithDeliveries};
use crate::args::WebhookCommand;
use crate::failure::Failure;
use crate::render::style::line;
use axum::http::Method;
use serde_json::json;
use store::notifications::{Delivery, DeliveryState};
use uuid::Uuid;

pub async fn webhooks(session: &Session, command: WebhookCommand) -> Result<u8, Failure> {
    match command {
        WebhookCommand::Add { url, kinds, template } => add(session, NewWebhook { url, kinds, template }).await,
        WebhookCommand::Ls => list(session).await,
        WebhookCommand::Rm { id } => remove(session, id).await,
        WebhookCommand::Test { id } => test(session, id).await,
        WebhookCommand::Deliveries { id } => deliveries(session, id).await,
    }
}

/// The secret alone goes to standard output, for `SECRET=$(pleach webhooks add URL)`.
async fn add(session: &Session, new: NewWebhook) -> Result<u8, Failure> {
    let attached = session.writer().await?;
    let made = attached.client.post::<WebhookView>("/api/webhooks", &new).await;
    let made = closing(attached, made).await?;
    if session.json {
        session.print_json(&made);
        return Ok(0);
    }
    print(made.secret.as_deref().unwrap_or_default());
    note(&format!(
        "webhook {} sends {}; the secret that signs is not shown again. `pleach webhooks test {}` tries it",
        made.id,
        kinds(&made),
        made.id
    ));
    Ok(0)
}

fn kinds(webhook: &WebhookView) -> String {
    if webhook.kinds.is_empty() { "everything".into() } else { webhook.kinds.join(", ") }
}

async fn list(session: &Session) -> Result<u8, Failure> {
    let Some(reader) = session.reader().await? else { return Ok(0) };
    let webhooks = reader.client.get::<Vec<WebhookView>>("/api/webhooks").await;
    for webhook in closing(reader, webhooks).await? {
        let state = webhook.disabled_reason.as_deref().map_or_else(String::new, |why| format!("  disabled: {why}"));
        let said = format!(
            "{}  {:<8}  {}  {}{}",
            webhook.id,
            webhook.template.name(),
            line(&webhook.url),
            kinds(&webhook),
            line(&state)
        );
        if session.json { session.print_json(&webhook) } else { print(&said) }
    }
    Ok(0)
}

async fn remove(session: &Session, id: Uuid) -> Result<u8, Failure> {
    let attached = session.writer().await?;
    let removed = attached.client.send(Method::DELETE, &format!("/api/webhooks/{id}"), &json!({})).await;
    closing(attached, removed).await?;
    let said = format!("nothing is sent to webhook {id} any more");
    if session.json {
        session.print_json(&json!({"id": id, "removed": true}))
    } else {
        print(&said)
    }
    Ok(0)
}

/// Fails when the test was not taken.
async fn test(session: &Session, id: Uuid) -> Result<u8, Failure> {
    let attached = session.writer().await?;
    let sent = attached.client.post::<Delivery>(&format!("/api/webhooks/{id}/test"), &json!({})).await;
    let sent = closing(attached, sent).await?;
    if session.json {
        session.print_json(&sent)
    } else {
        print(&sentence(&sent))
    }
    Ok(u8::from(sent.state != DeliveryState::Delivered))
}

async fn deliveries(session: &Session, id: Uuid) -> Result<u8, Failure> {
    let Some(reader) = session.reader().await? else { return Ok(0) };
    let found = reader.client.get::<WebhookWithDeliveries>(&format!("/api/webhooks/{id}")).await;
    for delivery in closing(reader, found).await?.deliveries {
        if session.json { session.print_json(&delivery) } else { print(&sentence(&delivery)) }
    }
    Ok(0)
}

fn sentence(delivery: &Delivery) -> String {
    let run = delivery.run_id.map_or_else(|| "-".into(), |run| run.to_string());
    let came_of_it = match (&delivery.last_error, delivery.last_status) {
        (Some(error), _) => format!(": {}", line(error)),
        (None, Some(status)) => format!(": {status}"),
        (None, None) => String::new(),
    };
    let next = match delivery.state {
        DeliveryState::Due => format!(", next at {}", delivery.due),
        DeliveryState::Delivered | DeliveryState::Failed => String::new(),
    };
    format!(
        "{}  {:<9}  {run}  {} after {} attempts{came_of_it}{next}",
        delivery.created_at,
        delivery.kind,
        delivery.state.name(),
        delivery.attempts
    )
}
