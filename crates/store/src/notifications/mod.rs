//! Notifications that people read, and their deliveries to webhooks. A delivery is written in the transaction that
//! writes its notification, so none is lost. The crate `outbound` sends them; this module must not know HTTP.

mod sql;

pub(crate) use sql::insert_deliveries;

use engine::batch::NotificationRow;
use engine::ids::{ActorId, InvitationId, QuestionId, RunId};
use engine::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use uuid::Uuid;

/// The kinds of notifications that runs make; webhooks subscribe to these.
pub const KINDS: [&str; 6] = ["question", "waiting", "completed", "stopped", "failed", "canceled"];

/// The kind of the notification that announces an invitation.
pub const INVITATION_KIND: &str = "invitation";

/// A notification, and when its owner read it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Notice {
    /// `<run>:<seq>`. For an invitation the first part is the id of the invitation.
    pub id: String,
    /// Absent for an invitation, which no run made.
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

/// The last notice of a page. The next page starts after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    pub at: Timestamp,
    pub run_id: RunId,
    pub seq: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Template {
    /// The payload and signature of the Standard Webhooks specification.
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

    pub fn parse(name: &str) -> Option<Template> {
        Template::ALL.into_iter().find(|template| template.name() == name)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Webhook {
    pub id: Uuid,
    pub owner: ActorId,
    pub url: String,
    pub template: Template,
    /// The kinds it subscribes to. Empty means every kind.
    pub kinds: Vec<String>,
    /// Signs the deliveries. It is stored as it is, and shown once, when the webhook is created.
    pub secret: String,
    /// Why the platform stopped sending to it.
    pub disabled_reason: Option<String>,
    pub created_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    Due,
    Delivered,
    /// Every attempt failed. There will be no more.
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

/// One notification to one webhook. Its id is the same on every attempt, so a receiver can drop duplicates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    pub id: String,
    pub webhook_id: Uuid,
    /// Absent for a test delivery.
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

/// The result of one attempt at a delivery.
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
