//! Checks that every network request must pass before routing: Host names this server, and Origin is absent or this server's
//! own page. Adds the security headers to every response.

use super::AppState;
use super::auth::limit_rate;
use super::problems::Problem;
use super::rate_limit::RateLimit;
use super::revocation::Revocations;
use crate::connections::Network;
use crate::ui;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use engine::ids::{ActorId, CredentialId};
use sha2::{Digest, Sha256};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Instant;

/// The session cookie, before the suffix that tells databases apart.
const COOKIE: &str = "pleach_session";

/// The names and origins under which this server answers, its rate limits, and what it learns when it starts to listen.
pub(crate) struct OriginPolicy {
    /// The configured public URL.
    pub public: Option<PublicUrl>,
    /// The address it listens on, once it does.
    pub listening: OnceLock<SocketAddr>,
    /// Streams, by the credential they depend on.
    pub validity: Arc<Revocations<CredentialId>>,
    /// The name of the session cookie, and the API document that mentions it. Set once.
    pub cookie: OnceLock<String>,
    pub document: OnceLock<String>,
    /// Failed logins, by network.
    pub logins: RateLimit,
    /// Wrong credentials of other requests, by network.
    pub guesses: RateLimit,
    /// New runs, by actor.
    pub starts: RateLimit,
    /// Handles tried, by actor, in invitations and for new subagents.
    pub handles: RateLimit,
}

impl OriginPolicy {
    pub(crate) fn new(public: Option<PublicUrl>, validity: Arc<Revocations<CredentialId>>) -> OriginPolicy {
        OriginPolicy {
            public,
            listening: OnceLock::new(),
            validity,
            cookie: OnceLock::new(),
            document: OnceLock::new(),
            logins: RateLimit::new(20, 0.2),
            guesses: RateLimit::new(200, 2.0),
            starts: RateLimit::new(300, 5.0),
            handles: RateLimit::new(30, 0.1),
        }
    }

    /// The URL that people use.
    pub(crate) fn url(&self) -> Option<String> {
        let own = || self.listening.get().map(|address| format!("http://{address}"));
        self.public.as_ref().map(|public| public.origin.clone()).or_else(own)
    }

    /// Browsers send cookies to every port of a host, so each database has a cookie name of its own. Otherwise two servers on
    /// one machine would log each other's people out.
    pub(crate) fn name_cookie(&self, instance: ActorId) {
        let digest = Sha256::digest(instance.to_string());
        let suffix: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        // Set once: a process serves one database.
        let _ = self.cookie.set(format!("{COOKIE}_{suffix}"));
    }

    pub(crate) fn cookie(&self) -> &str {
        self.cookie.get().map_or(COOKIE, String::as_str)
    }

    /// Counts a wrong credential against the network it came from; after many, the answer is 429. A valid credential never
    /// gets here, so it passes whatever else comes from the same network.
    pub(crate) fn refused(&self, limit: &RateLimit, peer: Option<IpAddr>, problem: Problem) -> Problem {
        let from = peer.map_or_else(String::new, |address| Network::from(address).to_string());
        match problem.status {
            StatusCode::UNAUTHORIZED => limit_rate(limit, &from).err().unwrap_or(problem),
            _ => problem,
        }
    }

    /// Protects against DNS rebinding: a foreign page can make a browser use any host name for this server, but not an address.
    fn is_named(&self, authority: &str) -> bool {
        let host = host_of(authority);
        let loopback_only = self.listening.get().is_none_or(|address| address.ip().is_loopback());
        match host.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(address) => address.is_loopback() || !loopback_only,
            Err(_) => {
                host.eq_ignore_ascii_case("localhost")
                    || self.public.as_ref().is_some_and(|public| host.eq_ignore_ascii_case(host_of(public.authority())))
            }
        }
    }

    fn is_own(&self, origin: &str, authority: &str) -> bool {
        let named = origin.split_once("://").filter(|(scheme, _)| matches!(*scheme, "http" | "https"));
        named.is_some_and(|(_, of_origin)| of_origin.eq_ignore_ascii_case(authority))
            || self.public.as_ref().is_some_and(|public| public.origin.eq_ignore_ascii_case(origin))
    }

    fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        let given = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let authority = given.or_else(|| uri.authority().map(|authority| authority.as_str())).unwrap_or_default();
        if !self.is_named(authority) {
            return Err(Problem::new(
                StatusCode::MISDIRECTED_REQUEST,
                "unknown_host",
                "the Host header does not name this server; nothing was changed. Set PLEACH_PUBLIC_URL to the URL that people use",
            ));
        }
        let foreign = || {
            Problem::forbidden("foreign_origin", "pages of other origins may not call this server; nothing was changed")
        };
        match origin(headers) {
            // A page with `no-referrer` sends the origin null; Sec-Fetch-Site still says whether it is ours.
            Some("null") if site(headers) == Some("same-origin") => {}
            Some(origin) if !self.is_own(origin, authority) => return Err(foreign()),
            _ => {}
        }
        match site(headers) {
            None | Some("same-origin" | "none") => Ok(()),
            Some(_) if method.is_safe() => Ok(()),
            Some(_) => Err(foreign()),
        }
    }
}

