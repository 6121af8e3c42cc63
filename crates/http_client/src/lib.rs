//! What outgoing HTTP requests share: a client builder, the check of addresses, `Retry-After`, and server-sent events.
//!
//! The model gateway, `fetch_url`, webhooks, the trace exporter, the MCP client and the command line use it. It must not know who
//! sends a request or what the answer means.

#![warn(unreachable_pub)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod addresses;
mod retry_after;
pub mod sse;

pub use addresses::{GuardedResolver, PrivateAddresses, UrlError, check_url, is_private};
pub use retry_after::retry_after;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder};

/// A client that neither retries nor follows redirects: the sender decides about both, and checks a new address first.
pub fn builder() -> ClientBuilder {
    // Fails if a provider is installed already, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!("pleach/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
}

/// A client for foreign addresses: its resolver refuses names that lead into a private network.
pub fn guarded_builder(private: PrivateAddresses) -> ClientBuilder {
    // A proxy would resolve the name itself, without our check.
    builder().no_proxy().dns_resolver(GuardedResolver(private))
}

/// Why a request failed, without its URL, which may contain a password.
pub fn causes(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    let causes: Vec<String> = causes.map(ToString::to_string).collect();
    if causes.is_empty() { "the request could not be sent".into() } else { causes.join(": ") }
}
