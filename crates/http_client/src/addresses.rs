//! Protects requests to foreign addresses (webhooks, web pages) against server-side request forgery. Unless the configuration
//! allows it, no request reaches a private network, neither by IP address nor by a name that resolves to one.

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::error::Error;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const MAX_URL_BYTES: usize = 2_000;

/// Whether requests may go to this machine and its networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrivateAddresses {
    Refused,
    Allowed,
}

/// Why no request may go to a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UrlError {
    /// The text is not a URL that a request could be sent to.
    Malformed(String),
    /// The host is, or resolves to, a private or reserved address.
    PrivateHost(String),
}

impl UrlError {
    /// The resolver's refusal, if that is why a request failed.
    pub fn behind(error: &reqwest::Error) -> Option<&UrlError> {
        let mut cause = error.source();
        while let Some(error) = cause {
            if let Some(refused) = error.downcast_ref() {
                return Some(refused);
            }
            cause = error.source();
        }
        None
    }
}

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UrlError::Malformed(why) => f.write_str(why),
            UrlError::PrivateHost(host) => write!(f, "{host} is a private or reserved address"),
        }
    }
}

impl Error for UrlError {}

/// The URL, if its text allows a request. The resolver checks the addresses of its name.
pub fn check_url(text: &str, private: PrivateAddresses) -> Result<Url, UrlError> {
    let malformed = |why: String| Err(UrlError::Malformed(why));
    if text.len() > MAX_URL_BYTES {
        return malformed(format!("the URL has {} bytes; at most {MAX_URL_BYTES} are allowed", text.len()));
    }
    let url = match Url::parse(text) {
        Ok(url) => url,
        Err(error) => return malformed(format!("it is not a URL: {error}")),
    };
    if !matches!(url.scheme(), "http" | "https") {
        return malformed(format!("the URL must begin with http:// or https://, not {}:", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return malformed("the URL must not contain a user name or a password".into());
    }
    let Some(host) = url.host_str() else { return malformed("the URL names no host".into()) };
    let number: Option<IpAddr> = host.trim_start_matches('[').trim_end_matches(']').parse().ok();
    // A name may end with the dot of the DNS root.
    let name = host.strip_suffix('.').unwrap_or(host);
    let is_local_name = name == "localhost" || name.ends_with(".localhost");
    if private == PrivateAddresses::Refused && (is_local_name || number.is_some_and(is_private)) {
        return Err(UrlError::PrivateHost(host.to_owned()));
    }
    Ok(url)
}

/// Resolves names, and refuses names with a private address.
pub struct GuardedResolver(pub PrivateAddresses);

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let private = self.0;
        Box::pin(async move {
            let host = name.as_str().to_owned();
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            // One private address is enough to refuse, since the connector may choose any of them.
            if private == PrivateAddresses::Refused && found.iter().any(|address| is_private(address.ip())) {
                return Err(UrlError::PrivateHost(host).into());
            }
            let found: Addrs = Box::new(found.into_iter());
            Ok(found)
        })
    }
}

/// Whether an address is not public: of this machine, of its networks, or reserved.
pub fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => embedded_v4(address).map_or_else(|| is_private_v6(address), is_private_v4),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        || a == 0
        || a >= 240
        // Carrier-grade NAT.
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        // 6to4 relays may lead to private addresses.
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (18..20).contains(&b))
}

/// The IPv4 address inside an IPv6 address, to which its packets are delivered.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let of = |high: u16, low: u16| Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    match address.segments() {
        // IPv4-compatible (including :: and ::1), IPv4-mapped and IPv4-translated addresses.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => of(high, low),
        // NAT64 with its well-known prefix.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => of(high, low),
        _ => None,
    }
}

