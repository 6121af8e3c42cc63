//! Finding the JSON in what a model wrote: fences, prose and thinking around it are tolerated, a
//! truncated object never is. Bounded in depth and in work: a text costs what its length allows, whatever braces it has.

use serde_json::Value;

/// How deep JSON from outside may nest. What is stored is read again inside an event or a page of a list, and the parser
/// stops at 128 levels: half of that leaves room for what stands around it.
pub const MAX_DEPTH: usize = 64;
const MAX_ANSWER_BYTES: usize = 4 << 20;
/// The most passes over a text while searching where its objects end. Each stray brace costs one pass.
const MAX_PASSES: usize = 8;
/// Short texts may have as many stray braces as they like.
const FREE_BYTES: usize = 1 << 20;
const TOO_MANY_BRACES: &str = "the answer has too many braces that are no JSON: give one JSON object and nothing else";
const THOUGHT_ENDS: &str = "</think>";

/// The largest top-level JSON object in the text that is whole, or why there is none.
pub fn extract(text: &str) -> Result<Value, String> {
    if text.len() > MAX_ANSWER_BYTES {
        return Err(format!("the answer has {} bytes; {MAX_ANSWER_BYTES} is the most that is read", text.len()));
    }
    // What is wrong with something that looks like an answer says more than what is wrong with a brace in a sentence.
    let mut problem: Option<String> = None;
    let mut found: Option<(usize, Value)> = None;
    let mut work = text.len() * MAX_PASSES + FREE_BYTES;
    let mut at = 0;
    while let Some(offset) = text[at..].find('{') {
        let start = at + offset;
        // Text before the end of thinking is no answer; inside an answer the same tag is only text.
        if text[at..start].contains(THOUGHT_ENDS) {
            found = None;
        }
        let rest = &text[start..];
        let (end, read) = object_end(rest.as_bytes());
        let (likely, named) = begins_like_an_object(rest);
        let Some(left) = work.checked_sub(read + named) else {
            return Err(problem.unwrap_or_else(|| TOO_MANY_BRACES.into()));
        };
        work = left;
        match (end, likely) {
            (Ok(length), likely) => match serde_json::from_str::<Value>(&rest[..length]) {
                Ok(value) => {
                    if found.as_ref().is_none_or(|(longest, _)| length > *longest) {
                        found = Some((length, value));
                    }
                    at = start + length;
                }
                // What is inside an answer with a mistake is a part of it, not the answer.
                Err(error) if likely => {
                    problem = Some(error.to_string());
                    at = start + length;
                }
                Err(error) => {
                    problem.get_or_insert_with(|| error.to_string());
                    at = start + 1;
                }
            },
            // An answer that breaks off: none of its parts may pass for it, unless it was only thought.
            (Err(error), true) => match end_of_thought(rest) {
                Some(end) => {
                    problem = Some(error);
                    at = start + end;
                }
                None => return Err(error),
            },
            (Err(error), false) => {
                problem.get_or_insert(error);
                at = start + 1;
            }
        }
    }
    if text[at..].contains(THOUGHT_ENDS) && found.is_some() {
        return Err("the answer ends with its thinking and contains no JSON object after it".into());
    }
    found.map(|(_, value)| value).ok_or_else(|| problem.unwrap_or_else(|| "the answer contains no JSON object".into()))
}

/// Where thinking ends after this brace, if that is not within a string.
fn end_of_thought(text: &str) -> Option<usize> {
    let (mut in_string, mut escaped) = (false, false);
    text.bytes().enumerate().find_map(|(at, byte)| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            _ => {}
        }
        (!in_string && byte == b'<' && text[at..].starts_with(THOUGHT_ENDS)).then_some(at)
    })
}

/// `{ "name": …`: the beginning of an object, and not a brace in a sentence. With the bytes that were read to tell.
fn begins_like_an_object(text: &str) -> (bool, usize) {
    let read = |rest: &str| text.len() - rest.len();
    let inside = text[1..].trim_start();
    let Some(rest) = inside.strip_prefix('"') else { return (false, read(inside)) };
    let mut escaped = false;
    let end = rest.find(|character| {
        let ends = character == '"' && !escaped;
        escaped = character == '\\' && !escaped;
        ends
    });
    let Some(end) = end else { return (false, text.len()) };
    let after = rest[end + 1..].trim_start();
    (after.starts_with(':'), read(after))
}

