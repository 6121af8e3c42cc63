//! OTLP over HTTP in its JSON form: one request with some spans, and what the answer means.

use super::span::{Span, attribute};
use http_client::{builder, causes, retry_after};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime};

const TIMEOUT: Duration = Duration::from_secs(10);
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3_600);

/// The collector, and the service name that spans carry.
#[derive(Clone, Debug)]
pub struct Collector {
    /// Up to, and without, `/v1/traces`.
    pub endpoint: String,
    /// `name=value,name=value`, as `OTEL_EXPORTER_OTLP_HEADERS` has them; they may hold a key.
    pub headers: Option<String>,
    pub service: String,
}

pub struct Exporter {
    client: Client,
    url: String,
    resource: Value,
}

/// The collector did not accept the spans now and may accept them later.
pub struct NotAccepted {
    pub why: String,
    pub retry_after: Duration,
}

impl Exporter {
    pub fn new(collector: &Collector) -> Result<Exporter, String> {
        let headers = headers(collector.headers.as_deref().unwrap_or_default())?;
        let client = builder().timeout(TIMEOUT).default_headers(headers).build();
        let names = [("service.name", collector.service.as_str()), ("service.version", env!("CARGO_PKG_VERSION"))];
        Ok(Exporter {
            client: client.map_err(|error| format!("traces cannot be sent: {error}"))?,
            url: format!("{}/v1/traces", collector.endpoint.trim_end_matches('/')),
            resource: json!({"attributes": names.map(|(name, value)| attribute((name, value.into())))}),
        })
    }

    pub async fn send(&self, spans: &[Span]) -> Result<(), NotAccepted> {
        let spans: Vec<Value> = spans.iter().map(Span::json).collect();
        let scope = json!({"name": "pleach", "version": env!("CARGO_PKG_VERSION")});
        let body = json!({"resourceSpans": [{
            "resource": self.resource,
            "scopeSpans": [{"scope": scope, "spans": spans}],
        }]});
        let request = self.client.post(&self.url).header(CONTENT_TYPE, "application/json").body(body.to_string());
        match request.send().await {
            Ok(answer) => accepted(answer).await,
            Err(error) => Err(NotAccepted { why: causes(&error), retry_after: Duration::ZERO }),
        }
    }
}

/// Some answers mean "try again later". Spans that are refused for good are dropped: sending them again changes nothing.
async fn accepted(answer: Response) -> Result<(), NotAccepted> {
    let status = answer.status();
    if status.is_success() {
        let body: Value = answer.json().await.unwrap_or_default();
        if let Some(partial) = body.get("partialSuccess").filter(|partial| partial["rejectedSpans"].is_string()) {
            tracing::warn!(%partial, "the collector accepted only some of the spans");
        }
        return Ok(());
    }
    if matches!(status.as_u16(), 429 | 500 | 502 | 503 | 504 | 401 | 403 | 404) {
        let retry_after = retry_after(answer.headers(), SystemTime::now()).unwrap_or_default().min(MAX_RETRY_AFTER);
        return Err(NotAccepted { why: format!("it answered {status}"), retry_after });
    }
    tracing::warn!(%status, "the collector refused some spans; they are dropped");
    Ok(())
}

fn headers(text: &str) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        // Without the pair itself, which may hold a key.
        let unusable = || "OTEL_EXPORTER_OTLP_HEADERS must be name=value pairs with commas between them".to_owned();
        let (name, value) = pair.split_once('=').ok_or_else(unusable)?;
        let name = HeaderName::try_from(name.trim()).map_err(|_| unusable())?;
        let mut value = HeaderValue::try_from(value.trim()).map_err(|_| unusable())?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_pairs_and_a_wrong_one_is_not_repeated() {
        let read = headers("x-key=secret=with=signs, x-other = 1").unwrap();
        assert_eq!((read["x-key"].to_str().unwrap(), read["x-other"].to_str().unwrap()), ("secret=with=signs", "1"));
        assert!(read["x-key"].is_sensitive());
        assert!(!headers("hunter2").unwrap_err().contains("hunter2"));
    }
}
