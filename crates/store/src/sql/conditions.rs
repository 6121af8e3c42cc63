//! Conditions, orders and limits that many queries share. The caller's query must have a `WHERE` already.

use super::{Query, Value, id};
use runtime::ports::Slice;
use uuid::Uuid;

/// The length of a page. Zero means that the caller did not say one.
pub(crate) fn page(limit: usize) -> usize {
    if limit == 0 { 100 } else { limit }
}

pub(crate) fn only(mut query: Query, column: &str, key: impl Into<Uuid>) -> Query {
    equals(&mut query, column, Some(id(key)));
    query
}

pub(crate) fn equals(query: &mut Query, column: &str, key: Option<Value>) {
    if let Some(key) = key {
        query.push(" AND ").push(column).push(" = ").bind(key);
    }
}

/// Ids are UUIDs of version 7, so their order is the order of creation.
pub(crate) fn older(query: &mut Query, before: Option<impl Into<Uuid>>) {
    if let Some(before) = before {
        query.push(" AND id < ").bind(id(before));
    }
}

pub(crate) fn newest(mut query: Query, limit: usize) -> Query {
    query.push(" ORDER BY id DESC LIMIT ").bind(page(limit));
    query
}

pub(crate) fn oldest<C: Into<Uuid>>(mut query: Query, slice: Slice<C>) -> Query {
    if let Some(after) = slice.after {
        query.push(" AND id > ").bind(id(after));
    }
    query.push(" ORDER BY id LIMIT ").bind(page(slice.limit));
    query
}

/// Orders by the time of creation, for rows whose ids do not have that order.
pub(crate) fn in_order_made<C: Into<Uuid>>(query: &mut Query, table: &str, slice: Slice<C>) {
    if let Some(after) = slice.after {
        query.push(" AND (created_at, id) > (SELECT c.created_at, c.id FROM ").push(table).push(" c WHERE c.id = ");
        query.bind(id(after)).push(")");
    }
    query.push(" ORDER BY created_at, id LIMIT ").bind(page(slice.limit));
}
