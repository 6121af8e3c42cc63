//! The heartbeat of an open stream: it keeps the connection open, and notices when the credential or the sight of the run that
//! the stream depends on has ended.

use super::caller::Caller;
use super::revocation::{RevocationSignal, RevocationWatch};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::futures::OwnedNotified;
use tokio::time::{Instant, Sleep, sleep_until};

/// Proxies and browsers close connections that are silent for longer.
const PERIOD: Duration = Duration::from_secs(10);
/// Heartbeats are rounded to this, so that streams wake together: a thousand timers one by one cost far more.
const TICK: Duration = Duration::from_millis(250);

pub(super) struct Heartbeat {
    timer: Pin<Box<Sleep>>,
    due: Instant,
    revoked: RevocationSignal,
    notified: Pin<Box<OwnedNotified>>,
    /// The signal's count when this stream last looked.
    seen: u64,
    /// The task that timer and signal wake, once both were polled.
    waker: Option<Waker>,
    /// The reader's credential; none over the Unix socket.
    credential: Option<RevocationWatch>,
}

pub(super) enum HeartbeatEvent {
    /// Something was revoked: check whether the run can still be seen. Nothing is sent.
    Recheck,
    /// Send a heartbeat.
    Send,
    /// The credential is no longer valid.
    Revoked,
}

impl Heartbeat {
    pub(super) fn of(revoked: &RevocationSignal, caller: &Caller) -> Heartbeat {
        let (notified, due) = (Box::pin(revoked.next()), next());
        Heartbeat {
            timer: Box::pin(sleep_until(due)),
            due,
            notified,
            seen: revoked.count(),
            revoked: revoked.clone(),
            waker: None,
            credential: caller.validity(),
        }
    }

    /// Cancel-safe.
    pub(super) async fn next(&mut self) -> HeartbeatEvent {
        let beat = poll_fn(|context| self.beat(context)).await;
        match self.credential.as_ref().is_some_and(RevocationWatch::is_over) {
            true => HeartbeatEvent::Revoked,
            false => beat,
        }
    }

    /// Polled for every event that is sent. Timer and signal lie elsewhere in memory, which is measurable with a thousand
    /// readers, so neither is touched while none is due and both would wake this task.
    fn beat(&mut self, context: &mut Context<'_>) -> Poll<HeartbeatEvent> {
        let registered = self.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker()));
        if registered && self.seen == self.revoked.count() && Instant::now() < self.due {
            return Poll::Pending;
        }
        self.waker = None;
        if self.notified.as_mut().poll(context).is_ready() {
            self.notified.set(self.revoked.next());
            self.seen = self.revoked.count();
            return Poll::Ready(HeartbeatEvent::Recheck);
        }
        if self.timer.as_mut().poll(context).is_ready() {
            self.due = next();
            self.timer.as_mut().reset(self.due);
            return Poll::Ready(HeartbeatEvent::Send);
        }
        self.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

/// One period from now, rounded down to a tick.
fn next() -> Instant {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let elapsed = START.elapsed() + PERIOD;
    *START + TICK * (elapsed.as_millis() / TICK.as_millis()) as u32
}
