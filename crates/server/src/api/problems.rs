//! Errors as RFC 9457 problems with a stable slug. What is forbidden and what does not exist are the same 404.

use super::MAX_BODY_BYTES;
use crate::failure::Failure;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use runtime::ports::{AppendError, StoreError};
use serde_json::{Value, json};

pub(crate) const MEDIA_TYPE: &str = "application/problem+json";

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Problem {
    pub status: StatusCode,
    /// The `type`, by which programs tell problems apart.
    pub slug: String,
    pub detail: String,
    /// Seconds after which a retry makes sense.
    pub retry_after: Option<u64>,
    /// An additional member for programs.
    pub member: Option<(&'static str, Value)>,
}

/// Seconds to wait where nothing more precise is known.
const TRY_AGAIN: u64 = 5;
/// The slug given to a response that is not a problem of this server.
const FOREIGN: &str = "foreign";

impl Problem {
    pub(crate) fn new(status: StatusCode, slug: impl Into<String>, detail: impl Into<String>) -> Problem {
        Problem { status, slug: slug.into(), detail: detail.into(), retry_after: None, member: None }
    }

    /// The same whether it does not exist or may not be seen.
    pub(crate) fn not_found(what: &str) -> Problem {
        Problem::missing(what, format!("there is no {what} with that id that you may see"))
    }

    /// The same with a detail of its own.
    pub(crate) fn missing(what: &str, detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, format!("{what}_not_found"), detail)
    }

    /// The same for an id or name in a request body.
    pub(crate) fn unknown(what: &str, id: &str) -> Problem {
        Problem::missing(what, format!("there is no {what} {id} that you may see"))
    }

    pub(crate) fn with(self, name: &'static str, value: Value) -> Problem {
        Problem { member: Some((name, value)), ..self }
    }

    pub(crate) fn body_too_large() -> Problem {
        Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "body_too_large",
            format!("the request body is larger than {MAX_BODY_BYTES} bytes; nothing was changed"),
        )
    }

    pub(crate) fn invalid(slug: impl Into<String>, detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, slug, detail)
    }

    /// The present state does not allow it.
    pub(crate) fn conflict(slug: impl Into<String>, detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::CONFLICT, slug, detail)
    }

    /// The caller may know of it, but not do this.
    pub(crate) fn forbidden(slug: impl Into<String>, detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::FORBIDDEN, slug, detail)
    }

    /// Reads the problem that another process answered with; any other text becomes its detail.
    pub(crate) fn parse(status: StatusCode, text: &str) -> Problem {
        let Ok(Value::Object(mut body)) = serde_json::from_str(text) else {
            return Problem::new(status, FOREIGN, format!("{status}: {text}"));
        };
        let mut take =
            |name: &str| body.remove(name).and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default();
        let (slug, detail) = (take("type"), take("detail"));
        Problem { status, slug, detail, retry_after: None, member: None }
    }

    /// The problem document.
    pub(crate) fn json(&self) -> Value {
        let title = self.status.canonical_reason().unwrap_or("Error");
        let mut body =
            json!({"type": self.slug, "title": title, "status": self.status.as_u16(), "detail": self.detail});
        if let Some((name, value)) = &self.member {
            body[*name] = value.clone();
        }
        body
    }

    /// Whether the response did not come from a Pleach server.
    pub(crate) fn is_foreign(&self) -> bool {
        self.slug == FOREIGN || self.slug.is_empty()
    }

    /// For the command line: the detail, and the command to type next.
    pub(crate) fn into_failure(self) -> Failure {
        let next = match self.slug.as_str() {
            "run_not_found" => Some("`pleach ls` lists the runs you may see."),
            "node_not_found" => Some("`pleach show RUN` lists the nodes of a tree run."),
            "project_not_found" => Some("`pleach project ls` lists the projects you may see."),
            "document_not_found" => {
                Some("`pleach show RUN` lists a run's documents with their ids; `pleach search WORDS` finds others.")
            }
            "actor_not_found" => Some("`pleach actor ls` lists the actors; `pleach actor create HANDLE` makes one."),
            _ => None,
        };
        let message = next.map_or_else(|| self.detail.clone(), |next| format!("{}\n{next}", self.detail));
        match self.status {
            StatusCode::SERVICE_UNAVAILABLE => Failure::unreachable(message),
            status if status.is_client_error() => Failure::usage(message),
            _ => Failure::failed(message),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, [(header::CONTENT_TYPE, MEDIA_TYPE)], self.json().to_string()).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Problem {
        let (status, slug, retry_after) = match &error {
            StoreError::Unavailable(_) | StoreError::Busy(_) => {
                (StatusCode::SERVICE_UNAVAILABLE, "database_unavailable", Some(TRY_AGAIN))
            }
            StoreError::Full(_) => (StatusCode::INSUFFICIENT_STORAGE, "disk_full", Some(TRY_AGAIN)),
            StoreError::Unusable(_) => (StatusCode::INTERNAL_SERVER_ERROR, "database_unusable", None),
        };
        let detail = match &error {
            StoreError::Unusable(why) => format!("{why}; `pleach doctor` says more"),
            error => error.to_string(),
        };
        Problem { retry_after, ..Problem::new(status, slug, detail) }
    }
}

impl From<AppendError> for Problem {
    fn from(error: AppendError) -> Problem {
        match error {
            AppendError::Store(error) => error.into(),
            error => Problem::conflict("conflict", error.to_string()),
        }
    }
}
