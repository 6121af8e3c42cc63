//! The heartbeat of an open stream: it sends a sign of life now and then, and asks whether the credential and the run that
//! the stream depends on are still there.

use super::caller::Caller;
use super::revocation::{RevocationSignal, RevocationWatch};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::futures::OwnedNotified;
use tokio::time::{Instant, Sleep, sleep_until};

/// Proxies and browsers take silence for death.
const PERIOD: Duration = Duration::from_secs(10);
/// Streams beat in company: a thousand woken one by one cost far more than by the hundred.
const COMPANY: Duration = Duration::from_millis(250);

pub struct Heartbeat {
    timer: Pin<Box<Sleep>>,
    due: Instant,
    revoked: RevocationSignal,
    rung: Pin<Box<OwnedNotified>>,
    /// How often it had rung when it was last heeded.
    heeded: u64,
    /// Whom timer and alarm wake, once they were asked.
    wakes: Option<Waker>,
    /// What the reader came in with; nothing over the owner's own socket.
    credential: Option<RevocationWatch>,
}

pub enum HeartbeatEvent {
    /// Look around.
    Quiet,
    /// Let yourself be heard.
    Loud,
    /// The credential is not valid any more.
    Revoked,
}

impl Heartbeat {
    pub fn of(revoked: &RevocationSignal, caller: &Caller) -> Heartbeat {
        let (rung, due) = (Box::pin(revoked.next()), next());
        Heartbeat {
            timer: Box::pin(sleep_until(due)),
            due,
            rung,
            heeded: revoked.times(),
            revoked: revoked.clone(),
            wakes: None,
            credential: caller.validity(),
        }
    }

    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> HeartbeatEvent {
        let beat = poll_fn(|context| self.beat(context)).await;
        match self.credential.as_ref().is_some_and(RevocationWatch::is_over) {
            true => HeartbeatEvent::Revoked,
            false => beat,
        }
    }

    /// A stream looks here for every event it sends. Timer and alarm lie elsewhere in memory: with a thousand readers that
    /// is a cost, and for nothing while neither is due and both know whom to wake.
    fn beat(&mut self, context: &mut Context<'_>) -> Poll<HeartbeatEvent> {
        let knows = self.wakes.as_ref().is_some_and(|waker| waker.will_wake(context.waker()));
        if knows && self.heeded == self.revoked.times() && Instant::now() < self.due {
            return Poll::Pending;
        }
        self.wakes = None;
        if self.rung.as_mut().poll(context).is_ready() {
            self.rung.set(self.revoked.next());
            self.heeded = self.revoked.times();
            return Poll::Ready(HeartbeatEvent::Quiet);
        }
        if self.timer.as_mut().poll(context).is_ready() {
            self.due = next();
            self.timer.as_mut().reset(self.due);
            return Poll::Ready(HeartbeatEvent::Loud);
        }
        self.wakes = Some(context.waker().clone());
        Poll::Pending
    }
}

/// A period from now, or a little less.
fn next() -> Instant {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let passed = BEGAN.elapsed() + PERIOD;
    *BEGAN + COMPANY * (passed.as_millis() / COMPANY.as_millis()) as u32
}
