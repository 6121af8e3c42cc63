//! Shortens a JSON value to a size: long texts lose their ends, then long lists their items, and each cut is marked in place.
//! What is returned is always a JSON value of at most the size asked for (a few dozen bytes apart from that).

use serde_json::{Value, json};

/// Longer than any id: what identifies something is never cut.
const MIN_TEXT_BYTES: usize = 64;

/// The first `most` characters, and how many there were.
pub fn text(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => {
            format!("{}… [cut: {most} of {} characters]", &text[..end], text.chars().count())
        }
    }
}

/// The value in about `bytes` bytes of JSON.
pub fn to_fit(value: &Value, bytes: usize) -> Value {
    if size(value) <= bytes {
        return value.clone();
    }
    let (mut longest, mut most) = (bytes.max(MIN_TEXT_BYTES), usize::MAX);
    loop {
        let shorter = reduced(value, longest, most);
        if size(&shorter) <= bytes {
            return shorter;
        }
        if longest > MIN_TEXT_BYTES {
            longest = (longest * 2 / 3).max(MIN_TEXT_BYTES);
        } else if most > 1 {
            most = if most == usize::MAX { longest_list(value) } else { most } / 2;
        } else {
            let json = value.to_string();
            return beginning(&json, &json, bytes);
        }
    }
}

/// JSON that is too long as a text about it: how much there was, and of `part` what takes at most `bytes` when quoted.
pub fn beginning(json: &str, part: &str, bytes: usize) -> Value {
    let (mut end, mut quoted) = (0, 0);
    for (at, character) in part.char_indices() {
        quoted += match character {
            '"' | '\\' => 2,
            control if control < ' ' => 6,
            other => other.len_utf8(),
        };
        if quoted > bytes {
            break;
        }
        end = at + character.len_utf8();
    }
    let shown = part[..end].chars().count();
    json!({ "cut": format!("{shown} of {} characters shown", json.chars().count()), "beginning": &part[..end] })
}

pub fn size(value: &Value) -> usize {
    let mut counted = Counted(0);
    // Counting does not fail.
    let _ = serde_json::to_writer(&mut counted, value);
    counted.0
}

/// A writer that only counts bytes.
struct Counted(usize);

impl std::io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn reduced(value: &Value, longest: usize, most: usize) -> Value {
    match value {
        Value::String(long) => Value::from(text(long, longest)),
        Value::Array(items) => {
            let mut shortened: Vec<Value> = items.iter().take(most).map(|item| reduced(item, longest, most)).collect();
            if items.len() > most {
                shortened.push(Value::from(format!("[cut: {most} of {} items]", items.len())));
            }
            Value::Array(shortened)
        }
        Value::Object(map) => {
            Value::Object(map.iter().map(|(key, value)| (key.clone(), reduced(value, longest, most))).collect())
        }
        other => other.clone(),
    }
}

fn longest_list(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(longest_list).fold(items.len(), usize::max),
        Value::Object(map) => map.values().map(longest_list).fold(0, usize::max),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            "\\PC{0,400}".prop_map(Value::from),
            "[\"\\\\\n\u{0}]{0,200}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 200, 40, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..40).prop_map(Value::Array),
                prop::collection::btree_map("[a-z]{1,80}", inner, 0..20)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn h1_whatever_is_shortened_fits(value in any_json(), bytes in 100usize..4_000) {
            prop_assert!(size(&to_fit(&value, bytes)) <= bytes + 80, "{}", to_fit(&value, bytes));
        }

        #[test]
        fn what_fits_is_left_alone(value in any_json()) {
            prop_assert_eq!(to_fit(&value, size(&value)), value);
        }
    }

    #[test]
    fn ids_survive_and_cuts_are_said() {
        let id = "0199a1df-4884-775e-bd05-19e781b7759c";
        let shown = to_fit(&json!({ "id": id, "text": "x".repeat(9_000) }), 300);
        assert_eq!(shown["id"], id);
        assert!(shown["text"].as_str().is_some_and(|text| text.contains("of 9000 characters")), "{shown}");
    }
}
