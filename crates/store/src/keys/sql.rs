//! The queries for credentials and for the stored answers of requests.

use super::{
    Credential, Digest, Grant, KEPT_SECONDS, KeptAnswer, Key, KeyKind, REMEMBERED_SECONDS, Reservation,
    UNFINISHED_SECONDS,
};
use crate::log::into_store_error;
use crate::sql::{Query, Row, Statement, Value, id, optional_id, page};
use crate::{SqlStore, StoreError, records, rows};
use engine::ids::{ActorId, KeyId};
use engine::time::Timestamp;
use engine::workspace::ActorRecord;
use runtime::ports::Slice;

const KEY: &str = "SELECT id, actor_id, kind, name, access, prefix, created_at, expires_at, used_at, revoked_at, parent, projects FROM tokens";
const KEEP: &str = "INSERT INTO tokens (id, actor_id, kind, name, access, prefix, digest, created_at, expires_at, used_at, revoked_at, parent, projects) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
const FORGET: &str = "DELETE FROM tokens WHERE kind <> 'token' AND (expires_at < ?1 OR revoked_at < ?1)";
/// Reserves a free key, or takes over the key of a request that did not finish in time.
const BEGIN: &str = "INSERT INTO kept_answers (credential, name, request, at) VALUES (?1, ?2, ?3, ?4) \
    ON CONFLICT (credential, name) DO UPDATE SET request = ?3, at = ?4 \
    WHERE kept_answers.status IS NULL AND kept_answers.at < ?5 RETURNING name";

fn key(row: &Row) -> Result<Key, StoreError> {
    let unknown =
        |what: &str| StoreError::Unusable(format!("the database has a {what} that this version does not know"));
    let time = |column| Ok::<_, StoreError>(row.optional_int(column)?.map(Timestamp));
    Ok(Key {
        id: row.parse(0)?,
        actor_id: row.parse(1)?,
        kind: KeyKind::parse(row.text(2)?).ok_or_else(|| unknown("kind of credential"))?,
        name: row.text(3)?.to_owned(),
        grant: Grant::parse(row.text(4)?).ok_or_else(|| unknown("scope"))?,
        prefix: row.text(5)?.to_owned(),
        created_at: Timestamp(row.int(6)?),
        expires_at: time(7)?,
        used_at: time(8)?,
        revoked_at: time(9)?,
        parent: row.optional_parse(10)?,
        projects: row.json(11)?,
    })
}

fn before(now: Timestamp, seconds: i64) -> Value {
    rows::time(now.plus_ms(-seconds * 1000))
}

impl SqlStore {
    async fn write_one(&self, sql: &'static str, values: Vec<Value>) -> Result<Vec<Row>, StoreError> {
        let written = self.backend.write(vec![Statement::new(sql, values)]).await.map_err(into_store_error)?;
        Ok(written.into_iter().next().unwrap_or_default())
    }
}

impl SqlStore {
    pub async fn keep_key(&self, key: Key, digest: Digest) -> Result<(), StoreError> {
        let forget = Statement::new(FORGET, vec![before(key.created_at, REMEMBERED_SECONDS)]);
        let values = vec![
            id(key.id),
            id(key.actor_id),
            Value::from(key.kind.name()),
            Value::from(key.name),
            Value::from(key.grant.name()),
            Value::from(key.prefix),
            Value::from(digest.to_vec()),
            rows::time(key.created_at),
            rows::optional_time(key.expires_at),
            rows::optional_time(key.used_at),
            rows::optional_time(key.revoked_at),
            optional_id(key.parent),
            rows::json(&key.projects),
        ];
        self.backend.write(vec![forget, Statement::new(KEEP, values)]).await.map(drop).map_err(into_store_error)
    }

    /// The credential with this digest, and its actor. The credential may have ended.
    pub async fn key(&self, digest: Digest) -> Result<Option<(Key, ActorRecord)>, StoreError> {
        let mut query = Query::new(format!("{KEY} WHERE digest = "));
        let found = self.backend.read(query.bind(digest.to_vec()).statement()).await?;
        let Some(key) = found.first().map(key).transpose()? else { return Ok(None) };
        let mut query = Query::new(format!("{} WHERE id = ", records::ACTOR));
        let found = self.backend.read(query.bind(id(key.actor_id)).statement()).await?;
        Ok(found.first().map(records::actor).transpose()?.map(|actor| (key, actor)))
    }

    /// The credentials of one actor or of all, newest first.
    pub async fn keys(&self, of: Option<ActorId>, slice: Slice<KeyId>) -> Result<Vec<Key>, StoreError> {
        let mut query = Query::new(format!("{KEY} WHERE 1 = 1"));
        if let Some(actor) = of {
            query.push(" AND actor_id = ").bind(id(actor));
        }
        if let Some(after) = slice.after {
            query.push(" AND id < ").bind(id(after));
        }
        query.push(" ORDER BY id DESC LIMIT ").bind(page(slice.limit));
        self.backend.read(query.statement()).await?.iter().map(key).collect()
    }

