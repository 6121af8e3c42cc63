//! Checks that every network request must pass before routing: its Host names this server, its Origin is this server's own page
//! or absent. Adds the security headers to every response.

use super::AppState;
use super::auth::slow;
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
use engine::ids::{ActorId, KeyId};
use sha2::{Digest, Sha256};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Instant;

/// The session of a browser, before the letters that tell one database from another.
const COOKIE: &str = "pleach_session";

/// What this server is called on the network, and which origins it accepts.
pub struct OriginPolicy {
    /// What people call this server, where that is not its address.
    pub public: Option<PublicUrl>,
    /// Where it listens, once it does.
    pub listening: OnceLock<SocketAddr>,
    /// Who relies on which credential.
    pub validity: Arc<Revocations<KeyId>>,
    /// What the session's cookie is called, and the API's document that says so; both once it listens.
    pub cookie: OnceLock<String>,
    pub document: OnceLock<String>,
    /// Wrong tokens and codes at the login, by network.
    pub logins: RateLimit,
    /// Wrong credentials everywhere else, by network.
    pub guesses: RateLimit,
    /// New runs, by actor.
    pub starts: RateLimit,
    /// Handles tried, by actor: to invite somebody, or for a new subagent.
    pub handles: RateLimit,
}

impl OriginPolicy {
    pub fn new(public: Option<PublicUrl>, validity: Arc<Revocations<KeyId>>) -> OriginPolicy {
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

    /// Where people reach it.
    pub fn url(&self) -> Option<String> {
        let own = || self.listening.get().map(|address| format!("http://{address}"));
        self.public.as_ref().map(|public| public.origin.clone()).or_else(own)
    }

    /// A browser sends its cookies to every port of a host, so each database has a name of its own for the session: two
    /// servers on one machine do not log each other's people out.
    pub fn name_cookie(&self, instance: ActorId) {
        let digest = Sha256::digest(instance.to_string());
        let letters: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        // Set once: a process serves one database.
        let _ = self.cookie.set(format!("{COOKIE}_{letters}"));
    }

    pub fn cookie(&self) -> &str {
        self.cookie.get().map_or(COOKIE, String::as_str)
    }

    /// A wrong credential counts against the network that it came from, and is answered with a pause after many. A right
    /// one is never counted and never asks here, so it passes whatever else comes from the same place.
    pub fn refused(&self, pace: &RateLimit, peer: Option<IpAddr>, problem: Problem) -> Problem {
        let from = peer.map_or_else(String::new, |address| Network::from(address).to_string());
        match problem.status {
            StatusCode::UNAUTHORIZED => slow(pace, &from).err().unwrap_or(problem),
            _ => problem,
        }
    }

    /// A page of another site can make a browser call us by a name of its own choosing, never by an address.
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
                "this server is not known by the name in the Host header; set PLEACH_PUBLIC_URL to the name people use",
            ));
        }
        let foreign =
            || Problem::new(StatusCode::FORBIDDEN, "foreign_origin", "pages of other origins may not call this server");
        match origin(headers) {
            // A page that sends no referrer may send no origin either; browsers still say whether it is ours.
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
pub struct PublicUrl {
    pub origin: String,
}

impl PublicUrl {
    pub fn parse(text: &str) -> Option<PublicUrl> {
        let origin = text.trim_end_matches('/');
        let uri: Uri = origin.parse().ok()?;
        let plain = matches!(uri.scheme_str(), Some("http" | "https")) && uri.path() == "/" && uri.query().is_none();
        (plain && uri.authority().is_some_and(|authority| !authority.as_str().contains('@')))
            .then(|| PublicUrl { origin: origin.to_ascii_lowercase() })
    }

    pub fn is_secure(&self) -> bool {
        self.origin.starts_with("https:")
    }

    fn authority(&self) -> &str {
        self.origin.split_once("://").map_or(self.origin.as_str(), |(_, authority)| authority)
    }
}

/// Without the port.
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

/// Sent from this machine, to this machine, and passed on by nobody. A proxy beside us sends what it was sent from anywhere.
pub fn is_of_this_machine(headers: &HeaderMap, peer: Option<IpAddr>) -> bool {
    const PASSED_ON: [&str; 5] = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"];
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).map(host_of).unwrap_or_default();
    let address: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    let named_here = host.eq_ignore_ascii_case("localhost") || address.is_some_and(|address| address.is_loopback());
    named_here
        && peer.is_some_and(|address| address.is_loopback())
        && !PASSED_ON.iter().any(|name| headers.contains_key(*name))
}

/// Does the browser say that another site's page led here? Then it has kept our cookies back.
pub fn from_elsewhere(headers: &HeaderMap) -> bool {
    site(headers).is_some_and(|site| !matches!(site, "same-origin" | "none"))
}

/// Does the browser say that one of our own pages sent this? Cookies count for changes only then.
pub fn from_own_page(headers: &HeaderMap) -> bool {
    // What they say has been compared already; here it matters that they say something.
    origin(headers).is_some_and(|origin| origin != "null") || site(headers) == Some("same-origin")
}

/// Nothing from elsewhere, nothing inline but the page's own import map, no framing. Svelte makes its templates under
/// the one policy named here.
static CONTENT_SECURITY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let map = ui::import_map().map(|text| format!(" 'sha256-{}'", STANDARD.encode(Sha256::digest(text))));
    let policy = format!(
        "default-src 'none'; script-src 'self'{}; style-src 'self'; img-src 'self' data:; font-src 'self'; \
         connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; \
         frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types svelte-trusted-html",
        map.unwrap_or_default()
    );
    HeaderValue::try_from(policy).expect("plain letters")
});

const CAREFUL: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Middleware around the whole network router, unknown paths included.
pub async fn receive(State(app): State<Arc<AppState>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let number = format!("{:016x}", rand::random::<u64>());
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let mut response = match app.origin.check(request.method(), request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    let headers = response.headers_mut();
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert_with(|| CONTENT_SECURITY.clone());
    for (name, value) in CAREFUL {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    // What may be kept is named by its content; everything else is somebody's, or may be another's next time.
    if headers.get(header::CACHE_CONTROL).is_none_or(|said| said != ui::FOREVER) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    if let Ok(number) = HeaderValue::from_str(&number) {
        headers.insert("x-request-id", number);
    }
    // Never the query: codes and tokens may be in it.
    let (status, ms) = (response.status().as_u16(), started.elapsed().as_millis() as u64);
    tracing::info!(request = %number, %method, path, status, ms, "answered");
    response
}

#[cfg(test)]
mod tests;
