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

pub(crate) async fn webhooks(session: &Session, command: WebhookCommand) -> Result<u8, Failure> {
    match command {
        WebhookCommand::Add { url, kinds, template } => add(session, NewWebhook { url, kinds, template }).await,
        WebhookCommand::Ls => list(session).await,
        WebhookCommand::Rm { id } => remove(session, id).await,
        WebhookCommand::Test { id } => test(session, id).await,
        WebhookCommand::Deliveries { id } => deliveries(session, id).await,
    }
}

/// Only the secret goes to standard output, for `SECRET=$(pleach webhooks add URL)`.
async fn add(session: &Session, new: NewWebhook) -> Result<u8, Failure> {
    let webhook: WebhookView = session.post("/api/webhooks", &new).await?;
    if session.json {
        session.print_json(&webhook);
        return Ok(0);
    }
    print(webhook.secret.as_deref().unwrap_or_default());
    let (id, kinds) = (webhook.id, kinds(&webhook));
    note(&format!(
        "webhook {id} sends {kinds}; its signing secret is not shown again. `pleach webhooks test {id}` sends a test"
    ));
    Ok(0)
}

fn kinds(webhook: &WebhookView) -> String {
    if webhook.kinds.is_empty() { "everything".into() } else { webhook.kinds.join(", ") }
}

async fn list(session: &Session) -> Result<u8, Failure> {
    let webhooks: Option<Vec<WebhookView>> = session.get("/api/webhooks").await?;
    for webhook in webhooks.into_iter().flatten() {
        let disabled = webhook.disabled_reason.as_deref().map_or_else(String::new, |why| format!("  disabled: {why}"));
        let (id, template, url) = (webhook.id, webhook.template.name(), line(&webhook.url));
        let text = format!("{id}  {template:<8}  {url}  {}{}", kinds(&webhook), line(&disabled));
        session.print_value(&webhook, &text);
    }
    Ok(0)
}

async fn remove(session: &Session, id: Uuid) -> Result<u8, Failure> {
    let attached = session.writer().await?;
    let removed = attached.client.send(Method::DELETE, &format!("/api/webhooks/{id}"), &json!({})).await;
    closing(attached, removed).await?;
    session.print_value(&json!({"id": id, "removed": true}), &format!("webhook {id} is removed"));
    Ok(0)
}

/// Fails when the test was not delivered.
async fn test(session: &Session, id: Uuid) -> Result<u8, Failure> {
    let sent: Delivery = session.post(&format!("/api/webhooks/{id}/test"), &json!({})).await?;
    session.print_value(&sent, &text(&sent));
    Ok(u8::from(sent.state != DeliveryState::Delivered))
}

async fn deliveries(session: &Session, id: Uuid) -> Result<u8, Failure> {
    let found: Option<WebhookWithDeliveries> = session.get(&format!("/api/webhooks/{id}")).await?;
    for delivery in found.into_iter().flat_map(|webhook| webhook.deliveries) {
        session.print_value(&delivery, &text(&delivery));
    }
    Ok(0)
}

fn text(delivery: &Delivery) -> String {
    let run = delivery.run_id.map_or_else(|| "-".into(), |run| run.to_string());
    let outcome = match (&delivery.last_error, delivery.last_status) {
        (Some(error), _) => format!(": {}", line(error)),
        (None, Some(status)) => format!(": {status}"),
        (None, None) => String::new(),
    };
    let next = match delivery.state {
        DeliveryState::Due => format!(", next at {}", delivery.due),
        DeliveryState::Delivered | DeliveryState::Failed => String::new(),
    };
    let Delivery { created_at, kind, state, attempts, .. } = delivery;
    format!("{created_at}  {kind:<9}  {run}  {} after {attempts} attempts{outcome}{next}", state.name())
}