/// The IPv4 address at the end of an ISATAP tunnel's address. It can only make an address private: unlike an embedded one, it
/// does not replace the check of the prefix.
fn tunneled_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.octets() {
        [.., 0 | 2, 0, 0x5e, 0xfe, a, b, c, d] => Some(Ipv4Addr::new(a, b, c, d)),
        _ => None,
    }
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    // Only 2000::/3 is allocated for public use.
    (parts[0] & 0xe000) != 0x2000
        // 2001::/23 is reserved for protocols (Teredo, benchmarks, ORCHID). Teredo and 6to4 may lead to private addresses.
        || (parts[0] == 0x2001 && parts[1] < 0x200)
        || parts[0] == 0x2002
        || tunneled_v4(address).is_some_and(is_private_v4)
        || (parts[0] == 0x2001 && parts[1] == 0xdb8)
        || (parts[0] == 0x3fff && parts[1] < 0x1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn h7_sec_s30_private_and_public_addresses_are_distinguished() {
        for inside in "127.0.0.1 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 255.255.255.255 \
            224.0.0.1 198.18.0.1 ::1 :: fd00::1 fe80::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 64:ff9b::7f00:1 \
            2002:7f00:1:: ff02::1"
            .split(' ')
        {
            assert!(is_private(inside.parse().unwrap()), "{inside}");
        }
        for outside in ["1.1.1.1", "93.184.216.34", "172.32.0.1", "2606:4700::1111", "::ffff:1.1.1.1"] {
            assert!(!is_private(outside.parse().unwrap()), "{outside}");
        }
    }

    #[test]
    fn x19_a_private_address_embedded_in_ipv6_is_private() {
        for inside in "::ffff:0:7f00:1 ::ffff:0:a9fe:a9fe ::127.0.0.1 64:ff9b:1::a00:1 64:ff9b::a9fe:a9fe 2002:a00:1:: \
            2002:c0a8:101::1 2001:0:4136:e378:8000:63bf:80ff:fffe 2001:0:7f00:1:0:0:a0a:a0a \
            2606:4700::5efe:a00:1 fd00::5efe:808:808 2002:808:808::1 fec0::1 2001:db8::1 3fff::1 2001:2::1 \
            100::1 5f00::1 203.0.113.1 192.0.2.1 198.51.100.1 192.88.99.1 100.127.255.255 0.1.2.3 250.1.1.1"
            .split(' ')
        {
            assert!(is_private(inside.parse().unwrap()), "{inside}");
            let host = if inside.contains(':') { format!("[{inside}]") } else { inside.to_owned() };
            assert!(check_url(&format!("http://{host}/"), PrivateAddresses::Refused).is_err(), "{inside}");
        }
        for outside in
            "2001:4860:4860::8888 2a00:1450::1 64:ff9b::808:808 2a00:1450::5efe:808:808 100.63.0.1 100.128.0.1"
                .split(' ')
        {
            assert!(!is_private(outside.parse().unwrap()), "{outside}");
        }
    }

    proptest! {
        #[test]
        fn x19_every_embedding_of_an_address_is_judged_like_the_address(bits: u32) {
            let v4 = Ipv4Addr::from(bits);
            let (high, low) = ((bits >> 16) as u16, bits as u16);
            for wrapped in [
                Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low),
                Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low),
                Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0x2606, 0x4700, 0, 0, 0, 0x5efe, high, low),
            ] {
                prop_assert_eq!(is_private(wrapped.into()), is_private(v4.into()), "{} as {}", v4, wrapped);
            }
            prop_assert!(is_private(Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1).into()));
            prop_assert!(is_private(Ipv6Addr::new(0x2001, 0, 0x4136, 0xe378, 0x8000, 0x63bf, !high, !low).into()));
            // Decimal, hexadecimal and embedded notations are the same address.
            for written in [format!("http://{bits}/"), format!("http://{bits:#x}/"), format!("http://[::ffff:{v4}]:81/x")] {
                prop_assert_eq!(check_url(&written, PrivateAddresses::Refused).is_err(), is_private(v4.into()), "{}", written);
            }
        }
    }

    #[test]
    fn h7_sec_s30_s34_a_private_address_is_refused_in_every_notation() {
        for bad in [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://017700000001/",
            "http://[::1]:80/",
            "http://localhost/",
            "http://a.localhost/",
            "http://[::ffff:169.254.169.254]/",
            "ftp://example.com/",
            "https://me:secret@example.com/",
            "javascript:1",
            "http://127.1/",
        ] {
            assert!(check_url(bad, PrivateAddresses::Refused).is_err(), "{bad}");
        }
        assert!(check_url("https://hooks.example.com/T0/B0?x=1", PrivateAddresses::Refused).is_ok());
        assert!(check_url("http://127.0.0.1:9000/", PrivateAddresses::Allowed).is_ok());
        assert!(check_url("file:///etc/passwd", PrivateAddresses::Allowed).is_err());
    }

    #[tokio::test]
    async fn h7_sec_s31_s32_a_name_that_resolves_to_a_private_address_is_refused() {
        let name = || "localhost".parse::<Name>().unwrap();
        let error = GuardedResolver(PrivateAddresses::Refused).resolve(name()).await.err().expect("refused");
        assert_eq!(error.downcast_ref(), Some(&UrlError::PrivateHost("localhost".into())));
        assert!(GuardedResolver(PrivateAddresses::Allowed).resolve(name()).await.is_ok());
        let client = crate::guarded_builder(PrivateAddresses::Refused).build().unwrap();
        let failed = client.get("http://localhost:1/").send().await.expect_err("refused");
        assert_eq!(UrlError::behind(&failed), Some(&UrlError::PrivateHost("localhost".into())));
    }
}
