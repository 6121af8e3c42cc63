//! The doors a request comes in by, and who it comes from. The socket belongs to the owner of the data, so its
//! requests say who acts and are believed; over the network nobody is believed without credentials.

use super::House;
use super::caller::Caller;
use super::problems::Problem;
use super::route::Access;
use crate::link::ACTOR_HEADER;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use runtime::ports::LOCAL_HANDLE;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// This process itself, or the unix socket that only its owner can open.
    Private,
    /// TCP.
    Open,
}

/// Stands before one route.
#[derive(Clone)]
pub struct Guard {
    pub house: Arc<House>,
    pub door: Door,
    pub access: Access,
}

pub async fn admit(State(guard): State<Guard>, mut request: Request, next: Next) -> Response {
    if guard.access != Access::Public {
        match guard.identify(request.headers()).await {
            Ok(caller) if caller.access < guard.access => return insufficient(guard.access).into_response(),
            Ok(caller) => drop(request.extensions_mut().insert(caller)),
            Err(problem) => return problem.into_response(),
        }
    }
    next.run(request).await
}

impl Guard {
    async fn identify(&self, headers: &HeaderMap) -> Result<Caller, Problem> {
        match self.door {
            Door::Private => self.believed(headers).await,
            Door::Open => Err(unauthorized()),
        }
    }

    async fn believed(&self, headers: &HeaderMap) -> Result<Caller, Problem> {
        let handle = headers.get(ACTOR_HEADER).and_then(|value| value.to_str().ok()).unwrap_or(LOCAL_HANDLE);
        let record = self.house.store.actor(handle).await?.ok_or_else(|| Problem::not_found("actor", handle))?;
        Ok(Caller::of_owner(record))
    }
}

pub fn unauthorized() -> Problem {
    Problem::new(
        StatusCode::UNAUTHORIZED,
        "unauthorized",
        "this needs a token that is valid: send it as `Authorization: Bearer TOKEN`, or log in",
    )
}

fn insufficient(needed: Access) -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        "insufficient_scope",
        format!("this needs a token with the scope {}; nothing was changed", needed.name()),
    )
}
