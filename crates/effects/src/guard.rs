//! Where a request may lead whose address somebody else named: a webhook's, a page's. People name it and models may have
//! named it to them, so nothing inside the network is reached unless the configuration says so: not by a number, not by a
//! name that turns out to be inside.

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const MOST_URL: usize = 2_000;

/// Whether addresses of this machine and its networks may be sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Private {
    Refused,
    Allowed,
}

/// The URL, if it may be sent to as far as can be told without asking for its name.
pub fn check(text: &str, private: Private) -> Result<Url, String> {
    if text.len() > MOST_URL {
        return Err(format!("the URL has {} characters; at most {MOST_URL} are allowed", text.len()));
    }
    let url = Url::parse(text).map_err(|error| format!("it is not a URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("the URL must begin with http:// or https://, not {}:", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the URL must not hold a user name or a password".into());
    }
    let host = url.host_str().ok_or("the URL names no host")?;
    let number: Option<IpAddr> = host.trim_start_matches('[').trim_end_matches(']').parse().ok();
    let named_inside = host == "localhost" || host.ends_with(".localhost");
    if private == Private::Refused && (named_inside || number.is_some_and(is_private)) {
        return Err(refused(host));
    }
    Ok(url)
}

fn refused(host: &str) -> String {
    format!(
        "{host} is inside this network; only webhooks_private = true (for webhooks) or fetch_private = true (for fetch_url) allows that"
    )
}

/// Looks names up, and knows none that leads inside.
pub struct Guarded(pub Private);

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let private = self.0;
        Box::pin(async move {
            let host = name.as_str().to_owned();
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            // One that is inside is enough: which of them is used is not ours to choose.
            if private == Private::Refused && found.iter().any(|address| is_private(address.ip())) {
                return Err(refused(&host).into());
            }
            let found: Addrs = Box::new(found.into_iter());
            Ok(found)
        })
    }
}

fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
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
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (18..20).contains(&b))
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    let [.., high, low] = parts;
    let embedded = Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    // Others that carry an IPv4 address: mapped, compatible and translated ones, 6to4, Teredo.
    let carries = parts[..5] == [0; 5] && matches!(parts[5], 0 | 0xffff) || parts[..2] == [0x64, 0xff9b];
    address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        || (parts[0] & 0xfe00) == 0xfc00
        || (parts[0] & 0xffc0) == 0xfe80
        || (parts[0] & 0xffc0) == 0xfec0
        || parts[0] == 0x2002
        || parts[..2] == [0x2001, 0]
        || parts[..2] == [0x2001, 0xdb8]
        || (carries && is_private_v4(embedded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h7_sec_s30_addresses_inside_are_told_from_those_outside() {
        for inside in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "255.255.255.255",
            "224.0.0.1",
            "198.18.0.1",
            "::1",
            "::",
            "fd00::1",
            "fe80::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "ff02::1",
        ] {
            assert!(is_private(inside.parse().unwrap()), "{inside}");
        }
        for outside in ["1.1.1.1", "93.184.216.34", "172.32.0.1", "2606:4700::1111", "::ffff:1.1.1.1"] {
            assert!(!is_private(outside.parse().unwrap()), "{outside}");
        }
    }

    #[test]
    fn h7_sec_s30_s34_what_leads_inside_however_it_is_written_is_refused() {
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
            assert!(check(bad, Private::Refused).is_err(), "{bad}");
        }
        assert!(check("https://hooks.example.com/T0/B0?x=1", Private::Refused).is_ok());
        assert!(check("http://127.0.0.1:9000/", Private::Allowed).is_ok());
        assert!(check("file:///etc/passwd", Private::Allowed).is_err());
    }

    #[tokio::test]
    async fn h7_sec_s31_s32_a_name_that_turns_out_to_be_inside_is_refused_when_it_is_looked_up() {
        let name = || "localhost".parse::<Name>().unwrap();
        assert!(Guarded(Private::Refused).resolve(name()).await.is_err());
        assert!(Guarded(Private::Allowed).resolve(name()).await.is_ok());
    }
}