/// Where the object ends, and the bytes that were read to tell.
fn object_end(bytes: &[u8]) -> (Result<usize, String>, usize) {
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
                    return (Err(format!("the JSON is nested deeper than {MAX_DEPTH} levels")), index);
                }
            }
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return (Ok(index + 1), index + 1);
                }
            }
            _ => {}
        }
    }
    (Err("the JSON breaks off before its end".into()), bytes.len())
}

/// Whether JSON text nests deeper than `MAX_DEPTH`; decided in one pass, before parsing.
pub fn is_too_deep(json: &[u8]) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    json.iter().any(|byte| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > MAX_DEPTH
    })
}

/// Whether a value nests deeper than `most` levels. Reads no further than that.
pub fn is_deeper(value: &Value, most: usize) -> bool {
    match value {
        Value::Array(items) => most == 0 || items.iter().any(|item| is_deeper(item, most - 1)),
        Value::Object(fields) => most == 0 || fields.values().any(|field| is_deeper(field, most - 1)),
        _ => false,
    }
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

    #[test]
    fn p7_the_end_of_thinking_inside_a_value_is_text() {
        // Given answers that speak of the tag, with and without thinking before them
        let answer = json!({"text": "close it with </think> {here}", "n": {"m": 1}});
        for before in [
            "",
            "<think>{\"draft\": {\"n\": 2}, \"more\": \"than the answer has, by far\"}</think>\n",
            "hm {\"a\": </think>",
        ] {
            // When they are read, then the answer is the whole object
            assert_eq!(extract(&format!("{before}{answer}")), Ok(answer.clone()), "{before}");
        }
    }

    #[test]
    fn p7_a_stray_brace_is_prose_and_a_part_of_a_broken_answer_is_no_answer() {
        for before in ["Use { and } freely, or just { like that: ", "{ ", "{{ set {\"a\", \"b\"} } of {", "[{"] {
            assert_eq!(extract(&format!("{before}{}", json!({"a": 1}))), Ok(json!({"a": 1})), "{before}");
        }
        for broken in [
            r#"{"mode": "plan", "plan": {"bands": []}"#,
            r#"Here: {"mode": "plan", "note": "ends </think> here", "plan": {"bands": []}, "#,
            r#"{"mode": "plan", "plan": {"bands": []}, }"#,
        ] {
            assert!(extract(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn depth_is_decided_without_reading_on() {
        assert!(!is_deeper(&json!([[1]]), 2) && is_deeper(&json!([[1]]), 1) && !is_deeper(&json!(1), 0));
        assert!(is_deeper(&json!({"a": {"b": []}}), 2));
        let nested = |levels: usize| format!("{}\"]]\\\"[\"{}", "[".repeat(levels), "]".repeat(levels));
        assert!(!is_too_deep(nested(MAX_DEPTH).as_bytes()) && is_too_deep(nested(MAX_DEPTH + 1).as_bytes()));
    }

    fn any_answer() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            "\\PC{0,30}",
            Just("</think>".to_owned()),
            Just("{\"a\": {".to_owned()),
            Just("}\\".to_owned())
        ];
        let leaf =
            prop_oneof![any::<i32>().prop_map(Value::from), text.clone().prop_map(Value::from), Just(Value::Null)];
        let inner = leaf.prop_recursive(3, 24, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
                prop::collection::btree_map("[a-z]{1,6}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        });
        prop::collection::btree_map("[a-z]{1,6}", inner, 1..5).prop_map(|map| Value::Object(map.into_iter().collect()))
    }

    proptest! {
        #[test]
        fn p7_an_answer_is_found_whole_in_any_prose(answer in any_answer(), before in "[a-z {\n.,`']{0,40}", after in "[a-z }\n.,`']{0,40}") {
            prop_assert_eq!(extract(&format!("{before}{answer}{after}")), Ok(answer));
        }

        #[test]
        fn p7_an_answer_that_breaks_off_is_never_a_part_of_it(answer in any_answer(), keep in 0.0f64..1.0) {
            let whole = answer.to_string();
            let cut: String = whole.chars().take((whole.chars().count() as f64 * keep) as usize).collect();
            prop_assert!(extract(&cut).is_err(), "{}", cut);
        }

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
