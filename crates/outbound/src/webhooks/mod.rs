//! Delivers notifications to webhooks: signed, at least once, retried over days. Each delivery is a row in the database;
//! nothing stays in memory between two attempts.

mod signature;
mod template;

pub use signature::{Secret, sign};

use futures::future::join_all;
use http_client::{PrivateAddresses, UrlError, causes, guarded_builder, retry_after};
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Client, Url};
use runtime::live::Live;
use runtime::ports::{Clock, StoreError};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};
use store::SqlStore;
use store::notifications::{Attempted, Delivery, Next, Webhook};
use tokio_util::sync::CancellationToken;

/// The wait after each attempt; after the last attempt the delivery has failed.
const WAITS_S: [u64; 9] = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
const TIMEOUT: Duration = Duration::from_secs(15);
/// How long a delivery stays claimed. If its sender dies, another process sends it after that.
const CLAIM_TIME: Duration = Duration::from_secs(60);
const DELIVERIES_AT_ONCE: usize = 8;
/// Deliveries that other processes write are found at least this often.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How long the last round may take when the process stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);
const HTTP_GONE: u16 = 410;

#[derive(Clone)]
pub struct WebhookSender {
    store: Arc<SqlStore>,
    clock: Arc<dyn Clock>,
    /// Made for the first delivery: reading the certificates that the system trusts takes a sixth of a short command's time.
    client: Arc<OnceLock<Client>>,
    private: PrivateAddresses,
}

impl WebhookSender {
    pub fn new(store: Arc<SqlStore>, clock: Arc<dyn Clock>, private: PrivateAddresses) -> WebhookSender {
        WebhookSender { store, clock, client: Arc::default(), private }
    }

    fn client(&self) -> Result<&Client, String> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let made = guarded_builder(self.private).timeout(TIMEOUT).build();
        let made = made.map_err(|error| format!("webhooks cannot be sent: {}", causes(&error)))?;
        Ok(self.client.get_or_init(|| made))
    }

    /// Sends until `stop`, then once more what is already due.
    pub async fn serve(self, live: Live, stop: CancellationToken) {
        let mut lifecycle = live.lifecycle();
        loop {
            match self.round().await {
                Ok(0) => {
                    tokio::select! {
                        () = stop.cancelled() => break,
                        _ = lifecycle.recv() => {}
                        () = tokio::time::sleep(POLL_INTERVAL) => {}
                    }
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "the delivery of webhooks waits for the database");
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
            }
            if stop.is_cancelled() {
                break;
            }
        }
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, self.round()).await;
    }

    /// Sends some of what is due; returns how many.
    async fn round(&self) -> Result<usize, StoreError> {
        let taken = self.store.take_due(DELIVERIES_AT_ONCE, CLAIM_TIME).await?;
        let sent = taken.iter().map(|(delivery, webhook)| self.deliver(delivery, webhook));
        join_all(sent).await.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(taken.len())
    }

    /// One attempt, with its result stored.
    pub async fn deliver(&self, delivery: &Delivery, webhook: &Webhook) -> Result<Attempted, StoreError> {
        let attempted = match self.send(delivery, webhook).await {
            Ok((status, headers)) => self.judge(delivery, webhook, status, &headers).await?,
            Err(error) => again(delivery.attempts, None, error, Duration::ZERO),
        };
        if let Some(error) = &attempted.error {
            tracing::info!(delivery = delivery.id, attempt = delivery.attempts, error, "a webhook was not delivered");
        }
        self.store.attempted(&delivery.id, attempted.clone()).await?;
        Ok(attempted)
    }

    async fn judge(
        &self,
        delivery: &Delivery,
        webhook: &Webhook,
        status: u16,
        headers: &HeaderMap,
    ) -> Result<Attempted, StoreError> {
        Ok(match status {
            200..300 => Attempted { next: Next::Done, status: Some(status), error: None },
            HTTP_GONE => {
                let reason = "the receiver answered 410 Gone: it wants nothing more";
                self.store.disable_webhook(webhook.id, reason).await?;
                Attempted { next: Next::GiveUp, status: Some(status), error: Some(reason.into()) }
            }
            _ => {
                let error = format!("the receiver answered {status}");
                let asked = retry_after(headers, SystemTime::now()).unwrap_or_default();
                again(delivery.attempts, Some(status), error, asked)
            }
        })
    }

    async fn send(&self, delivery: &Delivery, webhook: &Webhook) -> Result<(u16, HeaderMap), String> {
        let url = check_url(&webhook.url, self.private)?;
        let secret = Secret::parse(&webhook.secret).ok_or("its secret cannot be read")?;
        let message = template::render(webhook.template, &delivery.body);
        let timestamp = self.clock.now().0.div_euclid(1_000);
        let signature = sign(&secret, &delivery.id, timestamp, &message.body);
        let mut request = self.client()?.post(url).header(CONTENT_TYPE, message.content_type);
        for (name, value) in message.headers {
            request = request.header(name, value);
        }
        let request = request
            .header("webhook-id", &delivery.id)
            .header("webhook-timestamp", timestamp)
            .header("webhook-signature", signature)
            .body(message.body);
        let answer = request.send().await.map_err(|error| send_error(&error))?;
        Ok((answer.status().as_u16(), answer.headers().clone()))
    }
}

/// Schedules the next attempt: later each time, with jitter so that not all receivers are called at once.
fn again(attempts: u32, status: Option<u16>, error: String, asked: Duration) -> Attempted {
    let wait = WAITS_S.get(attempts.saturating_sub(1) as usize).map(|seconds| Duration::from_secs(*seconds));
    let next = match wait {
        Some(wait) => Next::Again(wait.mul_f64(1.0 + jitter() / 5.0).max(asked)),
        None => Next::GiveUp,
    };
    Attempted { next, status, error: Some(error) }
}

/// From 0 to 1.
fn jitter() -> f64 {
    use std::hash::{BuildHasher, Hasher};
    let drawn = std::collections::hash_map::RandomState::new().build_hasher().finish();
    drawn as f64 / u64::MAX as f64
}

/// The URL of a webhook, or why nothing can be sent there.
pub fn check_url(url: &str, private: PrivateAddresses) -> Result<Url, String> {
    http_client::check_url(url, private).map_err(|error| refusal(&error))
}

fn refusal(error: &UrlError) -> String {
    match error {
        UrlError::Malformed(why) => why.clone(),
        UrlError::PrivateHost(_) => format!("{error}, and webhooks_private does not allow those"),
    }
}

fn send_error(error: &reqwest::Error) -> String {
    match UrlError::behind(error) {
        Some(refused) => refusal(refused),
        None if error.is_timeout() => format!("no answer within {} s", TIMEOUT.as_secs()),
        None => causes(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h7_attempts_are_further_apart_each_time_and_end() {
        for (index, seconds) in WAITS_S.iter().enumerate() {
            let Next::Again(wait) = again(index as u32 + 1, None, String::new(), Duration::ZERO).next else {
                panic!("given up after {index}")
            };
            assert!((*seconds..=seconds * 6 / 5).contains(&wait.as_secs()), "{wait:?} after attempt {}", index + 1);
        }
        assert_eq!(again(10, None, String::new(), Duration::ZERO).next, Next::GiveUp);
        let asked = Duration::from_secs(600);
        assert_eq!(again(1, Some(429), String::new(), asked).next, Next::Again(asked), "what was asked for is a floor");
    }
}
