//! Checks a value against a JSON schema. Covers what tools use for their arguments: types, fields, lists, choices and bounds.
//! Keywords it does not know are ignored, since the toolbox checks the call again.

use serde_json::{Map, Value};

/// The most errors that are reported: enough to correct a call.
const MAX_ERRORS: usize = 8;
/// Schemas come from outside, so deeper nesting is not followed.
const MAX_DEPTH: usize = 16;

/// What is wrong with `value`, place by place; empty when it fits.
pub fn schema_violations(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, value, "", MAX_DEPTH, &mut found);
    found.truncate(MAX_ERRORS);
    found
}

fn check(schema: &Value, value: &Value, place: &str, depth: usize, found: &mut Vec<String>) {
    let Value::Object(rules) = schema else { return };
    if depth == 0 || found.len() >= MAX_ERRORS {
        return;
    }
    let at = if place.is_empty() { "the arguments".to_owned() } else { format!("`{place}`") };
    if let Some(types) = rules.get("type")
        && !type_names(types).any(|name| has_type(name, value))
    {
        let wanted: Vec<&str> = type_names(types).collect();
        return found.push(format!("{at} must be {}, not {}", wanted.join(" or "), shown(value)));
    }
    if let Some(Value::Array(choices)) = rules.get("enum")
        && !choices.contains(value)
    {
        let choices: Vec<String> = choices.iter().take(20).map(Value::to_string).collect();
        found.push(format!("{at} must be one of {}, not {}", choices.join(", "), shown(value)));
    }
    if rules.get("const").is_some_and(|only| only != value) {
        found.push(format!("{at} must be {}, not {}", rules["const"], shown(value)));
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(Value::Array(choices)) = rules.get(key)
            && !choices.iter().any(|choice| fits(choice, value, depth - 1))
        {
            found.push(format!("{at} fits none of the allowed forms; it is {}", shown(value)));
        }
    }
    match value {
        Value::Object(fields) => check_fields(rules, fields, place, depth, found),
        Value::Array(items) => check_items(rules, items, place, &at, depth, found),
        Value::String(text) => check_size(rules, "Length", text.chars().count() as f64, "characters", &at, found),
        Value::Number(number) => check_number(rules, number.as_f64().unwrap_or_default(), &at, found),
        Value::Null | Value::Bool(_) => {}
    }
}

fn fits(schema: &Value, value: &Value, depth: usize) -> bool {
    let mut found = Vec::new();
    check(schema, value, "", depth, &mut found);
    found.is_empty()
}

fn check_fields(
    rules: &Map<String, Value>,
    fields: &Map<String, Value>,
    place: &str,
    depth: usize,
    found: &mut Vec<String>,
) {
    let within = |name: &str| if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
    let known = rules.get("properties").and_then(Value::as_object);
    for name in rules.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
        if !fields.contains_key(name) {
            found.push(format!("`{}` is missing", within(name)));
        }
    }
    for (name, value) in fields {
        match (known.and_then(|known| known.get(name)), rules.get("additionalProperties")) {
            (Some(schema), _) => check(schema, value, &within(name), depth - 1, found),
            (None, Some(Value::Bool(false))) => {
                let valid: Vec<&str> = known.into_iter().flat_map(Map::keys).map(String::as_str).collect();
                found.push(format!("there is no `{}`; valid: {}", within(name), valid.join(", ")));
            }
            (None, Some(schema)) => check(schema, value, &within(name), depth - 1, found),
            (None, None) => {}
        }
    }
}

fn check_items(
    rules: &Map<String, Value>,
    items: &[Value],
    place: &str,
    at: &str,
    depth: usize,
    found: &mut Vec<String>,
) {
    check_size(rules, "Items", items.len() as f64, "items", at, found);
    if let Some(schema) = rules.get("items") {
        for (index, item) in items.iter().enumerate() {
            check(schema, item, &format!("{place}[{index}]"), depth - 1, found);
        }
    }
}

fn check_number(rules: &Map<String, Value>, number: f64, at: &str, found: &mut Vec<String>) {
    let limit = |key: &str| rules.get(key).and_then(Value::as_f64);
    if let Some(least) = limit("minimum").filter(|least| number < *least) {
        found.push(format!("{at} is {number}; {least} is the least"));
    }
    if let Some(most) = limit("maximum").filter(|most| number > *most) {
        found.push(format!("{at} is {number}; {most} is the most"));
    }
}

/// `minLength`, `maxItems` and their like.
fn check_size(rules: &Map<String, Value>, what: &str, size: f64, unit: &str, at: &str, found: &mut Vec<String>) {
    let limit = |side: &str| rules.get(&format!("{side}{what}")).and_then(Value::as_f64);
    if let Some(least) = limit("min").filter(|least| size < *least) {
        found.push(format!("{at} has {size} {unit}; {least} is the least"));
    }
    if let Some(most) = limit("max").filter(|most| size > *most) {
        found.push(format!("{at} has {size} {unit}; {most} is the most"));
    }
}

fn type_names(types: &Value) -> impl Iterator<Item = &str> {
    let many = types.as_array().into_iter().flatten().filter_map(Value::as_str);
    types.as_str().into_iter().chain(many)
}

fn has_type(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => true,
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(80) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({
            "type": "object", "required": ["path"], "additionalProperties": false,
            "properties": {
                "path": {"type": "string", "minLength": 1},
                "lines": {"type": "integer", "minimum": 1, "maximum": 100},
                "mode": {"enum": ["head", "tail"]},
                "edits": {"type": "array", "items": {"type": "object", "required": ["old"]}},
                "who": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            },
        })
    }

    #[test]
    fn a_valid_value_has_no_violations() {
        for fitting in [
            json!({"path": "a"}),
            json!({"path": "a", "lines": 5, "mode": "tail", "edits": [{"old": 1}], "who": null}),
            json!({"path": "a", "lines": 5.0}),
        ] {
            assert_eq!(schema_violations(&schema(), &fitting), Vec::<String>::new(), "{fitting}");
        }
    }

    #[test]
    fn a_violation_names_the_field_and_what_is_valid() {
        for (bad, says) in [
            (json!({}), "`path` is missing"),
            (json!([]), "the arguments must be object, not []"),
            (json!({"path": 5}), "`path` must be string, not 5"),
            (json!({"path": ""}), "`path` has 0 characters; 1 is the least"),
            (json!({"path": "a", "lines": 1.5}), "`lines` must be integer, not 1.5"),
            (json!({"path": "a", "lines": 900}), "`lines` is 900; 100 is the most"),
            (json!({"path": "a", "mode": "top"}), "`mode` must be one of \"head\", \"tail\", not \"top\""),
            (json!({"path": "a", "edits": [{}]}), "`edits[0].old` is missing"),
            (json!({"path": "a", "who": 3}), "`who` fits none of the allowed forms"),
            (json!({"path": "a", "pth": 3}), "there is no `pth`; valid: "),
        ] {
            let found = schema_violations(&schema(), &bad);
            assert!(found.len() == 1 && found[0].starts_with(says), "{bad}: {found:?}");
        }
    }

    #[test]
    fn a_deeply_nested_schema_is_followed_to_a_limit() {
        let mut schema = json!({"type": "string"});
        let mut value = json!(1);
        for _ in 0..200 {
            schema = json!({"properties": {"x": schema}});
            value = json!({"x": value});
        }
        assert!(schema_violations(&schema, &value).is_empty());
    }
}
