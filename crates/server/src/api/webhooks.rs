//! Routes for webhooks: URLs that notifications are sent to, and the outcome of each delivery. A secret is shown once.

use super::prelude::*;
use engine::time::Timestamp;
use outbound::webhooks::{Secret, check_url};
use store::notifications::{Delivery, DeliveryState, KINDS, Template, Webhook};
use uuid::Uuid;

/// Webhooks that one person may have.
const MAX_WEBHOOKS: usize = 50;
const RECENT: usize = 50;

pub(super) fn routes() -> Vec<Route> {
    let new = form! {
        url: words(2_000);
        kinds: up_to(KINDS.len(), one_of(KINDS)), template: one_of(Template::ALL.map(Template::name)),
    };
    let mut made = webhook();
    made["properties"]["secret"] = secret();
    made["title"] = "NewWebhook".into();
    let routes = [
        Route::get("/api/webhooks", Read, "Your webhooks, without their secrets", list_all)
            .returns(200, list_of(webhook())),
        Route::post("/api/webhooks", Run, "Send notifications to a URL, signed", create).body(new).returns(201, made),
        Route::get("/api/webhooks/{id}", Read, "A webhook and its last deliveries", show)
            .returns(200, record([("webhook", webhook()), ("deliveries", list_of(delivery()))], [])),
        Route::delete("/api/webhooks/{id}", Run, "Send nothing there any more", remove).returns_empty(204),
        Route::post("/api/webhooks/{id}/test", Run, "Send a test there now", test).returns(200, delivery()),
    ];
    routes.map(Route::personal).into()
}

fn webhook() -> Schema {
    record! { "Webhook":
        id: id(), url: text(), template: one_of(Template::ALL.map(Template::name)), kinds: list_of(one_of(KINDS)),
        disabled_reason: nullable(text()), created_at: time(),
    }
}

fn delivery() -> Schema {
    record! { "Delivery":
        id: text(), webhook_id: id(), run_id: nullable(id()), seq: nullable(count()), kind: text(),
        state: one_of(DeliveryState::ALL.map(DeliveryState::name)), attempts: count(), due: time(),
        last_status: nullable(count()), last_error: nullable(text()), created_at: time(),
        delivered_at: nullable(time()),
    }
}

/// A webhook as its owner sees it.
#[derive(Serialize, Deserialize)]
pub(crate) struct WebhookView {
    pub id: Uuid,
    pub url: String,
    pub template: Template,
    pub kinds: Vec<String>,
    pub disabled_reason: Option<String>,
    pub created_at: Timestamp,
    /// Only in the response that creates it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

impl From<Webhook> for WebhookView {
    fn from(webhook: Webhook) -> WebhookView {
        let Webhook { id, url, template, kinds, disabled_reason, created_at, .. } = webhook;
        WebhookView { id, url, template, kinds, disabled_reason, created_at, secret: None }
    }
}

async fn list_all(Context(app, caller): Context) -> JsonResult<Vec<WebhookView>> {
    let webhooks = app.store.webhooks(caller.id()).await?;
    Ok(Json(webhooks.into_iter().map(WebhookView::from).collect()))
}

/// The body of `POST /api/webhooks`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewWebhook {
    pub url: String,
    /// Every kind when empty.
    #[serde(default)]
    pub kinds: Vec<String>,
    #[serde(default = "standard")]
    pub template: String,
}

fn standard() -> String {
    Template::Standard.name().into()
}

async fn create(
    Context(app, caller): Context,
    JsonBody(new): JsonBody<NewWebhook>,
) -> ApiResult<(StatusCode, Json<WebhookView>)> {
    if let Some(unknown) = new.kinds.iter().find(|kind| !KINDS.contains(&kind.as_str())) {
        let detail =
            format!("there is no notification of kind {unknown}; no webhook was made. Kinds: {}", KINDS.join(", "));
        return Err(Problem::invalid("unknown_kind", detail));
    }
    let template = Template::parse(&new.template).ok_or_else(|| {
        let all = Template::ALL.map(Template::name).join(", ");
        Problem::invalid(
            "unknown_template",
            format!("there is no template {}; no webhook was made. Templates: {all}", new.template),
        )
    })?;
    check_url(&new.url, app.private).map_err(|why| Problem::invalid("bad_url", why))?;
    if app.store.webhooks(caller.id()).await?.len() >= MAX_WEBHOOKS {
        return Err(Problem::invalid(
            "too_many",
            format!("you have {MAX_WEBHOOKS} webhooks, which is the most; no webhook was made. Remove one first"),
        ));
    }
    let secret = Secret::of(rand::random()).text();
    let webhook = Webhook {
        id: app.mint(),
        owner: caller.id(),
        url: new.url,
        template,
        kinds: new.kinds,
        secret: secret.clone(),
        disabled_reason: None,
        created_at: app.clock.now(),
    };
    app.store.add_webhook(&webhook).await?;
    Ok((StatusCode::CREATED, Json(WebhookView { secret: Some(secret), ..webhook.into() })))
}

async fn owned(app: &AppState, caller: &Caller, id: Uuid) -> ApiResult<Webhook> {
    let webhooks = app.store.webhooks(caller.id()).await?;
    webhooks.into_iter().find(|webhook| webhook.id == id).ok_or_else(|| Problem::not_found("webhook"))
}

#[derive(Serialize, Deserialize)]
pub(crate) struct WebhookWithDeliveries {
    pub webhook: WebhookView,
    pub deliveries: Vec<Delivery>,
}

async fn show(Context(app, caller): Context, Id(id): Id<Uuid>) -> JsonResult<WebhookWithDeliveries> {
    let webhook = owned(&app, &caller, id).await?.into();
    Ok(Json(WebhookWithDeliveries { webhook, deliveries: app.store.deliveries(id, RECENT).await? }))
}

async fn remove(Context(app, caller): Context, Id(id): Id<Uuid>) -> ApiResult<StatusCode> {
    match app.store.remove_webhook(caller.id(), id).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Problem::not_found("webhook")),
    }
}

/// Sends a test at once, so that the response has its outcome. A failed one is retried like any other delivery.
async fn test(Context(app, caller): Context, Id(id): Id<Uuid>) -> JsonResult<Delivery> {
    let webhook = owned(&app, &caller, id).await?;
    let now = app.clock.now();
    let test: Uuid = app.mint();
    let data = json!({"kind": "test", "title": "a test", "body": "If you can read this, notifications reach you."});
    let delivery = Delivery {
        id: format!("msg_{test}"),
        webhook_id: id,
        run_id: None,
        seq: None,
        kind: "test".into(),
        body: json!({"type": "webhook.test", "timestamp": now, "data": data}).to_string(),
        state: DeliveryState::Due,
        attempts: 1,
        // Later than this attempt, so that the background sender does not send it too.
        due: now.plus_ms(60_000),
        last_status: None,
        last_error: None,
        created_at: now,
        delivered_at: None,
    };
    app.store.add_delivery(&delivery).await?;
    app.webhook_sender()?.deliver(&delivery, &webhook).await?;
    let sent = app.store.deliveries(id, RECENT).await?.into_iter().find(|one| one.id == delivery.id);
    Ok(Json(sent.unwrap_or(delivery)))
}
