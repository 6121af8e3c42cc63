//! TLS to PostgreSQL: how much of the server's certificate is checked, against which roots, and the error when it is
//! refused. It must not know `sslmode`; `settings` translates it.

use crate::StoreError;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use sha2::{Digest, Sha256, Sha384, Sha512};
use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream as Session;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verification {
    None,
    /// The certificate must be signed by a trusted root. Its name may be any.
    Signer,
    SignerAndName,
}

#[derive(Clone, Debug)]
pub(crate) enum Roots {
    System,
    File(PathBuf),
}

#[derive(Clone)]
pub(crate) struct Connector {
    config: Arc<ClientConfig>,
}

impl Connector {
    pub(crate) fn new(verification: Verification, roots: Roots) -> Result<Connector, StoreError> {
        let provider = Arc::new(ring::default_provider());
        let unusable = |error: &dyn std::fmt::Display| StoreError::Unusable(format!("TLS cannot be set up: {error}"));
        let chain = match verification {
            Verification::None => None,
            _ => {
                let roots = Arc::new(roots.load()?);
                let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider.clone()).build();
                Some(verifier.map_err(|error| unusable(&error))?)
            }
        };
        let verifier =
            Verifier { provider: provider.clone(), chain, name: verification == Verification::SignerAndName };
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(&error))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(Connector { config: Arc::new(config) })
    }
}

impl Roots {
    fn load(&self) -> Result<RootCertStore, StoreError> {
        let mut store = RootCertStore::empty();
        match self {
            Roots::System => {
                store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
            Roots::File(path) => {
                let unusable = |error: &dyn std::fmt::Display| {
                    StoreError::Unusable(format!("the root certificate {} cannot be used: {error}", path.display()))
                };
                for certificate in CertificateDer::pem_file_iter(path).map_err(|error| unusable(&error))? {
                    let certificate = certificate.map_err(|error| unusable(&error))?;
                    store.add(certificate).map_err(|error| unusable(&error))?;
                }
            }
        }
        match (store.is_empty(), self) {
            (false, _) => Ok(store),
            (true, Roots::System) => Err(StoreError::Unusable(
                "this system has no root certificates to check the certificate of the database with; install ca-certificates, or name a file with sslrootcert".into(),
            )),
            (true, Roots::File(path)) => {
                Err(StoreError::Unusable(format!("the root certificate file {} has no certificate in it", path.display())))
            }
        }
    }
}

#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    chain: Option<Arc<WebPkiServerVerifier>>,
    name: bool,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        match chain.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            // The verifier checks the name last, so this error means that the signer is trusted.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.name => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The server was reached, and its certificate was refused or the handshake failed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct TlsRefused(String);

fn refused(error: io::Error, host: &str) -> Box<dyn Error + Send + Sync> {
    let Some(cause) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) else {
        return error.into();
    };
    let why = match cause {
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => {
            "its certificate is not signed by a trusted root; sslrootcert=FILE names the root to trust".to_owned()
        }
        rustls::Error::InvalidCertificate(CertificateError::NotValidForNameContext { presented, .. }) => {
            let names = if presented.is_empty() { "no name".to_owned() } else { presented.join(", ") };
            format!(
                "its certificate is for {names} and not for {host}; connect by a name that the certificate has, or use sslmode=verify-ca"
            )
        }
        rustls::Error::InvalidCertificate(problem) => format!("its certificate is not valid: {problem}"),
        other => other.to_string(),
    };
    Box::new(TlsRefused(format!("the TLS connection to {host} failed: {why}")))
}

impl MakeTlsConnect<Socket> for Connector {
    type Stream = Encrypted;
    type TlsConnect = Handshake;
    type Error = Infallible;

    /// The library calls this for every connection, also for one without TLS and without a host name. So it must not
    /// fail.
    fn make_tls_connect(&mut self, host: &str) -> Result<Handshake, Infallible> {
        Ok(Handshake { config: self.config.clone(), host: host.to_owned() })
    }
}

pub(crate) struct Handshake {
    config: Arc<ClientConfig>,
    host: String,
}

impl TlsConnect<Socket> for Handshake {
    type Stream = Encrypted;
    type Error = Box<dyn Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<Encrypted, Self::Error>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let Handshake { config, host } = self;
            let name = ServerName::try_from(host.clone())
                .map_err(|_| TlsRefused(format!("a certificate cannot be for the name {host}")))?;
            let session = TlsConnector::from(config).connect(name, socket).await;
            session.map(Encrypted).map_err(|error| refused(error, &host))
        })
    }
}

pub(crate) struct Encrypted(Session<Socket>);

impl TlsStream for Encrypted {
    /// Binds the SCRAM exchange to the server's certificate, so that a man in the middle cannot relay it.
    fn channel_binding(&self) -> ChannelBinding {
        let certificates = self.0.get_ref().1.peer_certificates();
        let digest = certificates.and_then(|chain| chain.first()).and_then(|own| end_point(own));
        digest.map_or_else(ChannelBinding::none, ChannelBinding::tls_server_end_point)
    }
}

/// `tls-server-end-point` of RFC 5929: the digest of the certificate by the hash function of its own signature. `None`
/// for a signature that has no such function.
fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    const RSA: [u8; 8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
    const ECDSA: [u8; 7] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03];
    let (whole, _) = element(certificate)?;
    let (_, after_body) = element(whole)?;
    let (algorithm, _) = element(after_body)?;
    let (id, _) = element(algorithm)?;
    let (family, [last]) = id.split_last_chunk::<1>()?;
    let bits = match (family == RSA, family == ECDSA, last) {
        // RFC 5929 replaces MD5 and SHA-1 by SHA-256.
        (true, _, 4 | 5 | 11) | (_, true, 2) => 256,
        (true, _, 12) | (_, true, 3) => 384,
        (true, _, 13) | (_, true, 4) => 512,
        _ => return None,
    };
    Some(match bits {
        256 => Sha256::digest(certificate).to_vec(),
        384 => Sha384::digest(certificate).to_vec(),
        _ => Sha512::digest(certificate).to_vec(),
    })
}

/// The content of the first DER element, and the bytes after it.
fn element(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&[_tag, short], rest) = der.split_first_chunk::<2>()?;
    let (length, rest) = match short {
        0..=0x7f => (usize::from(short), rest),
        _ => {
            let (digits, rest) =
                rest.split_at_checked(usize::from(short & 0x7f)).filter(|(digits, _)| digits.len() <= 4)?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
    };
    rest.split_at_checked(length)
}

impl AsyncRead for Encrypted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
