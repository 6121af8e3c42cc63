//! Signatures of Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

const PREFIX: &str = "whsec_";
const SECRET_BYTES: usize = 32;

/// The key both sides share.
pub struct Secret(Vec<u8>);

impl Secret {
    /// From bytes nobody can guess.
    pub fn of(bytes: [u8; SECRET_BYTES]) -> Secret {
        Secret(bytes.to_vec())
    }

    /// `whsec_` and base64.
    pub fn parse(text: &str) -> Option<Secret> {
        STANDARD.decode(text.strip_prefix(PREFIX)?).ok().filter(|key| (24..=64).contains(&key.len())).map(Secret)
    }

    pub fn text(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(&self.0))
    }
}

/// The value of `webhook-signature`.
pub fn sign(secret: &Secret, id: &str, timestamp: i64, body: &str) -> String {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&secret.0) else { unreachable!("HMAC takes a key of any length") };
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(body.as_bytes());
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the Standard Webhooks specification.
    #[test]
    fn h7_the_published_example_is_signed_as_published() {
        let secret = Secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signed = sign(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_is_read_as_it_is_written_and_a_short_one_is_none() {
        let secret = Secret::of([7; SECRET_BYTES]);
        assert_eq!(Secret::parse(&secret.text()).unwrap().0, secret.0);
        assert!(Secret::parse("whsec_c2hvcnQ=").is_none());
        assert!(Secret::parse("secret").is_none());
    }
}
