//! The queries for notifications, webhooks and deliveries. The append that writes a notification also writes its
//! deliveries, to the webhooks that exist at that moment.

use super::{Attempted, Delivery, DeliveryState, Mark, Next, Notice, Template, Webhook};
use crate::log::into_store_error;
use crate::records::{NOTIFICATION_COLUMNS, notification};
use crate::rows::json;
use crate::sql::{Query, Row, Statement, Value, id, optional_id};
use crate::tables::insert;
use crate::{SqlStore, StoreError};
use engine::batch::{NotificationRow, Rows};
use engine::ids::{ActorId, RunId};
use engine::time::Timestamp;
use serde_json::json;
use std::time::Duration;
use uuid::Uuid;

const WEBHOOK: &str = "id, owner, url, template, kinds, secret, disabled_reason, created_at";
const DELIVERY: &str =
    "id, webhook_id, run_id, seq, kind, body, state, attempts, due, last_status, last_error, created_at, delivered_at";

/// `?7` is the kind in double quotes, as it stands in the JSON list of the webhook's kinds.
const INSERT_DELIVERIES: &str = "INSERT INTO webhook_deliveries (id, webhook_id, run_id, seq, kind, body, state, attempts, due, created_at) \
    SELECT 'msg_' || w.id || ?1, w.id, ?2, ?3, ?4, ?5, 'due', 0, now_ms(), now_ms() FROM webhooks w \
    WHERE w.owner = ?6 AND w.disabled_reason IS NULL AND (w.kinds = '[]' OR instr(w.kinds, ?7) > 0) ON CONFLICT DO NOTHING";

const TAKE: &str = "UPDATE webhook_deliveries SET claimed_until = now_ms() + ?1, attempts = attempts + 1 WHERE id IN \
    (SELECT d.id FROM webhook_deliveries d WHERE d.state = 'due' AND d.due <= now_ms() \
    AND (d.claimed_until IS NULL OR d.claimed_until <= now_ms()) ORDER BY d.due LIMIT ?2 FOR UPDATE SKIP LOCKED) RETURNING ";

const ATTEMPTED: &str = "UPDATE webhook_deliveries SET state = ?1, due = now_ms() + ?2, claimed_until = NULL, last_status = ?3, \
    last_error = ?4, delivered_at = CASE WHEN ?1 = 'delivered' THEN now_ms() END WHERE id = ?5";

/// Writes the deliveries of the notifications of an append.
pub(crate) fn insert_deliveries(rows: &Rows) -> Vec<Statement> {
    let statement = |row: &NotificationRow| {
        let values = vec![
            Value::from(format!("_{}_{}", row.run_id, row.seq)),
            id(row.run_id),
            Value::from(row.seq),
            Value::from(row.kind.as_str()),
            Value::from(body(row, rows)),
            id(row.owner),
            Value::from(format!("\"{}\"", row.kind)),
        ];
        Statement::new(INSERT_DELIVERIES, values)
    };
    rows.notifications.iter().map(statement).collect()
}

/// The body of a delivery, as Standard Webhooks specifies it.
fn body(row: &NotificationRow, rows: &Rows) -> String {
    let run = &rows.run;
    let body = json!({
        "type": format!("run.{}", row.kind),
        "timestamp": row.at,
        "data": {
            "notification_id": format!("{}:{}", row.run_id, row.seq),
            "run_id": row.run_id,
            "seq": row.seq,
            "kind": row.kind,
            "title": row.title,
            "body": row.body,
            "question_id": row.question_id,
            "run_kind": run.kind,
            "status": run.status,
            "stop_reason": run.stop_reason,
        },
    });
    body.to_string()
}

fn webhook(row: &Row) -> Result<Webhook, StoreError> {
    let template = row.text(3)?;
    Ok(Webhook {
        id: row.parse(0)?,
        owner: row.parse(1)?,
        url: row.text(2)?.to_owned(),
        template: Template::parse(template)
            .ok_or_else(|| StoreError::Unusable(format!("a webhook has the unknown template {template}")))?,
        kinds: row.json(4)?,
        secret: row.text(5)?.to_owned(),
        disabled_reason: row.optional_text(6)?.map(str::to_owned),
        created_at: Timestamp(row.int(7)?),
    })
}

