//! Versions over HTTP: `ETag` says which version a response shows, `If-Match` which one a change is based on, so that no edit
//! is lost.

use super::prelude::*;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use engine::workspace::{Change, Mutation};
use runtime::ports::AppendError;

/// An entity with its version as a header.
pub(super) fn versioned(status: StatusCode, version: i64, entity: impl Serialize) -> Response {
    (status, [(header::ETAG, format!("\"{version}\""))], Json(entity)).into_response()
}

/// The version a change was made on; `None` is `*`, whichever is there.
pub(super) struct IfMatch(pub Option<i64>);

impl IfMatch {
    /// Refuses a change that was based on another version than the stored one.
    pub(super) fn check(&self, version: i64) -> ApiResult<()> {
        match self.0.is_none_or(|expected| expected == version) {
            true => Ok(()),
            false => Err(stale()),
        }
    }
}

/// Schema of the `If-Match` header.
pub(super) fn schema() -> Schema {
    json!({"type": "string", "pattern": "^([*]|\"[0-9]{1,9}\")$"})
}

impl FromRequestParts<Arc<AppState>> for IfMatch {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _app: &Arc<AppState>) -> Result<Self, Problem> {
        let given = parts.headers.get(header::IF_MATCH).ok_or_else(|| {
            Problem::new(
                StatusCode::PRECONDITION_REQUIRED,
                "version_required",
                "send If-Match with the ETag of the version you changed, or * for any version; nothing was changed",
            )
        })?;
        let text = given.to_str().unwrap_or_default().trim();
        if text == "*" {
            return Ok(IfMatch(None));
        }
        let number = text.trim_start_matches("W/").trim_matches('"').parse();
        // A tag that this server never sent matches no version.
        number.map(|version| IfMatch(Some(version))).map_err(|_| stale())
    }
}

/// Mutations with their author; seq 0, since they belong to no run.
pub(super) fn changes(caller: &Caller, mutations: Vec<Mutation>) -> Vec<Change> {
    mutations.into_iter().map(|mutation| Change { mutation, actor: caller.actor(), seq: 0 }).collect()
}

pub(super) fn stale() -> Problem {
    Problem::new(
        StatusCode::PRECONDITION_FAILED,
        "stale_version",
        "it has changed since the version in If-Match; nothing was changed. Read it again and repeat your change",
    )
}

/// Commits changes that the caller makes outside any run. A conflict is reported like an outdated `If-Match`.
pub(super) async fn write(app: &AppState, caller: &Caller, mutations: Vec<Mutation>) -> ApiResult<()> {
    app.commands()?;
    app.store.change(changes(caller, mutations)).await.map_err(|error| match error {
        AppendError::Conflict(_) => stale(),
        error => error.into(),
    })
}
