//! The heartbeat of an open stream: it keeps the connection open, and notices when the credential or the sight of the run that
//! the stream depends on has ended.

use super::caller::Caller;
use super::revocation::{RevocationSignal, RevocationWatch};
use std::pin::Pin;
use std::sync::LazyLock;
use std::time::Duration;
use tokio::sync::futures::OwnedNotified;
use tokio::time::{Instant, Sleep, sleep_until};

/// Proxies and browsers close connections that are silent for longer.
const PERIOD: Duration = Duration::from_secs(10);
/// Heartbeats are rounded to this, so that streams wake together: a thousand timers one by one cost far more.
const TICK: Duration = Duration::from_millis(250);

pub(super) struct Heartbeat {
    timer: Pin<Box<Sleep>>,
    revoked: RevocationSignal,
    notified: Pin<Box<OwnedNotified>>,
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
        Heartbeat {
            timer: Box::pin(sleep_until(next())),
            notified: Box::pin(revoked.next()),
            revoked: revoked.clone(),
            credential: caller.validity(),
        }
    }

    /// Cancel-safe.
    pub(super) async fn next(&mut self) -> HeartbeatEvent {
        let beat = tokio::select! {
            biased;
            () = &mut self.notified => {
                self.notified.set(self.revoked.next());
                HeartbeatEvent::Recheck
            }
            () = &mut self.timer => {
                self.timer.as_mut().reset(next());
                HeartbeatEvent::Send
            }
        };
        match self.credential.as_ref().is_some_and(RevocationWatch::is_over) {
            true => HeartbeatEvent::Revoked,
            false => beat,
        }
    }
}

/// One period from now, rounded down to a tick.
fn next() -> Instant {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let elapsed = START.elapsed() + PERIOD;
    *START + TICK * (elapsed.as_millis() / TICK.as_millis()) as u32
}
