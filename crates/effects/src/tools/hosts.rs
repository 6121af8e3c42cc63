//! An allow-list of hosts: names, or `*.` and a name for everything below it.

use reqwest::Url;
use std::fmt;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts(Vec<Pattern>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    Exactly(String),
    /// Every name below this one, not the name itself.
    Below(String),
}

impl Hosts {
    /// `example.org, *.example.org`: separated by commas, written as in a URL, without port.
    pub fn parse(text: &str) -> Option<Hosts> {
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        words.map(Pattern::parse).collect::<Option<Vec<_>>>().map(Hosts)
    }

    /// Whether a request may go to this URL's host, on any port; otherwise why not.
    pub fn admit(&self, url: &Url) -> Result<(), String> {
        let host = url.host_str().map(plain).unwrap_or_default();
        match self.0.iter().any(|pattern| pattern.fits(&host)) {
            true => Ok(()),
            false => Err(format!("{host} is not among the hosts that fetch_hosts allows: {self}")),
        }
    }
}

impl fmt::Display for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        let written = self.0.iter().map(|pattern| match pattern {
            Pattern::Exactly(host) => host.clone(),
            Pattern::Below(host) => format!("*.{host}"),
        });
        f.write_str(&written.collect::<Vec<_>>().join(", "))
    }
}

impl Pattern {
    fn parse(word: &str) -> Option<Pattern> {
        match word.strip_prefix("*.") {
            Some(below) => host(below).map(Pattern::Below),
            None => host(word).map(Pattern::Exactly),
        }
    }

    fn fits(&self, host: &str) -> bool {
        match self {
            Pattern::Exactly(name) => host == name,
            Pattern::Below(name) => {
                host.strip_suffix(name.as_str()).is_some_and(|rest| rest.ends_with('.') && rest.len() > 1)
            }
        }
    }
}

/// In the form URLs have: lower case, punycode, IP addresses in their usual notation.
fn host(word: &str) -> Option<String> {
    if word.is_empty() || word.contains(['/', '@', '?', '#', '*', ' ']) {
        return None;
    }
    let url = Url::parse(&format!("http://{word}/")).ok()?;
    (url.port().is_none() && !word.ends_with(":80")).then(|| url.host_str().map(plain)).flatten()
}

/// A name and the same name with its final dot are one host.
fn plain(host: &str) -> String {
    host.trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x12_an_allow_list_admits_its_hosts_and_no_lookalikes() {
        let hosts = Hosts::parse("example.org, *.docs.example.org, Bücher.example, 192.0.2.1").expect("hosts");
        let admits = |url: &str| hosts.admit(&Url::parse(url).expect("a URL")).is_ok();
        for url in "https://example.org/a https://EXAMPLE.org./ http://example.org:8080/ https://a.docs.example.org/ \
            https://a.b.docs.example.org/ https://xn--bcher-kva.example/ http://192.0.2.1/"
            .split(' ')
        {
            assert!(admits(url), "{url}");
        }
        for url in "https://evil.org/ https://www.example.org/ https://docs.example.org/ https://evildocs.example.org/ \
            https://example.org.evil.net/ https://notexample.org/ https://evil.net/?u=example.org \
            http://192.0.2.2/"
            .split(' ')
        {
            assert!(!admits(url), "{url}");
        }
        let any = Url::parse("https://example.org/").expect("a URL");
        assert!(Hosts::default().admit(&any).is_err(), "an empty list admits nothing");
    }

    #[test]
    fn a_list_with_an_invalid_host_is_refused() {
        for bad in ["*", "http://example.org", "a b", "example.org:80", "example.org:8080", "*.*.org", "me@example.org"]
        {
            assert_eq!(Hosts::parse(bad), None, "{bad}");
        }
        assert_eq!(Hosts::parse("a.org,*.b.org").expect("hosts").to_string(), "a.org, *.b.org");
    }
}
