//! Content-addressed text: the log and `Run` hold references, the store holds each text once.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// The first 16 bytes of a SHA-256, in hex on the wire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct Hash(#[cfg_attr(feature = "schema", schemars(with = "String"))] pub [u8; 16]);

impl Hash {
    pub fn of(parts: &[&[u8]]) -> Hash {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update(part);
        }
        let mut hash = [0; 16];
        hash.copy_from_slice(&hasher.finalize()[..16]);
        Hash(hash)
    }
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Every event is written with its hash: one string at once instead of sixteen formatted numbers.
        let mut text = [0; 32];
        for (digits, byte) in text.chunks_exact_mut(2).zip(self.0) {
            digits.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Hash {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || format!("not a 32-digit hex hash: {text}");
        if text.len() != 32 || !text.is_ascii() {
            return Err(bad());
        }
        let mut hash = [0; 16];
        for (index, byte) in hash.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[index * 2..index * 2 + 2], 16).map_err(|_| bad())?;
        }
        Ok(Hash(hash))
    }
}

impl Serialize for Hash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A reference to a stored text, with its size so that caps can be judged without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlobRef {
    pub hash: Hash,
    pub bytes: u32,
}

/// A text on its way to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    pub hash: Hash,
    pub text: String,
}

impl Blob {
    pub fn new(text: impl Into<String>) -> Blob {
        let text = text.into();
        Blob { hash: Hash::of(&[text.as_bytes()]), text }
    }

    pub fn reference(&self) -> BlobRef {
        BlobRef { hash: self.hash, bytes: u32::try_from(self.text.len()).unwrap_or(u32::MAX) }
    }
}
