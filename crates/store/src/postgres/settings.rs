//! How to reach PostgreSQL: the URL, completed by the variables and files that libpq reads. The URL comes first. A
//! password must not get into an error.

use super::password;
use super::tls::{Connector, Roots, Verification};
use crate::StoreError;
use percent_encoding::percent_decode_str;
use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode as Wire};

/// The limit for opening a connection, from the first byte until the server has authenticated us.
pub(crate) const CONNECT: Duration = Duration::from_secs(5);
/// After sent bytes are unacknowledged for this long, the kernel closes the connection.
const UNACKNOWLEDGED: Duration = Duration::from_secs(15);
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_RETRIES: u32 = 3;

/// Environment variables by name.
pub type Variables = BTreeMap<String, String>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SslMode {
    Disable,
    /// TLS if the server offers it, without checking its certificate.
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

impl SslMode {
    const NAMES: &str = "disable, prefer, require, verify-ca or verify-full";

    fn parse(text: &str) -> Option<SslMode> {
        match text {
            "disable" => Some(SslMode::Disable),
            "prefer" => Some(SslMode::Prefer),
            "require" => Some(SslMode::Require),
            "verify-ca" => Some(SslMode::VerifyCa),
            "verify-full" => Some(SslMode::VerifyFull),
            _ => None,
        }
    }
}

#[derive(Clone)]
pub(crate) struct Settings {
    pub config: Config,
    pub tls: Connector,
    pub mode: SslMode,
}

impl Settings {
    pub(crate) fn of(url: &str, variables: &Variables) -> Result<Settings, StoreError> {
        let (url, own) = without_tls_parameters(url);
        let mut config = Config::from_str(&url).map_err(|error| {
            StoreError::Unusable(format!("the database URL is not valid: {}", super::chain(&error)))
        })?;
        keep_alive(&mut config);
        name_hosts(&mut config);
        let set = |name: &str| variables.get(name).filter(|value| !value.is_empty()).cloned();
        let mode = own.mode.or_else(|| set("PGSSLMODE")).unwrap_or_else(|| "prefer".into());
        let mode = SslMode::parse(&mode).ok_or_else(|| {
            StoreError::Unusable(format!("sslmode={mode} is not known; it must be {}", SslMode::NAMES))
        })?;
        let root = own.root.or_else(|| set("PGSSLROOTCERT"));
        let (mode, tls) = connector(mode, root.as_deref())?;
        let local =
            !config.get_hosts().is_empty() && config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)));
        // A server does not use TLS on its Unix socket. libpq ignores the mode there too.
        let mode = if local { SslMode::Disable } else { mode };
        config.ssl_mode(match mode {
            SslMode::Disable => Wire::Disable,
            SslMode::Prefer => Wire::Prefer,
            SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => Wire::Require,
        });
        if config.get_password().is_none()
            && let Some(password) = password::find(&config, variables)?
        {
            config.password(password);
        }
        Ok(Settings { config, tls, mode })
    }
}

/// The same meaning as in libpq: `require` with a root certificate checks the signer, and with `system` the name too.
fn connector(mode: SslMode, root: Option<&str>) -> Result<(SslMode, Connector), StoreError> {
    let mode = match (mode, root) {
        (SslMode::Require, Some("system")) => SslMode::VerifyFull,
        (SslMode::Require, Some(_)) => SslMode::VerifyCa,
        _ => mode,
    };
    let verification = match mode {
        SslMode::Disable | SslMode::Prefer | SslMode::Require => Verification::None,
        SslMode::VerifyCa => Verification::Signer,
        SslMode::VerifyFull => Verification::SignerAndName,
    };
    let roots = match root {
        Some(path) if path != "system" => Roots::File(path.into()),
        _ => Roots::System,
    };
    Ok((mode, Connector::new(verification, roots)?))
}

/// The URL parameters that this program reads, because the client library does not know them.
#[derive(Default)]
struct TlsParameters {
    mode: Option<String>,
    root: Option<String>,
}

fn without_tls_parameters(url: &str) -> (String, TlsParameters) {
    let mut own = TlsParameters::default();
    // A password may contain a question mark, so the search for parameters begins after the `@`.
    let host = url.find('@').map_or(0, |at| at + 1);
    let Some(start) = url[host..].find('?').map(|at| host + at) else { return (url.to_owned(), own) };
    let mut others = Vec::new();
    for parameter in url[start + 1..].split('&') {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let value = percent_decode_str(value).decode_utf8_lossy().into_owned();
        match name {
            "sslmode" => own.mode = Some(value),
            "sslrootcert" => own.root = Some(value),
            _ => others.push(parameter),
        }
    }
    let rest = if others.is_empty() { String::new() } else { format!("?{}", others.join("&")) };
    (format!("{}{rest}", &url[..start]), own)
}

/// Sets timeouts and keepalives, so that a connection that the network dropped is noticed. Values in the URL stay.
fn keep_alive(config: &mut Config) {
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(UNACKNOWLEDGED);
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_idle(KEEPALIVE_IDLE).keepalives_interval(KEEPALIVE_INTERVAL);
    }
    if config.get_keepalives_retries().is_none() {
        config.keepalives_retries(KEEPALIVE_RETRIES);
    }
}

/// Uses an address as the host name when the URL has no name, because TLS needs one.
fn name_hosts(config: &mut Config) {
    if config.get_hosts().is_empty() {
        let addresses: Vec<String> = config.get_hostaddrs().iter().map(ToString::to_string).collect();
        for address in &addresses {
            config.host(address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(given: &[(&str, &str)]) -> Variables {
        given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn of(url: &str, given: &[(&str, &str)]) -> Result<Settings, String> {
        Settings::of(url, &variables(given)).map_err(|error| error.to_string())
    }

    #[test]
    fn w1_the_url_decides_before_the_variables_and_prefer_is_the_default() {
        let mode = |url: &str, given: &[(&str, &str)]| of(url, given).unwrap().mode;
        assert_eq!(mode("postgres://u@h/d", &[]), SslMode::Prefer);
        assert_eq!(mode("postgres://u@h/d", &[("PGSSLMODE", "require")]), SslMode::Require);
        assert_eq!(mode("postgres://u@h/d?sslmode=disable", &[("PGSSLMODE", "require")]), SslMode::Disable);
        assert_eq!(mode("postgres://u@h/d?sslmode=require&sslrootcert=system", &[]), SslMode::VerifyFull);
        assert_eq!(mode("postgres://u@%2Ftmp/d?sslmode=require", &[]), SslMode::Disable, "a Unix socket");
        let unknown = of("postgres://u:secret@h/d?sslmode=always", &[]).err().unwrap();
        assert!(unknown.contains("sslmode=always") && unknown.contains("verify-full"), "{unknown}");
        assert!(!unknown.contains("secret"), "{unknown}");
    }

    #[test]
    fn w1_a_root_certificate_that_cannot_be_read_is_named() {
        let missing = of("postgres://u@h/d?sslmode=verify-full&sslrootcert=%2Fno%2Fsuch.pem", &[]).err().unwrap();
        assert!(missing.contains("/no/such.pem"), "{missing}");
    }

    #[test]
    fn parameters_of_the_client_library_are_left_to_it() {
        let settings = of("postgres://u:p?w@h/d?connect_timeout=3&sslmode=require&application_name=x", &[]).unwrap();
        assert_eq!(settings.config.get_connect_timeout(), Some(&Duration::from_secs(3)));
        assert_eq!(settings.config.get_password(), Some(&b"p?w"[..]));
        assert_eq!(settings.config.get_application_name(), Some("x"));
    }
}