    /// The credential with this id. It may have ended.
    pub async fn key_named(&self, named: KeyId) -> Result<Option<Key>, StoreError> {
        let mut query = Query::new(format!("{KEY} WHERE id = "));
        self.backend.read(query.bind(id(named)).statement()).await?.first().map(key).transpose()
    }

    /// Revokes the credential and the sessions that were opened with it. True only for the call that ended it, so that
    /// of two concurrent calls one succeeds.
    pub async fn revoke_key(&self, key: KeyId, at: Timestamp) -> Result<bool, StoreError> {
        let sql =
            "UPDATE tokens SET revoked_at = ?1 WHERE (id = ?2 OR parent = ?2) AND revoked_at IS NULL RETURNING id";
        let ended = self.write_one(sql, vec![rows::time(at), id(key)]).await?;
        let ended: Vec<KeyId> = ended.iter().map(|row| row.parse(0)).collect::<Result<_, _>>()?;
        Ok(ended.contains(&key))
    }

    pub async fn key_used(&self, key: KeyId, at: Timestamp) -> Result<(), StoreError> {
        let sql = "UPDATE tokens SET used_at = ?1 WHERE id = ?2";
        self.write_one(sql, vec![rows::time(at), id(key)]).await.map(drop)
    }

    /// The credentials among `ids` that are no longer valid.
    pub async fn ended_keys(&self, ids: &[KeyId], now: Timestamp) -> Result<Vec<KeyId>, StoreError> {
        let mut query =
            Query::new("SELECT id FROM tokens WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ");
        query.bind(rows::time(now)).push(") AND id IN ").bind_list(ids.iter().map(id));
        let found = self.backend.read(query.statement()).await?;
        let valid: Vec<KeyId> = found.iter().map(|row| row.parse(0)).collect::<Result<_, _>>()?;
        Ok(ids.iter().filter(|id| !valid.contains(id)).copied().collect())
    }

    /// Reserves an idempotency key for a request, or says what became of the request that holds it.
    pub async fn begin(
        &self,
        by: Credential,
        name: &str,
        request: Digest,
        now: Timestamp,
    ) -> Result<Reservation, StoreError> {
        let forget = Statement::new("DELETE FROM kept_answers WHERE at < ?1", vec![before(now, KEPT_SECONDS)]);
        let stale = before(now, UNFINISHED_SECONDS);
        let values =
            vec![Value::from(by.to_string()), Value::from(name), Value::from(request.to_vec()), rows::time(now), stale];
        let written =
            self.backend.write(vec![forget, Statement::new(BEGIN, values)]).await.map_err(into_store_error)?;
        if written.get(1).is_some_and(|rows| !rows.is_empty()) {
            return Ok(Reservation::New);
        }
        let sql = "SELECT request, status, content_type, body FROM kept_answers WHERE credential = ?1 AND name = ?2";
        let found =
            self.backend.read(Statement::new(sql, vec![Value::from(by.to_string()), Value::from(name)])).await?;
        // The key was released between the insert and this read; the client retries and gets it.
        let Some(row) = found.first() else { return Ok(Reservation::InProgress) };
        if row.bytes(0)? != request {
            return Ok(Reservation::DifferentRequest);
        }
        let Some(status) = row.optional_int(1)? else { return Ok(Reservation::InProgress) };
        Ok(Reservation::Completed(KeptAnswer {
            status: u16::try_from(status).unwrap_or_default(),
            content_type: row.text(2)?.to_owned(),
            body: row.text(3)?.to_owned(),
        }))
    }

    /// Stores the answer of the request that reserved the key. `None` releases the key.
    pub async fn finish(&self, by: Credential, name: &str, answer: Option<KeptAnswer>) -> Result<(), StoreError> {
        let statement = match answer {
            Some(answer) => Statement::new(
                "UPDATE kept_answers SET status = ?1, content_type = ?2, body = ?3 WHERE credential = ?4 AND name = ?5",
                vec![
                    Value::from(i64::from(answer.status)),
                    Value::from(answer.content_type),
                    Value::from(answer.body),
                    Value::from(by.to_string()),
                    Value::from(name),
                ],
            ),
            None => Statement::new(
                "DELETE FROM kept_answers WHERE credential = ?1 AND name = ?2",
                vec![Value::from(by.to_string()), Value::from(name)],
            ),
        };
        self.backend.write(vec![statement]).await.map(drop).map_err(into_store_error)
    }
}
