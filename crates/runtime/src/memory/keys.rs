//! Credentials and kept answers in memory.

use super::{Memory, page};
use crate::keys::{
    Begun, Credential, Digest, KEPT_SECONDS, KeptAnswer, Key, KeyKind, Keys, REMEMBERED_SECONDS, UNFINISHED_SECONDS,
};
use crate::ports::{Slice, StoreError};
use async_trait::async_trait;
use engine::ids::{ActorId, KeyId};
use engine::time::Timestamp;
use engine::workspace::ActorRecord;
use std::collections::BTreeMap;

#[derive(Default)]
pub(super) struct Ring {
    keys: BTreeMap<KeyId, (Key, Digest)>,
    answers: BTreeMap<(Credential, String), Request>,
}

struct Request {
    digest: Digest,
    at: Timestamp,
    answer: Option<KeptAnswer>,
}

impl Request {
    fn forgotten(&self, now: Timestamp) -> bool {
        let kept = if self.answer.is_some() { KEPT_SECONDS } else { UNFINISHED_SECONDS };
        self.at.plus_ms(kept * 1000) < now
    }
}

fn remembered(key: &Key, now: Timestamp) -> bool {
    let since = now.plus_ms(-REMEMBERED_SECONDS * 1000);
    let recent = |end: Option<Timestamp>| end.is_none_or(|end| end >= since);
    key.kind == KeyKind::Token || (recent(key.expires_at) && recent(key.revoked_at))
}

#[async_trait]
impl Keys for Memory {
    async fn keep_key(&self, key: Key, digest: Digest) -> Result<(), StoreError> {
        let mut state = self.state();
        state.ring.keys.retain(|_, (kept, _)| remembered(kept, key.created_at));
        state.ring.keys.insert(key.id, (key, digest));
        Ok(())
    }

    async fn key(&self, digest: Digest) -> Result<Option<(Key, ActorRecord)>, StoreError> {
        let state = self.state();
        let found = state.ring.keys.values().find(|(_, kept)| *kept == digest).map(|(key, _)| key);
        Ok(found.and_then(|key| Some((key.clone(), state.actors.get(&key.actor_id)?.clone()))))
    }

    async fn keys(&self, of: Option<ActorId>, slice: Slice<KeyId>) -> Result<Vec<Key>, StoreError> {
        let state = self.state();
        let keys = state.ring.keys.values().rev().map(|(key, _)| key);
        let theirs = keys.filter(|key| of.is_none_or(|actor| actor == key.actor_id));
        let behind = theirs.filter(|key| slice.after.is_none_or(|after| key.id < after));
        Ok(behind.take(page(slice.limit)).cloned().collect())
    }

    async fn key_named(&self, id: KeyId) -> Result<Option<Key>, StoreError> {
        Ok(self.state().ring.keys.values().map(|(key, _)| key).find(|key| key.id == id).cloned())
    }

    async fn revoke_key(&self, id: KeyId, at: Timestamp) -> Result<bool, StoreError> {
        let mut state = self.state();
        let theirs = state.ring.keys.values_mut().map(|(key, _)| key);
        let mut ended = Vec::new();
        for key in theirs.filter(|key| key.revoked_at.is_none() && (key.id == id || key.parent == Some(id))) {
            key.revoked_at = Some(at);
            ended.push(key.id);
        }
        Ok(ended.contains(&id))
    }

    async fn key_used(&self, id: KeyId, at: Timestamp) -> Result<(), StoreError> {
        if let Some((key, _)) = self.state().ring.keys.get_mut(&id) {
            key.used_at = Some(at);
        }
        Ok(())
    }

    async fn ended_keys(&self, ids: &[KeyId], now: Timestamp) -> Result<Vec<KeyId>, StoreError> {
        let state = self.state();
        let valid = |id: &KeyId| state.ring.keys.get(id).is_some_and(|(key, _)| key.is_valid(now));
        Ok(ids.iter().filter(|id| !valid(id)).copied().collect())
    }

    async fn begin(&self, by: Credential, name: &str, request: Digest, now: Timestamp) -> Result<Begun, StoreError> {
        let mut state = self.state();
        state.ring.answers.retain(|_, request| !request.forgotten(now));
        match state.ring.answers.get(&(by, name.to_owned())) {
            Some(known) if known.digest != request => Ok(Begun::Another),
            Some(Request { answer: Some(answer), .. }) => Ok(Begun::Done(answer.clone())),
            Some(_) => Ok(Begun::Pending),
            None => {
                let fresh = Request { digest: request, at: now, answer: None };
                state.ring.answers.insert((by, name.to_owned()), fresh);
                Ok(Begun::First)
            }
        }
    }

    async fn finish(&self, by: Credential, name: &str, answer: Option<KeptAnswer>) -> Result<(), StoreError> {
        let mut state = self.state();
        let key = (by, name.to_owned());
        match answer {
            Some(answer) => {
                if let Some(request) = state.ring.answers.get_mut(&key) {
                    request.answer = Some(answer);
                }
            }
            None => drop(state.ring.answers.remove(&key)),
        }
        Ok(())
    }
}
