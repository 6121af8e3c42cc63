//! What almost every module of routes uses, so that each of them imports only what is its own.

pub(super) use super::caller::{Caller, Context, Id, JsonBody};
pub(super) use super::problems::Problem;
pub(super) use super::query::{MAX_PAGE, PageQuery, QueryString, page_limit};
pub(super) use super::route::Access::{self, Admin, Public, Read, Run};
pub(super) use super::route::Route;
pub(super) use super::schema::*;
pub(super) use super::{ApiResult, AppState, JsonResult, Page, PageResult, access, records};
pub(super) use axum::Json;
pub(super) use axum::extract::{Path, State};
pub(super) use axum::http::{StatusCode, header};
pub(super) use axum::response::{IntoResponse, Response};
pub(super) use runtime::ports::{Library, Slice};
pub(super) use serde::{Deserialize, Serialize};
pub(super) use serde_json::{Value, json};
pub(super) use std::sync::Arc;
