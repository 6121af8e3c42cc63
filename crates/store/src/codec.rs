//! The stored form of single values: compressed texts, and actors. It must not know which table they go to.

use crate::StoreError;
use engine::actor::Actor;
use std::fmt::Write;

const PLAIN: u8 = 0;
const LZ4: u8 = 1;
/// A text shorter than this many bytes is stored as it is: compressing it costs more than it saves.
const WORTH_COMPRESSING: usize = 128;
/// The longest text. A stored length above it is damage, and must not be allocated.
const MAX_TEXT_BYTES: usize = 256 << 20;

/// A tag byte, then either the text, or its length and the compressed text, whichever is smaller.
pub(crate) fn pack(text: &str) -> Vec<u8> {
    let compressed = (text.len() >= WORTH_COMPRESSING).then(|| lz4_flex::compress(text.as_bytes()));
    match (compressed, u32::try_from(text.len())) {
        (Some(compressed), Ok(length)) if compressed.len() + 4 < text.len() => {
            [&[LZ4], length.to_le_bytes().as_slice(), &compressed].concat()
        }
        _ => [&[PLAIN], text.as_bytes()].concat(),
    }
}

pub(crate) fn unpack(bytes: &[u8]) -> Result<String, StoreError> {
    let text = match bytes.split_first() {
        Some((&PLAIN, text)) => Some(text.to_vec()),
        Some((&LZ4, body)) => {
            body.split_first_chunk().and_then(|(length, body)| inflate(u32::from_le_bytes(*length) as usize, body))
        }
        _ => None,
    };
    let damaged = || StoreError::Unusable("a stored text is damaged".into());
    text.and_then(|text| String::from_utf8(text).ok()).ok_or_else(damaged)
}

fn inflate(length: usize, body: &[u8]) -> Option<Vec<u8>> {
    let text = (length <= MAX_TEXT_BYTES).then(|| lz4_flex::decompress(body, length).ok()).flatten()?;
    (text.len() == length).then_some(text)
}

pub(crate) fn actor_text(actor: &Actor) -> String {
    let mut text = String::new();
    write_actor(&mut text, actor);
    text
}

/// `platform`, `person:<id>` or `subagent:<id>`. Every event stores an actor, and this is a third of its JSON.
pub(crate) fn write_actor(out: &mut String, actor: &Actor) {
    // Writing to a String cannot fail.
    let _ = match actor {
        Actor::Platform => out.write_str("platform"),
        Actor::Person(id) => write!(out, "person:{id}"),
        Actor::Subagent(id) => write!(out, "subagent:{id}"),
    };
}

pub(crate) fn parse_actor(text: &str) -> Result<Actor, StoreError> {
    let unknown = || StoreError::Unusable(format!("a stored actor cannot be read: {text}"));
    match text.split_once(':') {
        None if text == "platform" => Ok(Actor::Platform),
        Some(("person", id)) => id.parse().map(Actor::Person).map_err(|_| unknown()),
        Some(("subagent", id)) => id.parse().map(Actor::Subagent).map_err(|_| unknown()),
        _ => Err(unknown()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_repetitive_text_gets_smaller() {
        let text = "the same words again and again. ".repeat(100);
        assert!(pack(&text).len() < text.len() / 10);
    }

    #[test]
    fn damage_is_reported_and_never_panics() {
        assert!(unpack(&[]).is_err());
        assert!(unpack(&[9, 1, 2]).is_err());
        assert!(unpack(&[LZ4, 9, 0]).is_err());
        assert!(unpack(&[LZ4, 9, 0, 0, 0, 16, 65]).is_err(), "shorter than it says");
        assert!(unpack(&[LZ4, 255, 255, 255, 255, 1]).is_err());
    }

    proptest! {
        #[test]
        fn packing_loses_nothing(text in ".{0,400}") {
            prop_assert_eq!(unpack(&pack(&text)).unwrap(), text);
        }
    }
}
