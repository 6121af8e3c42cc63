//! The extractor of query strings. An error names the parameter, its value and what is allowed, from the schemas that the
//! route publishes.

use super::AppState;
use super::problems::Problem;
use super::schema::{Schema, one_of};
use axum::extract::{FromRequestParts, Query};
use axum::http::StatusCode;
use axum::http::request::Parts;
use engine::time::Timestamp;
use runtime::ports::Slice;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// Characters of a wrong value that the problem repeats.
const QUOTED: usize = 60;

/// The most items of one page of a list.
pub(super) const MAX_PAGE: usize = 200;

/// How many items a page has: what was asked for, within bounds.
pub(super) fn page_limit(asked: Option<usize>, default: usize) -> usize {
    asked.unwrap_or(default).clamp(1, MAX_PAGE)
}

/// `cursor` and `limit` of a list that has no other parameters.
#[derive(Deserialize)]
pub(super) struct PageQuery<C> {
    cursor: Option<C>,
    limit: Option<usize>,
}

impl<C> PageQuery<C> {
    /// The limit, and the slice to read: one more than is shown, see `Page::cut`.
    pub(super) fn slice(self, default: usize) -> (usize, Slice<C>) {
        let limit = page_limit(self.limit, default);
        (limit, Slice { after: self.cursor, limit: limit + 1 })
    }
}

/// A page of a log: events after a seq.
#[derive(Deserialize)]
pub(super) struct AfterQuery {
    #[serde(default)]
    pub after: u64,
    pub limit: Option<usize>,
}

/// The parameters that a route publishes.
#[derive(Clone)]
pub(super) struct QueryParameters(pub Arc<[(&'static str, Schema)]>);

/// Extracts the query string, or answers a problem that says what is wrong with it.
pub(super) struct QueryString<T>(pub T);

impl<T: DeserializeOwned + Send> FromRequestParts<Arc<AppState>> for QueryString<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _app: &Arc<AppState>) -> Result<Self, Problem> {
        let Ok(Query(query)) = Query::try_from_uri(&parts.uri) else {
            let parameters = parts.extensions.get::<QueryParameters>().map_or(&[][..], |parameters| &parameters.0);
            return Err(Problem::new(StatusCode::BAD_REQUEST, "bad_request", error_in(&parts.uri, parameters)));
        };
        Ok(QueryString(query))
    }
}

/// A boolean in the usual spellings of query strings.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
pub(super) enum BoolParameter {
    #[serde(rename = "1", alias = "true")]
    On,
    #[default]
    #[serde(rename = "0", alias = "false")]
    Off,
}

impl BoolParameter {
    pub(super) fn is_on(self) -> bool {
        self == BoolParameter::On
    }

    pub(super) fn schema() -> Schema {
        one_of(["1", "0", "true", "false"])
    }
}

fn error_in(uri: &axum::http::Uri, parameters: &[(&str, Schema)]) -> String {
    let Ok(Query(pairs)) = Query::<Vec<(String, String)>>::try_from_uri(uri) else {
        return "the query string cannot be read: expected name=value pairs joined by &".into();
    };
    for (at, (name, value)) in pairs.iter().enumerate() {
        let Some((name, schema)) = parameters.iter().find(|(known, _)| known == name) else { continue };
        if pairs[..at].iter().any(|(before, _)| before == name) {
            return format!("`{name}` is given more than once; give it once");
        }
        if !fits(schema, value) {
            let value: String = value.chars().take(QUOTED).collect();
            return format!("`{name}` is {value:?}; expected {}", expected(schema));
        }
    }
    let known: Vec<&str> = parameters.iter().map(|(name, _)| *name).collect();
    format!("the query string cannot be used; parameters: {}", known.join(", "))
}

fn fits(schema: &Schema, value: &str) -> bool {
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().any(|word| word == value);
    }
    match (schema["type"].as_str(), schema["format"].as_str()) {
        (Some("integer"), _) => {
            let least = schema["minimum"].as_i64().unwrap_or(i64::MIN);
            value.parse::<i64>().is_ok_and(|number| number >= least)
        }
        (Some("string"), Some("uuid")) => value.parse::<uuid::Uuid>().is_ok(),
        (Some("string"), Some("date-time")) => Timestamp::parse(value).is_some(),
        _ => true,
    }
}

fn expected(schema: &Schema) -> String {
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<&str> = words.iter().filter_map(|word| word.as_str()).collect();
        return format!("one of: {}", words.join(", "));
    }
    match (schema["format"].as_str(), schema["minimum"].as_i64(), schema["maximum"].as_i64()) {
        (Some("uuid"), ..) => "a full id, as a response gave it".into(),
        (Some("date-time"), ..) => "a time, such as 2026-05-01T12:00:00Z".into(),
        (_, Some(least), Some(most)) => format!("a whole number from {least} to {most}"),
        (_, Some(least), None) => format!("a whole number, {least} or more"),
        _ => "a text".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::schema::{count, id, time, whole};

    #[test]
    fn an_error_names_the_parameter_its_value_and_what_is_allowed() {
        let parameters = [
            ("limit", whole(1, 200)),
            ("cursor", id()),
            ("since", time()),
            ("open", BoolParameter::schema()),
            ("after", count()),
        ];
        for (query, said) in [
            ("limit=abc", "`limit` is \"abc\"; expected a whole number from 1 to 200"),
            ("limit=5&cursor=zzz", "`cursor` is \"zzz\"; expected a full id, as a response gave it"),
            ("since=now", "`since` is \"now\"; expected a time, such as 2026-05-01T12:00:00Z"),
            ("open=yes", "`open` is \"yes\"; expected one of: 1, 0, true, false"),
            ("after=-1", "`after` is \"-1\"; expected a whole number, 0 or more"),
            ("limit=5&limit=6", "`limit` is given more than once; give it once"),
            ("more=1", "the query string cannot be used; parameters: limit, cursor, since, open, after"),
        ] {
            let uri = format!("/x?{query}").parse().expect("an address");
            assert_eq!(error_in(&uri, &parameters), said, "{query}");
        }
    }
}