fn delivery(row: &Row) -> Result<Delivery, StoreError> {
    let state = row.text(6)?;
    let known = DeliveryState::ALL.into_iter().find(|known| known.name() == state);
    Ok(Delivery {
        id: row.text(0)?.to_owned(),
        webhook_id: row.parse(1)?,
        run_id: row.optional_parse(2)?,
        seq: row.optional_int(3)?.map(i64::unsigned_abs),
        kind: row.text(4)?.to_owned(),
        body: row.text(5)?.to_owned(),
        state: known.ok_or_else(|| StoreError::Unusable(format!("a delivery has the unknown state {state}")))?,
        attempts: u32::try_from(row.int(7)?).unwrap_or_default(),
        due: Timestamp(row.int(8)?),
        last_status: row.optional_int(9)?.and_then(|status| u16::try_from(status).ok()),
        last_error: row.optional_text(10)?.map(str::to_owned),
        created_at: Timestamp(row.int(11)?),
        delivered_at: row.optional_int(12)?.map(Timestamp),
    })
}

fn notice(row: &Row) -> Result<Notice, StoreError> {
    let read_at = row.optional_int(8)?.map(Timestamp);
    Ok(Notice::new(notification(row)?, read_at))
}

impl SqlStore {
    async fn do_all(&self, statements: Vec<Statement>) -> Result<Vec<Vec<Row>>, StoreError> {
        self.backend.write(statements).await.map_err(into_store_error)
    }

    /// Newest first.
    pub async fn notices(
        &self,
        owner: ActorId,
        unread: bool,
        after: Option<Mark>,
        limit: usize,
    ) -> Result<Vec<Notice>, StoreError> {
        let columns: Vec<String> = NOTIFICATION_COLUMNS.split(", ").map(|column| format!("n.{column}")).collect();
        let mut query = Query::new(format!("SELECT {}, r.at FROM notifications n ", columns.join(", ")));
        query.push("LEFT JOIN notification_reads r ON r.actor_id = n.owner AND r.run_id = n.run_id AND r.seq = n.seq");
        query.push(" WHERE n.owner = ").bind(id(owner));
        if unread {
            query.push(" AND r.at IS NULL");
        }
        if let Some(Mark { at, run_id, seq }) = after {
            query.push(" AND (n.at < ").bind(at.0).push(" OR (n.at = ").bind(at.0);
            query.push(" AND (n.run_id < ").bind(id(run_id)).push(" OR (n.run_id = ").bind(id(run_id));
            query.push(" AND n.seq < ").bind(seq).push("))))");
        }
        query.push(" ORDER BY n.at DESC, n.run_id DESC, n.seq DESC LIMIT ").bind(limit);
        self.backend.read(query.statement()).await?.iter().map(notice).collect()
    }

    pub async fn unread(&self, owner: ActorId) -> Result<u64, StoreError> {
        let sql = "SELECT COUNT(*) FROM notifications n WHERE n.owner = ?1 AND NOT EXISTS (SELECT 1 FROM notification_reads r \
            WHERE r.actor_id = n.owner AND r.run_id = n.run_id AND r.seq = n.seq)";
        let found = self.backend.read(Statement::new(sql, vec![id(owner)])).await?;
        found.first().map_or(Ok(0), |row| row.int(0).map(i64::unsigned_abs))
    }

    /// Marks the notifications in `which`, or all, as read.
    pub async fn mark_read(&self, owner: ActorId, which: Option<&[(RunId, u64)]>) -> Result<(), StoreError> {
        let all = "INSERT INTO notification_reads (actor_id, run_id, seq, at) SELECT n.owner, n.run_id, n.seq, now_ms() \
            FROM notifications n WHERE n.owner = ?1";
        let unless_read = " ON CONFLICT DO NOTHING";
        let statements = match which {
            None => vec![Statement::new(format!("{all}{unless_read}"), vec![id(owner)])],
            Some(which) => {
                let one = format!("{all} AND n.run_id = ?2 AND n.seq = ?3{unless_read}");
                let values = which.iter().map(|(run, seq)| vec![id(owner), id(run), Value::from(*seq)]);
                values.map(|values| Statement::new(one.clone(), values)).collect()
            }
        };
        if statements.is_empty() {
            return Ok(());
        }
        self.do_all(statements).await.map(drop)
    }

    pub async fn webhooks(&self, owner: ActorId) -> Result<Vec<Webhook>, StoreError> {
        let sql = format!("SELECT {WEBHOOK} FROM webhooks WHERE owner = ?1 ORDER BY id");
        self.backend.read(Statement::new(sql, vec![id(owner)])).await?.iter().map(webhook).collect()
    }

    pub async fn add_webhook(&self, webhook: &Webhook) -> Result<(), StoreError> {
        let values = vec![
            id(webhook.id),
            id(webhook.owner),
            Value::from(webhook.url.as_str()),
            Value::from(webhook.template.name()),
            json(&webhook.kinds),
            Value::from(webhook.secret.as_str()),
            Value::from(webhook.disabled_reason.clone()),
            Value::from(webhook.created_at.0),
        ];
        self.do_all(vec![Statement::new(insert("webhooks", WEBHOOK, ""), values)]).await.map(drop)
    }

