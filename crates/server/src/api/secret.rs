//! Secrets of credentials: generated here, shown once, stored only as digests. The fixed prefix lets scanners find a leaked one;
//! the checksum lets a mistyped one be refused without asking the database.

use sha2::{Digest as _, Sha256};
use std::fmt;
use store::credentials::Digest;

const PREFIX: &str = "pleach_";
const RANDOM: usize = 64;
const CHECKSUM: usize = 8;
const PREFIX_DIGITS: usize = 8;

#[derive(Clone, PartialEq, Eq)]
pub(super) struct Secret(String);

impl Secret {
    pub(super) fn fresh() -> Secret {
        let random = hex(&rand::random::<[u8; 32]>());
        Secret(format!("{PREFIX}{random}{}", checksum(&random)))
    }

    /// `None` for text that this server cannot have generated.
    pub(super) fn parse(text: &str) -> Option<Secret> {
        let rest = text.strip_prefix(PREFIX)?;
        let well_formed = rest.len() == RANDOM + CHECKSUM && rest.bytes().all(|byte| byte.is_ascii_hexdigit());
        let (random, sum) = well_formed.then(|| rest.split_at(RANDOM))?;
        (checksum(random) == sum).then(|| Secret(text.to_owned()))
    }

    pub(super) fn digest(&self) -> Digest {
        Sha256::digest(self.0.as_bytes()).into()
    }

    /// Enough to recognise the secret, too little to use it.
    pub(super) fn prefix(&self) -> String {
        self.0[..PREFIX.len() + PREFIX_DIGITS].to_owned()
    }

    /// The secret itself, for the response that hands it out.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

fn checksum(random: &str) -> String {
    hex(&Sha256::digest(random.as_bytes())[..CHECKSUM / 2])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_parsed_and_a_mistyped_one_is_not() {
        let secret = Secret::fresh();
        assert_eq!(Secret::parse(secret.reveal()), Some(secret.clone()));
        assert_ne!(secret, Secret::fresh());
        let mut mistyped = secret.reveal().to_owned();
        let last = mistyped.pop().unwrap();
        mistyped.push(if last == '0' { '1' } else { '0' });
        for wrong in [mistyped.as_str(), "", "pleach_", "' OR 1=1", "pleach_é", &secret.reveal()[1..]] {
            assert_eq!(Secret::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn sec_s3_a_secret_is_never_printed_by_accident() {
        let secret = Secret::fresh();
        assert!(!format!("{secret:?}").contains(&secret.reveal()[7..]));
        assert_eq!(secret.prefix().len(), 15);
    }
}
