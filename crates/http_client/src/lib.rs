//! What every outgoing HTTP request shares: one client builder, the addresses it may reach, `Retry-After`, and event streams.
//!
//! Model providers, `fetch_url`, webhooks, the trace exporter and the command line's own client use it. It must not know
//! who sends a request or what the answer means.

mod addresses;
mod retry_after;
pub mod sse;

pub use addresses::{GuardedResolver, PrivateAddresses, check_url, is_private};
pub use retry_after::retry_after;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder};

/// A client that neither retries nor follows redirects: whoever sends decides about both, and judges the new address first.
pub fn builder() -> ClientBuilder {
    // Fails when a provider is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!("pleach/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
}

/// A client for an address that somebody else named: its names are resolved here and never lead into a private network.
pub fn guarded_builder(private: PrivateAddresses) -> ClientBuilder {
    // A proxy would resolve the name itself, and reach what the resolver refuses.
    builder().no_proxy().dns_resolver(GuardedResolver(private))
}

/// Why a request failed, without its URL: that may hold a password.
pub fn causes(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    let causes: Vec<String> = causes.map(ToString::to_string).collect();
    if causes.is_empty() { "the request could not be made".into() } else { causes.join(": ") }
}
