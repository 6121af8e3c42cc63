//! Broadcasts a growing answer to the readers of a run, at most 20 times a second, with the part of it that people can read.

use crate::readable::ReadableText;
use engine::effect::{EffectAttempt, EffectId};
use engine::ids::RunId;
use engine::model::Role;
use runtime::live::{Delta, Live};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

const INTERVAL: Duration = Duration::from_millis(50);
/// Of a piece that is longer, such as a whole answer that was not streamed, only the end is sent.
const MAX_PIECE_BYTES: usize = 8 << 10;

/// One call's answer while it is written. Dropped when the call ends.
pub(crate) struct DeltaThrottle(Arc<Growing>);

struct Growing {
    live: Live,
    run_id: RunId,
    effect: EffectId,
    attempt: u32,
    role: Role,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    reader: ReadableText,
    /// Not sent yet: the answer, and what is readable of it.
    text: String,
    shown: String,
    /// The readable characters that were sent.
    sent: u64,
    last: Option<Instant>,
    /// Somebody will send what is held.
    is_due: bool,
    ended: bool,
}

impl DeltaThrottle {
    pub(crate) fn new(live: &Live, attempt: &EffectAttempt, role: Role) -> DeltaThrottle {
        DeltaThrottle(Arc::new(Growing {
            live: live.clone(),
            run_id: attempt.run.run_id,
            effect: attempt.effect.clone(),
            attempt: attempt.number,
            role,
            held: Mutex::default(),
        }))
    }

    /// Sends it at once, or with what else comes within the interval.
    pub(crate) fn push(&self, piece: &str) {
        let growing = &self.0;
        let mut held = growing.held.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = held.reader.push(piece);
        held.shown.push_str(&shown);
        held.text.push_str(piece);
        let wait = held.last.map_or(Duration::ZERO, |last| INTERVAL.saturating_sub(last.elapsed()));
        if wait.is_zero() {
            growing.send(&mut held);
        } else if !held.is_due {
            held.is_due = true;
            let growing = growing.clone();
            tokio::spawn(async move {
                tokio::time::sleep(wait).await;
                growing.send(&mut growing.held.lock().unwrap_or_else(PoisonError::into_inner));
            });
        }
    }
}

impl Drop for DeltaThrottle {
    fn drop(&mut self) {
        let Growing { live, run_id, effect, held, .. } = &*self.0;
        held.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
        live.stop_writing(*run_id, effect);
    }
}

impl Growing {
    fn send(&self, held: &mut Held) {
        held.is_due = false;
        if held.text.is_empty() || held.ended {
            return;
        }
        let Growing { live, run_id, effect, attempt, role, .. } = self;
        let (text, shown) = (end_of(&held.text), end_of(&held.shown));
        let whole = held.sent + held.shown.chars().count() as u64;
        let from = whole - shown.chars().count() as u64;
        live.send_delta(&Delta { run_id: *run_id, effect, attempt: *attempt, role: *role, text, shown, from });
        (held.sent, held.last) = (whole, Some(Instant::now()));
        held.text.clear();
        held.shown.clear();
    }
}

fn end_of(text: &str) -> &str {
    let mut start = text.len().saturating_sub(MAX_PIECE_BYTES);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::effect::{EffectAttempt, RunContext, Work};
    use engine::ids::{ActorId, ProjectId};
    use engine::time::Timestamp;
    use engine::workspace::Scope;
    use runtime::live::{Listener, Message};
    use serde_json::Value;
    use uuid::Uuid;

    fn attempt() -> EffectAttempt {
        let nobody = Uuid::nil();
        let run = RunContext {
            run_id: RunId(nobody),
            scope: Scope::Actor(ActorId(nobody)),
            home_project: ProjectId(nobody),
            projects: Vec::new(),
            tainted: false,
            now: Timestamp(0),
        };
        let call = engine::effect::ToolCall {
            tool: String::new(),
            arguments: Value::Null,
            granted: Vec::new(),
            home_document: None,
            props: Value::Null,
            external: None,
            answered: None,
            agent: None,
        };
        EffectAttempt { run, effect: EffectId("f9b525d18a43.i1.plan".into()), number: 1, work: Work::Tool(call) }
    }

    fn received(listener: &mut Listener) -> Vec<Value> {
        let mut deltas = Vec::new();
        while let Ok(Message::Delta(json)) = listener.messages.try_recv() {
            deltas.push(serde_json::from_str(&json).expect("JSON"));
        }
        deltas
    }

    #[tokio::test(start_paused = true)]
    async fn t4_what_is_held_back_is_sent_although_nothing_follows() {
        // Given a reader, and an answer of which two pieces come at once and then none
        let live = Live::default();
        let attempt = attempt();
        let mut listener = live.listen(attempt.run.run_id);
        let deltas = DeltaThrottle::new(&live, &attempt, Role::HomeworkPlanner);
        deltas.push("{\"progress_summary\":\"The first");
        deltas.push(" part is");
        deltas.push(" done");
        assert_eq!(received(&mut listener).len(), 1);
        // When the interval is over
        tokio::time::sleep(INTERVAL * 2).await;
        // Then the rest was sent, in one piece, with its place in the whole
        let rest = received(&mut listener);
        assert_eq!(rest.len(), 1, "{rest:?}");
        assert_eq!(
            (&rest[0]["text"], &rest[0]["shown"], &rest[0]["from"]),
            (&" part is done".into(), &" part is done".into(), &9.into())
        );
    }

    #[tokio::test(start_paused = true)]
    async fn t4_a_long_piece_is_bounded_and_nothing_is_sent_after_the_end() {
        let live = Live::default();
        let attempt = attempt();
        let mut listener = live.listen(attempt.run.run_id);
        let deltas = DeltaThrottle::new(&live, &attempt, Role::HomeworkPlanner);
        deltas.push(&format!("{{\"a\":\"{}\"", "wörter und ".repeat(100_000)));
        let sent = received(&mut listener);
        assert!(sent[0].to_string().len() < 3 * MAX_PIECE_BYTES, "{} bytes", sent[0].to_string().len());
        assert_eq!(
            sent[0]["from"].as_u64().unwrap() + sent[0]["shown"].as_str().unwrap().chars().count() as u64,
            1_100_000
        );
        deltas.push(",\"b\":\"more of it\"}");
        drop(deltas);
        tokio::time::sleep(INTERVAL * 2).await;
        assert!(received(&mut listener).is_empty());
        assert!(live.written(attempt.run.run_id).is_empty());
    }
}