    /// Deletes the webhook with its deliveries. False when the owner has no such webhook.
    pub async fn remove_webhook(&self, owner: ActorId, webhook: Uuid) -> Result<bool, StoreError> {
        let removed = "DELETE FROM webhooks WHERE id = ?1 AND owner = ?2 RETURNING id";
        let orphaned = "DELETE FROM webhook_deliveries WHERE webhook_id = ?1 \
            AND NOT EXISTS (SELECT 1 FROM webhooks w WHERE w.id = webhook_deliveries.webhook_id)";
        let written = self.do_all(vec![
            Statement::new(removed, vec![id(webhook), id(owner)]),
            Statement::new(orphaned, vec![id(webhook)]),
        ]);
        Ok(written.await?.first().is_some_and(|rows| !rows.is_empty()))
    }

    pub async fn disable_webhook(&self, webhook: Uuid, reason: &str) -> Result<(), StoreError> {
        let sql = "UPDATE webhooks SET disabled_reason = ?1 WHERE id = ?2";
        self.do_all(vec![Statement::new(sql, vec![Value::from(reason), id(webhook)])]).await.map(drop)
    }

    /// Newest first.
    pub async fn deliveries(&self, webhook: Uuid, limit: usize) -> Result<Vec<Delivery>, StoreError> {
        let mut query = Query::new(format!("SELECT {DELIVERY} FROM webhook_deliveries WHERE webhook_id = "));
        query.bind(id(webhook)).push(" ORDER BY created_at DESC, id DESC LIMIT ").bind(limit);
        self.backend.read(query.statement()).await?.iter().map(delivery).collect()
    }

    pub async fn add_delivery(&self, delivery: &Delivery) -> Result<(), StoreError> {
        let values = vec![
            Value::from(delivery.id.as_str()),
            id(delivery.webhook_id),
            optional_id(delivery.run_id),
            Value::from(delivery.seq.map(|seq| seq as i64)),
            Value::from(delivery.kind.as_str()),
            Value::from(delivery.body.as_str()),
            Value::from(delivery.state.name()),
            Value::from(i64::from(delivery.attempts)),
            Value::from(delivery.due.0),
            Value::from(delivery.last_status.map(i64::from)),
            Value::from(delivery.last_error.clone()),
            Value::from(delivery.created_at.0),
            Value::from(delivery.delivered_at.map(|at| at.0)),
        ];
        self.do_all(vec![Statement::new(insert("webhook_deliveries", DELIVERY, ""), values)]).await.map(drop)
    }

    /// Claims up to `limit` due deliveries and counts an attempt for each. The claim ends after `hold` by the
    /// database's clock, so the deliveries of a sender that died are sent again.
    pub async fn take_due(&self, limit: usize, hold: Duration) -> Result<Vec<(Delivery, Webhook)>, StoreError> {
        let hold = i64::try_from(hold.as_millis()).unwrap_or(i64::MAX / 4);
        let take = Statement::new(format!("{TAKE}{DELIVERY}"), vec![Value::from(hold), Value::from(limit)]);
        let mut taken = Vec::new();
        for row in self.do_all(vec![take]).await?.iter().flatten() {
            let delivery = delivery(row)?;
            let sql = format!("SELECT {WEBHOOK} FROM webhooks WHERE id = ?1");
            let found = self.backend.read(Statement::new(sql, vec![id(delivery.webhook_id)])).await?;
            if let Some(row) = found.first() {
                taken.push((delivery, webhook(row)?));
            }
        }
        Ok(taken)
    }

    pub async fn attempted(&self, delivery: &str, attempted: Attempted) -> Result<(), StoreError> {
        let (state, wait) = match attempted.next {
            Next::Done => (DeliveryState::Delivered, 0),
            Next::Again(wait) => (DeliveryState::Due, i64::try_from(wait.as_millis()).unwrap_or(i64::MAX / 4)),
            Next::GiveUp => (DeliveryState::Failed, 0),
        };
        let values = vec![
            Value::from(state.name()),
            Value::from(wait),
            Value::from(attempted.status.map(i64::from)),
            Value::from(attempted.error),
            Value::from(delivery),
        ];
        self.do_all(vec![Statement::new(ATTEMPTED, values)]).await.map(drop)
    }

    /// How many deliveries are in each state.
    pub async fn delivery_counts(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let sql = "SELECT state, COUNT(*) FROM webhook_deliveries GROUP BY state ORDER BY state";
        let found = self.backend.read(Statement::new(sql, vec![])).await?;
        found.iter().map(|row| Ok((row.text(0)?.to_owned(), row.int(1)?.unsigned_abs()))).collect()
    }
}
