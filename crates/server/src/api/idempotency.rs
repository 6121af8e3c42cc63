//! `Idempotency-Key`: a request sent twice is done once and answered twice. Names belong to the credential they are sent
//! with. An answer that shows a secret is not kept: the second time, it is said that there was one.

use super::AppState;
use super::caller::whole;
use super::problems::{MEDIA_TYPE, Problem};
use super::schema::Schema;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use sha2::{Digest, Sha256};
use store::keys::{Begun, Credential, KeptAnswer};

pub const HEADER: &str = "idempotency-key";
const MAX_NAME: usize = 255;

/// What such a name may be.
pub fn schema() -> Schema {
    json!({"type": "string", "minLength": 1, "maxLength": MAX_NAME, "pattern": "^[!-~]+$"})
}

pub async fn answer(app: &AppState, by: Credential, gives_secret: bool, request: Request, next: Next) -> Response {
    match attempt(app, by, gives_secret, request, next).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    }
}

async fn attempt(
    app: &AppState,
    by: Credential,
    gives_secret: bool,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let name = name(&request)?;
    let (parts, body) = request.into_parts();
    let body = whole(body).await?;
    let mut hasher = Sha256::new();
    for part in [parts.uri.path().as_bytes(), b"\0", parts.uri.query().unwrap_or_default().as_bytes(), b"\0", &body] {
        hasher.update(part);
    }
    match app.store.begin(by, &name, hasher.finalize().into(), app.clock.now()).await? {
        Begun::First => {
            let response = next.run(Request::from_parts(parts, Body::from(body))).await;
            kept(app, by, &name, gives_secret, response).await
        }
        Begun::Done(answer) => replayed(answer),
        Begun::Pending => Err(Problem {
            retry_after: Some(1),
            ..Problem::new(
                StatusCode::CONFLICT,
                "request_in_progress",
                "a request with this Idempotency-Key is being worked on",
            )
        }),
        Begun::Another => Err(Problem::invalid(
            "idempotency_key_reused",
            "this Idempotency-Key belongs to a request with another path or body; nothing was changed",
        )),
    }
}

fn name(request: &Request) -> Result<String, Problem> {
    let text = request.headers().get(HEADER).and_then(|name| name.to_str().ok()).map(str::trim).unwrap_or_default();
    match (1..=MAX_NAME).contains(&text.len()) {
        true => Ok(text.to_owned()),
        false => Err(Problem::invalid(
            "bad_idempotency_key",
            format!("an Idempotency-Key has 1 to {MAX_NAME} printable ASCII characters"),
        )),
    }
}

/// What failed for reasons of ours, or only for now, may be tried again under the same name.
async fn kept(
    app: &AppState,
    by: Credential,
    name: &str,
    gives_secret: bool,
    response: Response,
) -> Result<Response, Problem> {
    let status = response.status();
    let temporary = status.is_server_error() || matches!(status.as_u16(), 401 | 403 | 408 | 429);
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.map_err(|error| {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "unexpected", format!("the answer broke off: {error}"))
    })?;
    let content_type =
        parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let as_given = |body| KeptAnswer { status: status.as_u16(), content_type: content_type.to_owned(), body };
    let answer = match (temporary, gives_secret && status.is_success()) {
        (true, _) => None,
        (false, true) => Some(in_place_of_a_secret()),
        (false, false) => String::from_utf8(bytes.to_vec()).ok().map(as_given),
    };
    app.store.finish(by, name, answer).await?;
    Ok(Response::from_parts(parts, Body::from(bytes)))
}

fn in_place_of_a_secret() -> KeptAnswer {
    let problem = Problem::new(
        StatusCode::CONFLICT,
        "secret_not_kept",
        "this request was done already. Its answer showed a secret, which is shown once and was not kept; if you do not have it, end what was made and make another with a new Idempotency-Key",
    );
    KeptAnswer { status: problem.status.as_u16(), content_type: MEDIA_TYPE.into(), body: problem.json().to_string() }
}

fn replayed(answer: KeptAnswer) -> Result<Response, Problem> {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    let mut response = (status, answer.body).into_response();
    if let Ok(content_type) = HeaderValue::from_str(&answer.content_type) {
        response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    }
    response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
    Ok(response)
}
