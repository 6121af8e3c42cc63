//! Statements, values and rows that both databases use. It must not know any table.
//!
//! Statements are written in SQLite's dialect: placeholders `?1`…, `instr` for a substring, and `now_ms()`, a function
//! of ours, for the database's clock. `FOR UPDATE SKIP LOCKED` is added where a claim must not wait for another; SQLite
//! drops it. `dialect` turns a statement into PostgreSQL's.

mod conditions;

pub(crate) use conditions::{equals, in_order_made, newest, older, oldest, only, page};

use crate::StoreError;
use std::borrow::Cow;
use std::str::FromStr;
use uuid::Uuid;
use uuid::fmt::Hyphenated;

/// A bound value. A NULL has a type too, because PostgreSQL gets the types with the statement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Int(Option<i64>),
    Text(Option<String>),
    Id(Id),
    Bytes(Option<Vec<u8>>),
}

/// An id as text, the way both databases store it. Every row has several, so it is kept without an allocation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Id([u8; Hyphenated::LENGTH]);

impl Id {
    pub(crate) fn as_str(&self) -> &str {
        // Always valid: it has only hexadecimal digits and hyphens.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value::Int(Some(number))
    }
}

impl From<Option<i64>> for Value {
    fn from(number: Option<i64>) -> Self {
        Value::Int(number)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Value::Int(Some(i64::try_from(number).unwrap_or(i64::MAX)))
    }
}

impl From<Option<u64>> for Value {
    fn from(number: Option<u64>) -> Self {
        number.map_or(Value::Int(None), Value::from)
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Value::from(number as u64)
    }
}

impl From<String> for Value {
    /// PostgreSQL refuses NUL in text, and a model may write one.
    fn from(text: String) -> Self {
        Value::Text(Some(if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text }))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::from(text.to_owned())
    }
}

impl From<Option<String>> for Value {
    fn from(text: Option<String>) -> Self {
        text.map_or(Value::Text(None), Value::from)
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        Value::Bytes(Some(bytes))
    }
}

impl From<&serde_json::Value> for Value {
    fn from(json: &serde_json::Value) -> Self {
        Value::from(json.to_string())
    }
}

pub(crate) fn id(id: impl Into<Uuid>) -> Value {
    let mut text = [0; Hyphenated::LENGTH];
    id.into().hyphenated().encode_lower(&mut text);
    Value::Id(Id(text))
}

pub(crate) fn optional_id(given: Option<impl Into<Uuid>>) -> Value {
    given.map_or(Value::Text(None), id)
}

/// What a guarded statement protects. It is the reason when the batch is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    /// The run's lease and the end of its log.
    Head,
    /// The version of an entity, or that the entity does not exist yet.
    Entity(Uuid),
}

/// A statement with one or more rows of parameters.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub sql: Cow<'static, str>,
    pub rows: Vec<Vec<Value>>,
    /// If set, the statement must touch a row; otherwise the whole batch is rolled back.
    pub guard: Option<Guard>,
}

impl Statement {
    pub(crate) fn new(sql: impl Into<Cow<'static, str>>, values: Vec<Value>) -> Statement {
        Statement { sql: sql.into(), rows: vec![values], guard: None }
    }

    /// One `INSERT … VALUES (?1, …)` for many rows. Only the tuple after `VALUES` may have placeholders, because
    /// `dialect` repeats the tuple with other numbers.
    pub(crate) fn many(sql: impl Into<Cow<'static, str>>, rows: Vec<Vec<Value>>) -> Statement {
        Statement { sql: sql.into(), rows, guard: None }
    }

    pub(crate) fn guarded(self, guard: Guard) -> Statement {
        Statement { guard: Some(guard), ..self }
    }
}

/// A query under construction: constant text with bound values in between. Text of users must be bound, never pushed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    sql: String,
    values: Vec<Value>,
}

impl Query {
    pub(crate) fn new(sql: impl Into<String>) -> Query {
        Query { sql: sql.into(), values: Vec::new() }
    }

    pub(crate) fn push(&mut self, sql: &str) -> &mut Self {
        self.sql.push_str(sql);
        self
    }

    pub(crate) fn bind(&mut self, value: impl Into<Value>) -> &mut Self {
        self.values.push(value.into());
        self.sql.push_str(&format!("?{}", self.values.len()));
        self
    }

    /// `(?1, ?2, …)`. An empty list becomes `(NULL)`, which matches nothing.
    pub(crate) fn bind_list(&mut self, values: impl IntoIterator<Item = Value>) -> &mut Self {
        self.push("(");
        let mut any = false;
        for value in values {
            if any {
                self.push(", ");
            }
            any = true;
            self.bind(value);
        }
        self.push(if any { ")" } else { "NULL)" })
    }

