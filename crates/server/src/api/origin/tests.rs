//! Names and origins.

use super::super::revocation::{CredentialCheck, RevocationSignal};
use super::*;
use crate::drive::SystemClock;

async fn origin(listening: &str, public: Option<&str>) -> OriginPolicy {
    let clock = Arc::new(SystemClock);
    let store = store::open_inline(None, clock.clone()).await.unwrap();
    let validity = Revocations::new(CredentialCheck { store, clock }, &RevocationSignal::default());
    let origin = OriginPolicy::new(public.map(|url| PublicUrl::parse(url).unwrap()), validity);
    origin.listening.set(listening.parse().unwrap()).unwrap();
    origin
}

fn refusal(origin: &OriginPolicy, method: Method, headers: &[(&'static str, &str)]) -> Option<String> {
    let pairs = headers.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
    origin.check(&method, &Uri::from_static("/api/runs"), &pairs.collect()).err().map(|problem| problem.slug)
}

#[tokio::test]
async fn sec_s24_only_addresses_localhost_and_the_public_name_are_this_server() {
    let local = origin("127.0.0.1:7333", Some("https://Pleach.example.org/")).await;
    let host = |name: &str| refusal(&local, Method::GET, &[("host", name)]);
    for own in ["127.0.0.1:7333", "localhost:7333", "LOCALHOST", "[::1]:7333", "pleach.example.org"] {
        assert_eq!(host(own), None, "{own}");
    }
    for strange in ["evil.test", "localhost.evil.test", "10.0.0.7:7333", "", "pleach.example.org.evil.test"] {
        assert_eq!(host(strange).as_deref(), Some("unknown_host"), "{strange}");
    }
    assert_eq!(refusal(&origin("0.0.0.0:80", None).await, Method::GET, &[("host", "10.0.0.7")]), None);
}

#[tokio::test]
async fn sec_s20_other_origins_are_refused_and_links_from_other_site_are_not() {
    let local = origin("127.0.0.1:7333", Some("https://pleach.example.org")).await;
    let asked = |method, headers: &[(&'static str, &str)]| {
        refusal(&local, method, &[&[("host", "localhost:7333")], headers].concat()).is_some()
    };
    assert!(!asked(Method::POST, &[("origin", "http://localhost:7333")]));
    assert!(!asked(Method::POST, &[("origin", "https://pleach.example.org")]));
    assert!(!asked(Method::POST, &[("origin", "null"), ("sec-fetch-site", "same-origin")]));
    assert!(!asked(Method::POST, &[]), "programs send no origin");
    assert!(!asked(Method::GET, &[("sec-fetch-site", "cross-site")]), "a link in a chat");
    for foreign in ["http://localhost:9", "http://evil.test", "null", "file://localhost:7333"] {
        assert!(asked(Method::GET, &[("origin", foreign)]), "{foreign}");
    }
    assert!(asked(Method::POST, &[("sec-fetch-site", "cross-site")]));
    assert!(asked(Method::POST, &[("sec-fetch-site", "same-site"), ("origin", "http://localhost:7333")]));
}

#[test]
fn a_public_address_has_no_path_and_no_user() {
    assert!(PublicUrl::parse("https://pleach.example.org").unwrap().is_secure());
    for wrong in ["pleach.example.org", "ftp://x", "https://x/path", "https://a@x", ""] {
        assert_eq!(PublicUrl::parse(wrong), None, "{wrong}");
    }
}
