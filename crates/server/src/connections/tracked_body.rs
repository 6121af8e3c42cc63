//! A response body that marks its connection as busy until it is sent.

use super::registry::BusyGuard;
use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll};

pub(super) struct TrackedBody {
    body: Body,
    _busy: BusyGuard,
}

impl TrackedBody {
    pub(super) fn new(body: Body, busy: BusyGuard) -> TrackedBody {
        TrackedBody { body, _busy: busy }
    }
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
