//! One provider's server: its address, its key and the client that talks to it.

use super::Timeouts;
use super::capabilities::Capabilities;
use super::config::{ConfigError, ModelTerms, ResolvedProvider};
use super::prices::Billing;
use super::wire::{self, WireFormat};
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderValue};
use std::collections::BTreeMap;
use std::time::Duration;

pub(super) struct Endpoint {
    pub name: String,
    /// Shown to people, so without user name, password or query.
    pub address: String,
    base: Url,
    api_key: Option<HeaderValue>,
    pub client: reqwest::Client,
    pub wire: &'static dyn WireFormat,
    /// The form of requests before anything was learned about a model.
    pub capabilities: Capabilities,
    pub models: BTreeMap<String, ModelTerms>,
    pub timeouts: Timeouts,
}

/// Shorter than the idle timeout of common servers, so that a request rarely meets a connection that is being closed.
const POOL_IDLE: Duration = Duration::from_secs(4);

impl Endpoint {
    /// `None` for a provider without a server.
    pub(super) fn new(provider: &ResolvedProvider, timeouts: Timeouts) -> Result<Option<Endpoint>, ConfigError> {
        let (Some(wire), Some(base_url)) = (wire::of(provider.kind), provider.base_url.as_deref()) else {
            return Ok(None);
        };
        let wrong = |what: String| ConfigError(format!("provider {:?}: {what}", provider.name));
        let base = base(base_url).ok_or_else(|| {
            wrong(format!(
                "base_url {base_url:?} is not an http or https address; write it in full, e.g. https://host/v1"
            ))
        })?;
        let api_key = provider.api_key.as_deref().map(|api_key| {
            let mut value = HeaderValue::from_str(api_key).map_err(|_| {
                wrong("its key has characters that cannot be sent in a header; check the variable that holds it".into())
            })?;
            value.set_sensitive(true);
            Ok(value)
        });
        let client = client(&base, &timeouts)
            .map_err(|error| wrong(format!("no HTTP client can be built for {base_url}: {error}")))?;
        Ok(Some(Endpoint {
            name: provider.name.clone(),
            address: address(&base),
            base,
            api_key: api_key.transpose()?,
            client,
            wire,
            capabilities: Capabilities::new(provider.schema_mode, provider.stream),
            models: provider.models.clone(),
            timeouts,
        }))
    }

    pub(super) fn url(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}/{path}", self.base.path().trim_end_matches('/')));
        url
    }

    pub(super) fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        self.wire.authorize(&mut headers, self.api_key.as_ref());
        headers
    }

    pub(super) fn billing(&self) -> Billing {
        if self.api_key.is_some() { Billing::Metered } else { Billing::Free }
    }
}

/// The base address of the API. Users write it with its version, without, or with the route of one endpoint.
fn base(base_url: &str) -> Option<Url> {
    let mut url =
        Url::parse(base_url.trim()).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())?;
    let path = url.path().trim_end_matches('/');
    let path =
        ["/chat/completions", "/messages"].iter().find_map(|route| path.strip_suffix(route)).unwrap_or(path).to_owned();
    let versioned = path
        .split('/')
        .any(|part| part.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())));
    url.set_path(&if versioned { path } else { format!("{path}/v1") });
    Some(url)
}

fn address(base: &Url) -> String {
    let mut shown = base.clone();
    let _ = (shown.set_username(""), shown.set_password(None));
    shown.set_query(None);
    shown.to_string()
}

fn client(base: &Url, timeouts: &Timeouts) -> Result<reqwest::Client, reqwest::Error> {
    let mut builder = http_client::builder().connect_timeout(timeouts.connect).pool_idle_timeout(POOL_IDLE);
    if base.scheme() == "http" {
        // Plain HTTP must work on a machine without installed certificates.
        builder = builder.tls_certs_only([]);
    }
    if is_loopback(base) {
        builder = builder.no_proxy();
    }
    builder.build()
}

fn is_loopback(base: &Url) -> bool {
    let host = base.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_may_or_may_not_name_its_version() {
        for (written, used) in [
            ("http://127.0.0.1:4010", "http://127.0.0.1:4010/v1"),
            ("http://127.0.0.1:4010/", "http://127.0.0.1:4010/v1"),
            ("http://127.0.0.1:4010/v1/", "http://127.0.0.1:4010/v1"),
            ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1"),
            ("https://g.example/v1beta/openai", "https://g.example/v1beta/openai"),
            ("https://proxy.example/llm", "https://proxy.example/llm/v1"),
            ("http://h/v1/chat/completions", "http://h/v1"),
        ] {
            assert_eq!(base(written).unwrap().as_str(), used);
        }
        assert_eq!(base("127.0.0.1:4010"), None);
        assert_eq!(base("ftp://h"), None);
    }

    #[test]
    fn an_address_for_people_has_no_password() {
        assert_eq!(address(&base("http://ann:pw@h:1/v1?key=k").unwrap()), "http://h:1/v1");
    }
}
