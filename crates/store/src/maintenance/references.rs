//! Which blobs an event refers to. A reference is a JSON object with `hash` and nothing else but `bytes` or `limit`, at
//! any depth. So references are found without knowing what the event means.

use engine::blob::Hash;
use serde_json::Value;
use std::collections::BTreeSet;

pub(crate) fn collect(payload: &str, into: &mut BTreeSet<Hash>) {
    if let Ok(value) = serde_json::from_str::<Value>(payload) {
        walk(&value, into);
    }
}

fn walk(value: &Value, into: &mut BTreeSet<Hash>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| walk(item, into)),
        Value::Object(members) => {
            let bare = members.keys().all(|name| matches!(name.as_str(), "hash" | "bytes" | "limit"));
            match members.get("hash").and_then(Value::as_str).filter(|_| bare).and_then(|text| text.parse().ok()) {
                Some(hash) => {
                    into.insert(hash);
                }
                None => members.values().for_each(|member| walk(member, into)),
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_found_at_any_depth_and_other_hashes_are_not() {
        let hash = Hash::of(&[b"text"]);
        let payload = format!(
            r#"{{"a":[["user",["said",{{"hash":"{hash}","limit":5}}]]],"reading":"{hash}","other":{{"hash":"{hash}","name":"x"}}}}"#
        );
        let mut found = BTreeSet::new();
        collect(&payload, &mut found);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [hash]);
        let mut none = BTreeSet::new();
        collect(&format!(r#"{{"reading":"{hash}"}}"#), &mut none);
        assert!(none.is_empty());
    }
}