/// `https://pleach.example.org`, without a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PublicUrl {
    pub origin: String,
}

impl PublicUrl {
    pub(crate) fn parse(text: &str) -> Option<PublicUrl> {
        let origin = text.trim_end_matches('/');
        let uri: Uri = origin.parse().ok()?;
        let plain = matches!(uri.scheme_str(), Some("http" | "https")) && uri.path() == "/" && uri.query().is_none();
        (plain && uri.authority().is_some_and(|authority| !authority.as_str().contains('@')))
            .then(|| PublicUrl { origin: origin.to_ascii_lowercase() })
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.origin.starts_with("https:")
    }

    fn authority(&self) -> &str {
        self.origin.split_once("://").map_or(self.origin.as_str(), |(_, authority)| authority)
    }
}

/// The host of an authority, without its port.
fn host_of(authority: &str) -> &str {
    match authority.rfind(':') {
        Some(colon) if !authority[colon..].contains(']') => &authority[..colon],
        _ => authority,
    }
}

fn origin(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::ORIGIN).map(|origin| origin.to_str().unwrap_or("unreadable"))
}

fn site(headers: &HeaderMap) -> Option<&str> {
    headers.get("sec-fetch-site").map(|site| site.to_str().unwrap_or("unreadable"))
}

/// Whether a request was sent from this machine to this machine. One that a proxy forwarded may come from anywhere.
pub(crate) fn is_of_this_machine(headers: &HeaderMap, peer: Option<IpAddr>) -> bool {
    const FORWARDED: [&str; 5] = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"];
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).map(host_of).unwrap_or_default();
    let address: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    let named_here = host.eq_ignore_ascii_case("localhost") || address.is_some_and(|address| address.is_loopback());
    named_here
        && peer.is_some_and(|address| address.is_loopback())
        && !FORWARDED.iter().any(|name| headers.contains_key(*name))
}

/// Whether another site's page led here. The browser then withholds the session cookie.
pub(crate) fn from_other_site(headers: &HeaderMap) -> bool {
    site(headers).is_some_and(|site| !matches!(site, "same-origin" | "none"))
}

/// Whether one of this server's own pages sent the request. Only then may a session cookie change something.
pub(crate) fn from_own_page(headers: &HeaderMap) -> bool {
    // `check` has compared the origin already; here it only has to be present.
    origin(headers).is_some_and(|origin| origin != "null") || site(headers) == Some("same-origin")
}

/// Allows nothing from other origins, nothing inline but the page's import map, and no framing. Svelte creates its templates
/// under the one Trusted Types policy named here.
static CONTENT_SECURITY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let map = ui::import_map().map(|text| format!(" 'sha256-{}'", STANDARD.encode(Sha256::digest(text))));
    let policy = format!(
        "default-src 'none'; script-src 'self'{}; style-src 'self'; img-src 'self' data:; font-src 'self'; \
         connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; \
         frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types svelte-trusted-html",
        map.unwrap_or_default()
    );
    HeaderValue::try_from(policy).expect("a policy is printable ASCII")
});

const SECURITY_HEADERS: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Middleware around the whole network router, unknown paths included.
pub(crate) async fn receive(State(app): State<Arc<AppState>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let request_id = format!("{:016x}", rand::random::<u64>());
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let mut response = match app.origin.check(request.method(), request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    let headers = response.headers_mut();
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert_with(|| CONTENT_SECURITY.clone());
    for (name, value) in SECURITY_HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    // Only files named by their content may be cached; other responses are private to their caller.
    if headers.get(header::CACHE_CONTROL).is_none_or(|value| value != ui::IMMUTABLE) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    if let Ok(request_id) = HeaderValue::from_str(&request_id) {
        headers.insert("x-request-id", request_id);
    }
    // Without the query, which may hold codes and tokens.
    let (status, ms) = (response.status().as_u16(), started.elapsed().as_millis() as u64);
    tracing::info!(request = %request_id, %method, path, status, ms, "answered");
    response
}

#[cfg(test)]
mod tests;
