//! Where a value departs from a JSON schema, in words that name the place: `plan.steps[2].status: …`. Knows the part
//! of JSON Schema the roles use (`type`, `enum`, `required`, `properties`, `items`), and nothing of what it judges.

use serde_json::Value;

/// The longest piece of a wrong value that is quoted.
const QUOTED_CHARS: usize = 60;

pub fn schema_errors(value: &Value, schema: &Value, place: &str, errors: &mut Vec<String>) {
    // Nullable fields may be null whatever their type is; what must not be is said by who reads the answer.
    if value.is_null() {
        return;
    }
    let at = if place.is_empty() { "the answer" } else { place };
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| is_a(value, kind)) {
        return errors.push(format!("{at}: expected {}, got {}", kinds.join(" or "), shown(value)));
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        return errors.push(format!("{at}: expected one of {}, got {}", words.join(", "), shown(value)));
    }
    match value {
        Value::Object(map) => {
            for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                if !map.contains_key(name) {
                    errors.push(format!("{}: missing", within(place, name)));
                }
            }
            for (name, value) in map {
                schema_errors(value, &schema["properties"][name], &within(place, name), errors);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                schema_errors(item, &schema["items"], &format!("{place}[{index}]"), errors);
            }
        }
        _ => {}
    }
}

fn within(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

fn is_a(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        _ => true,
    }
}

fn shown(value: &Value) -> String {
    crate::shorten::text(&value.to_string(), QUOTED_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn p7_every_misfit_is_named_by_its_place() {
        let schema = &crate::prompts::schema(crate::model::Role::HomeworkPlanner).value;
        let mut errors = Vec::new();
        let answer = json!({
            "progress_summary": 7,
            "plan": { "steps": [{ "id": "a", "title": "A", "status": "finished", "owner": "planner" }, "b"] },
            "exit_signal": "yes",
        });
        schema_errors(&answer, schema, "", &mut errors);
        for place in [
            "progress_summary: expected string, got 7",
            "plan.steps[0].status: expected one of",
            "plan.steps[1]: expected object",
            "exit_signal: expected boolean",
            "tool_calls: missing",
        ] {
            assert!(errors.iter().any(|error| error.starts_with(place)), "{place}: {errors:?}");
        }
    }
}