    pub(crate) fn statement(&mut self) -> Statement {
        let Query { sql, values } = std::mem::take(self);
        Statement::new(sql, values)
    }
}

/// A result row. Columns are read by their number in the select list.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Row(pub Vec<Value>);

impl Row {
    pub(crate) fn int(&self, column: usize) -> Result<i64, StoreError> {
        self.optional_int(column)?.ok_or_else(|| unreadable(column, "is empty"))
    }

    pub(crate) fn optional_int(&self, column: usize) -> Result<Option<i64>, StoreError> {
        match self.0.get(column) {
            Some(Value::Int(number)) => Ok(*number),
            Some(Value::Text(None) | Value::Bytes(None)) => Ok(None),
            _ => Err(unreadable(column, "is not a number")),
        }
    }

    pub(crate) fn text(&self, column: usize) -> Result<&str, StoreError> {
        self.optional_text(column)?.ok_or_else(|| unreadable(column, "is empty"))
    }

    pub(crate) fn optional_text(&self, column: usize) -> Result<Option<&str>, StoreError> {
        match self.0.get(column) {
            Some(Value::Text(text)) => Ok(text.as_deref()),
            Some(Value::Int(None) | Value::Bytes(None)) => Ok(None),
            _ => Err(unreadable(column, "is not text")),
        }
    }

    pub(crate) fn bytes(&self, column: usize) -> Result<&[u8], StoreError> {
        match self.0.get(column) {
            Some(Value::Bytes(Some(bytes))) => Ok(bytes),
            _ => Err(unreadable(column, "is not binary")),
        }
    }

    pub(crate) fn parse<T: FromStr>(&self, column: usize) -> Result<T, StoreError> {
        self.text(column)?.parse().map_err(|_| unreadable(column, "is malformed"))
    }

    pub(crate) fn optional_parse<T: FromStr>(&self, column: usize) -> Result<Option<T>, StoreError> {
        let text = self.optional_text(column)?;
        text.map(|text| text.parse().map_err(|_| unreadable(column, "is malformed"))).transpose()
    }

    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self, column: usize) -> Result<T, StoreError> {
        serde_json::from_str(self.text(column)?).map_err(|error| unreadable(column, &error.to_string()))
    }
}

fn unreadable(column: usize, what: &str) -> StoreError {
    StoreError::Unusable(format!("a stored row cannot be read: column {column} {what}"))
}

/// The statement in PostgreSQL's dialect. `rows` above 1 repeats the tuple of an insert.
///
/// It replaces every `?`, so a statement must not have one in a literal. `statement_timestamp` is used because `now()`
/// would be the start of the transaction.
pub(crate) fn dialect(sql: &str, rows: usize) -> String {
    const NOW: &str = "CAST(EXTRACT(EPOCH FROM statement_timestamp()) * 1000 AS BIGINT)";
    let sql = sql.replace("now_ms()", NOW).replace("instr(", "strpos(").replace('?', "$");
    let Some((head, tuple, tail)) = (rows > 1).then(|| insert_parts(&sql)).flatten() else { return sql };
    let width = tuple.matches('$').count();
    let tuples: Vec<String> = (0..rows).map(|row| shifted(tuple, row * width)).collect();
    format!("{head}{}{tail}", tuples.join(", "))
}

fn insert_parts(sql: &str) -> Option<(&str, &str, &str)> {
    let start = sql.find("VALUES (")? + "VALUES ".len();
    let end = start + sql[start..].find(')')? + 1;
    Some((&sql[..start], &sql[start..end], &sql[end..]))
}

/// The tuple with `by` added to the number of every placeholder.
fn shifted(tuple: &str, by: usize) -> String {
    let mut parts = tuple.split('$');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number: usize = part[..digits].parse().unwrap_or_default();
        out.push_str(&format!("${}{}", number + by, &part[digits..]));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postgres_gets_numbered_dollars_and_one_tuple_per_row() {
        let sql = "INSERT INTO t (a, b) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        assert_eq!(dialect(sql, 1), "INSERT INTO t (a, b) VALUES ($1, $2) ON CONFLICT DO NOTHING");
        assert_eq!(dialect(sql, 3), "INSERT INTO t (a, b) VALUES ($1, $2), ($3, $4), ($5, $6) ON CONFLICT DO NOTHING");
    }

    #[test]
    fn an_empty_list_matches_nothing_and_is_still_sql() {
        let mut query = Query::new("SELECT 1 WHERE 1 IN ");
        assert_eq!(query.bind_list([]).statement().sql, "SELECT 1 WHERE 1 IN (NULL)");
    }

    #[test]
    fn text_never_carries_a_nul() {
        assert_eq!(Value::from("a\0b"), Value::Text(Some("a\u{fffd}b".into())));
    }
}
