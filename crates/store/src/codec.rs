//! How single values are written down: compressed texts, actors.

use crate::StoreError;
use engine::actor::Actor;

const PLAIN: u8 = 0;
const LZ4: u8 = 1;
/// Below this, compression costs more than it saves.
const WORTH_COMPRESSING: usize = 128;

/// One tag byte, then the text as it is or compressed, whichever is smaller.
pub fn pack(text: &str) -> Vec<u8> {
    let plain = |text: &str| [&[PLAIN], text.as_bytes()].concat();
    if text.len() < WORTH_COMPRESSING {
        return plain(text);
    }
    let compressed = lz4_flex::compress_prepend_size(text.as_bytes());
    if compressed.len() < text.len() { [&[LZ4], compressed.as_slice()].concat() } else { plain(text) }
}

pub fn unpack(bytes: &[u8]) -> Result<String, StoreError> {
    let damaged = |what: &str| StoreError::Unusable(format!("a stored text is damaged ({what}); run `pleach doctor`"));
    let (tag, body) = bytes.split_first().ok_or_else(|| damaged("empty"))?;
    let text = match *tag {
        PLAIN => body.to_vec(),
        LZ4 => lz4_flex::decompress_size_prepended(body).map_err(|error| damaged(&error.to_string()))?,
        other => return Err(damaged(&format!("unknown form {other}"))),
    };
    String::from_utf8(text).map_err(|_| damaged("not UTF-8"))
}

/// `platform`, `person:<id>`, `subagent:<id>`: a third of the JSON form, in every event.
pub fn actor_text(actor: &Actor) -> String {
    match actor {
        Actor::Platform => "platform".into(),
        Actor::Person(id) => format!("person:{id}"),
        Actor::Subagent(id) => format!("subagent:{id}"),
    }
}

pub fn parse_actor(text: &str) -> Result<Actor, StoreError> {
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
        assert!(unpack(&[LZ4, 255, 255, 255, 0, 1]).is_err());
    }

    proptest! {
        #[test]
        fn packing_loses_nothing(text in ".{0,400}") {
            prop_assert_eq!(unpack(&pack(&text)).unwrap(), text);
        }
    }
}
