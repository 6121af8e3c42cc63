//! Finding the JSON in what a model wrote: fences, prose and thinking around it are tolerated, a
//! truncated object never is. Linear in the text, bounded in depth.

use serde_json::Value;

/// Deeper than any answer of ours; beyond it a parser may run out of stack.
const MAX_DEPTH: usize = 64;
const MAX_BYTES: usize = 4 << 20;

/// The last top-level JSON object in the text that is whole, or why there is none.
pub fn extract(text: &str) -> Result<Value, String> {
    if text.len() > MAX_BYTES {
        return Err(format!("the answer has {} bytes; {MAX_BYTES} is the most that is read", text.len()));
    }
    let text = text.trim_start_matches('\u{feff}').trim();
    let after_thinking = text.rfind("</think>").map_or(text, |end| &text[end + "</think>".len()..]);
    let mut problem = "the answer contains no JSON object".to_owned();
    for candidate in objects(after_thinking) {
        match candidate.and_then(|json| serde_json::from_str::<Value>(json).map_err(|error| error.to_string())) {
            Ok(value) => return Ok(value),
            Err(error) => problem = error,
        }
    }
    Err(problem)
}

/// Top-level `{…}` spans, longest first: prose may hold small ones, the answer is the big one.
fn objects(text: &str) -> Vec<Result<&str, String>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = bytes[at..].iter().position(|byte| *byte == b'{') {
        let start = at + offset;
        match object_end(&bytes[start..]) {
            Ok(length) => {
                found.push(Ok(&text[start..start + length]));
                at = start + length;
            }
            Err(error) => {
                found.push(Err(error));
                break;
            }
        }
    }
    found.sort_by_key(|span| std::cmp::Reverse(span.as_ref().map_or(0, |json| json.len())));
    found
}

fn object_end(bytes: &[u8]) -> Result<usize, String> {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for (index, byte) in bytes.iter().enumerate() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(format!("the JSON is nested deeper than {MAX_DEPTH} levels"));
                }
            }
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Ok(index + 1);
                }
            }
            _ => {}
        }
    }
    Err("the JSON breaks off before its end".into())
}

/// Equal values give equal texts: keys sorted at every level (serde_json's maps are).
pub fn canonical(value: &Value) -> String {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Object(map) => {
                let mut keys: Vec<_> = map.keys().collect();
                keys.sort();
                Value::Object(keys.into_iter().map(|key| (key.clone(), sorted(&map[key]))).collect())
            }
            Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
            other => other.clone(),
        }
    }
    sorted(value).to_string()
}

/// The value without what changes by itself: a second reading of an unchanged world looks equal.
pub fn without_noise(value: &Value) -> Value {
    const NOISE: [&str; 9] =
        ["created_at", "updated_at", "timestamp", "at", "version", "count", "total", "position", "elapsed_ms"];
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(key, _)| !NOISE.contains(&key.as_str()));
            Value::Object(kept.map(|(key, value)| (key.clone(), without_noise(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_noise).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn p7_prose_fences_and_thinking_around_the_answer_are_tolerated() {
        for text in [
            r#"{"a":1}"#,
            "```json\n{\"a\":1}\n```",
            "Sure {ok}! Here it is:\n{\"a\":1}\nHope that helps.",
            "<think>{\"a\":2, \"b\": 3}</think>{\"a\":1}",
            "\u{feff}{\"a\":1}",
        ] {
            assert_eq!(extract(text), Ok(json!({"a": 1})), "{text}");
        }
    }

    #[test]
    fn p7_a_truncated_or_bottomless_answer_is_an_error_not_a_guess() {
        assert!(extract(r#"{"a": {"b": 1}"#).unwrap_err().contains("breaks off"));
        assert!(extract(&"[{".repeat(50_000)).unwrap_err().contains("deeper"));
        assert!(extract("no json here").is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_extraction_panic(text in ".*") {
            let _ = extract(&text);
        }

        #[test]
        fn brackets_of_any_kind_never_panic(text in "[\\[\\]{}\"\\\\a:, ]{0,200}") {
            let _ = extract(&text);
        }
    }
}
