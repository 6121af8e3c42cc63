//! Notifications on their way to people: who has read which, and what is to be sent where else. Deliveries are
//! written with the notification itself, so none is lost; sending them is somebody else's work.

use crate::ports::StoreError;
use async_trait::async_trait;
use engine::batch::NotificationRow;
use engine::ids::{ActorId, InvitationId, QuestionId, RunId};
use engine::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use uuid::Uuid;

/// The kinds of what runs say, which is what webhooks are for.
pub const KINDS: [&str; 6] = ["question", "waiting", "completed", "stopped", "failed", "canceled"];

/// The kind of the notification that an invitation is announced by.
pub const INVITATION_KIND: &str = "invitation";

/// A notification, and whether its owner has read it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Notice {
    /// `<run>:<seq>`; of an invitation, its own id in the place of the run's.
    pub id: String,
    /// Absent for an invitation, which comes from no run.
    pub run_id: Option<RunId>,
    pub seq: u64,
    pub owner: ActorId,
    pub kind: String,
    pub title: String,
    pub body: String,
    pub question_id: Option<QuestionId>,
    pub invitation_id: Option<InvitationId>,
    pub at: Timestamp,
    pub read_at: Option<Timestamp>,
}

impl Notice {
    pub fn new(row: NotificationRow, read_at: Option<Timestamp>) -> Notice {
        let of_run = row.kind != INVITATION_KIND;
        Notice {
            id: format!("{}:{}", row.run_id, row.seq),
            run_id: of_run.then_some(row.run_id),
            invitation_id: (!of_run).then_some(InvitationId(row.run_id.0)),
            seq: row.seq,
            owner: row.owner,
            kind: row.kind,
            title: row.title,
            body: row.body,
            question_id: row.question_id,
            at: row.at,
            read_at,
        }
    }
}

/// Where a list of notices goes on: after this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    pub at: Timestamp,
    pub run_id: RunId,
    pub seq: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Template {
    /// Standard Webhooks.
    Standard,
    Slack,
    Discord,
    Ntfy,
}

impl Template {
    pub const ALL: [Template; 4] = [Template::Standard, Template::Slack, Template::Discord, Template::Ntfy];

    pub fn name(self) -> &'static str {
        match self {
            Template::Standard => "standard",
            Template::Slack => "slack",
            Template::Discord => "discord",
            Template::Ntfy => "ntfy",
        }
    }

    pub fn parse(word: &str) -> Option<Template> {
        Template::ALL.into_iter().find(|template| template.name() == word)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Webhook {
    pub id: Uuid,
    pub owner: ActorId,
    pub url: String,
    pub template: Template,
    /// Empty: every kind.
    pub kinds: Vec<String>,
    /// Shown once, when it is made.
    pub secret: String,
    /// Why nothing is sent any more.
    pub disabled_reason: Option<String>,
    pub created_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    Due,
    Delivered,
    /// Given up.
    Failed,
}

impl DeliveryState {
    pub const ALL: [DeliveryState; 3] = [DeliveryState::Due, DeliveryState::Delivered, DeliveryState::Failed];

    pub fn name(self) -> &'static str {
        match self {
            DeliveryState::Due => "due",
            DeliveryState::Delivered => "delivered",
            DeliveryState::Failed => "failed",
        }
    }
}

/// One notification to one webhook; the id is the same on every attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    pub id: String,
    pub webhook_id: Uuid,
    /// Absent for a test.
    pub run_id: Option<RunId>,
    pub seq: Option<u64>,
    pub kind: String,
    #[serde(skip)]
    pub body: String,
    pub state: DeliveryState,
    pub attempts: u32,
    pub due: Timestamp,
    pub last_status: Option<u16>,
    pub last_error: Option<String>,
    pub created_at: Timestamp,
    pub delivered_at: Option<Timestamp>,
}

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempted {
    pub next: Next,
    pub status: Option<u16>,
    pub error: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Done,
    Again(Duration),
    GiveUp,
}

#[async_trait]
pub trait NotificationStore: Send + Sync + 'static {
    /// Newest first.
    async fn notices(
        &self,
        owner: ActorId,
        unread: bool,
        after: Option<Mark>,
        limit: usize,
    ) -> Result<Vec<Notice>, StoreError>;
    async fn unread(&self, owner: ActorId) -> Result<u64, StoreError>;
    /// These, or all there are.
    async fn mark_read(&self, owner: ActorId, which: Option<&[(RunId, u64)]>) -> Result<(), StoreError>;

    async fn webhooks(&self, owner: ActorId) -> Result<Vec<Webhook>, StoreError>;
    async fn add_webhook(&self, webhook: &Webhook) -> Result<(), StoreError>;
    /// With its deliveries. False when the owner has no such webhook.
    async fn remove_webhook(&self, owner: ActorId, id: Uuid) -> Result<bool, StoreError>;
    async fn disable_webhook(&self, id: Uuid, reason: &str) -> Result<(), StoreError>;
    /// Newest first.
    async fn deliveries(&self, webhook: Uuid, limit: usize) -> Result<Vec<Delivery>, StoreError>;
    async fn add_delivery(&self, delivery: &Delivery) -> Result<(), StoreError>;

    /// Take up to `limit` that are due, for so long; each counts as an attempt. The database's clock judges.
    async fn take_due(&self, limit: usize, hold: Duration) -> Result<Vec<(Delivery, Webhook)>, StoreError>;
    async fn attempted(&self, delivery: &str, attempted: Attempted) -> Result<(), StoreError>;
    /// How many deliveries stand where.
    async fn delivery_counts(&self) -> Result<Vec<(String, u64)>, StoreError>;
}
