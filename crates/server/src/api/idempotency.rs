//! `Idempotency-Key`: a repeated request is carried out once and answered twice. Keys belong to the credential they are sent
//! with. A response that shows a secret is not stored; the repeated request is told so.

use super::AppState;
use super::caller::read_body;
use super::problems::{MEDIA_TYPE, Problem};
use super::schema::Schema;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use sha2::{Digest, Sha256};
use store::credentials::{IdempotencyOwner, Reservation, StoredResponse};

pub(super) const HEADER: &str = "idempotency-key";
const MAX_NAME: usize = 255;

/// Schema of the header.
pub(super) fn schema() -> Schema {
    json!({"type": "string", "minLength": 1, "maxLength": MAX_NAME, "pattern": "^[!-~]+$"})
}

pub(super) async fn run_once(
    app: &AppState,
    by: IdempotencyOwner,
    returns_secret: bool,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let name = name(&request)?;
    let (parts, body) = request.into_parts();
    let body = read_body(body).await?;
    let mut hasher = Sha256::new();
    for part in [parts.uri.path().as_bytes(), b"\0", parts.uri.query().unwrap_or_default().as_bytes(), b"\0", &body] {
        hasher.update(part);
    }
    match app.store.begin(by, &name, hasher.finalize().into(), app.clock.now()).await? {
        Reservation::New => {
            let response = next.run(Request::from_parts(parts, Body::from(body))).await;
            store_response(app, by, &name, returns_secret, response).await
        }
        Reservation::Completed(answer) => Ok(replay(answer)),
        Reservation::InProgress => Err(Problem {
            retry_after: Some(1),
            ..Problem::conflict(
                "request_in_progress",
                "a request with this Idempotency-Key is still being carried out; try again in a moment",
            )
        }),
        Reservation::DifferentRequest => Err(Problem::invalid(
            "idempotency_key_reused",
            "this Idempotency-Key was used for a request with another path or body; nothing was changed. Choose a new key",
        )),
    }
}

fn name(request: &Request) -> Result<String, Problem> {
    let text = request.headers().get(HEADER).and_then(|name| name.to_str().ok()).map(str::trim).unwrap_or_default();
    match (1..=MAX_NAME).contains(&text.len()) {
        true => Ok(text.to_owned()),
        false => Err(Problem::invalid(
            "bad_idempotency_key",
            format!("an Idempotency-Key has 1 to {MAX_NAME} printable ASCII characters; nothing was changed"),
        )),
    }
}

/// Stores the response for repetitions. A failure of the server, or a temporary one, is not stored: it may be tried again under
/// the same key.
async fn store_response(
    app: &AppState,
    by: IdempotencyOwner,
    name: &str,
    returns_secret: bool,
    response: Response,
) -> Result<Response, Problem> {
    let status = response.status();
    let temporary = status.is_server_error() || matches!(status.as_u16(), 401 | 403 | 408 | 429);
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.map_err(|error| {
        Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "unexpected",
            format!("the request was carried out, but its response could not be read: {error}"),
        )
    })?;
    let content_type =
        parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let copy = |body| StoredResponse { status: status.as_u16(), content_type: content_type.to_owned(), body };
    let answer = match (temporary, returns_secret && status.is_success()) {
        (true, _) => None,
        (false, true) => Some(secret_not_kept()),
        (false, false) => String::from_utf8(bytes.to_vec()).ok().map(copy),
    };
    app.store.finish(by, name, answer).await?;
    Ok(Response::from_parts(parts, Body::from(bytes)))
}

fn secret_not_kept() -> StoredResponse {
    let problem = Problem::conflict(
        "secret_not_kept",
        "this request was carried out before. Its response showed a secret, which is shown once and was not kept; if you do not have it, revoke or remove what was made and make another with a new Idempotency-Key",
    );
    StoredResponse {
        status: problem.status.as_u16(),
        content_type: MEDIA_TYPE.into(),
        body: problem.json().to_string(),
    }
}

fn replay(answer: StoredResponse) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    let mut response = (status, answer.body).into_response();
    if let Ok(content_type) = HeaderValue::from_str(&answer.content_type) {
        response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    }
    response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
    response
}
