//! Network connections: how many there may be, how long a request head may take, and how connections are closed. Requests
//! themselves are the router's business.

mod descriptors;
mod network;
mod raw_stream;
mod refusals;
mod registry;
mod tracked_body;

pub(crate) use network::Network;
pub(crate) use raw_stream::{Frames, RawStream, write_chunk};
pub(crate) use registry::Connection;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::{Request, Version};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use registry::{Limits, Registry};
use socket2::SockRef;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::TaskTracker;
use tower_service::Service;
use tracked_body::TrackedBody;

/// The time for the head of each request on a connection. Closes slow and idle connections.
const HEAD_WITHIN: Duration = Duration::from_secs(15);
/// The buffer of one connection, and so the longest request head.
const MAX_BUFFER: usize = 128 << 10;
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// Serves until `until` completes, and then finishes the requests in progress.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    until: WaitForCancellationFutureOwned,
) -> std::io::Result<()> {
    let registry = Registry::new(Limits::for_descriptors(descriptors::raise_limit()));
    let (open, stopped) = (TaskTracker::new(), CancellationToken::new());
    let mut until = std::pin::pin!(until);
    loop {
        let accepted = tokio::select! {
            () = &mut until => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                let stream = Arc::new(stream);
                match registry.admit(&stream, peer.ip()) {
                    Some(entry) => drop(open.spawn(serve_one(stream, entry, peer, router.clone(), stopped.clone()))),
                    // One attempt without waiting: the refusal must not hold up other connections.
                    None => drop(SockRef::from(&*stream).send(&refusals::too_many_connections())),
                }
            }
            Err(error) => {
                // Most likely the process is out of file descriptors.
                let freed = registry.close_one();
                tracing::warn!(%error, freed, "a connection could not be accepted; trying again");
                tokio::time::sleep(ACCEPT_RETRY).await;
            }
        }
    }
    stopped.cancel();
    open.close();
    open.wait().await;
    Ok(())
}

async fn serve_one(
    stream: Arc<TcpStream>,
    entry: Connection,
    peer: SocketAddr,
    router: Router,
    stopped: CancellationToken,
) {
    // Events are small and must not wait for a full packet.
    let _ = stream.set_nodelay(true);
    let raw = RawStream::new(stream, entry.clone());
    let io = TokioIo::new(raw.clone());
    let answer = service_fn(move |mut request: Request<Incoming>| {
        let busy = entry.answering();
        request.extensions_mut().insert(ConnectInfo(peer));
        request.extensions_mut().insert(entry.clone());
        // Streams write chunks past the HTTP layer, and only HTTP/1.1 has chunks.
        if request.version() == Version::HTTP_11 {
            request.extensions_mut().insert(raw.clone());
        }
        let answer = router.clone().call(request);
        async move { answer.await.map(|response| response.map(|body| TrackedBody::new(body, busy))) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_buf_size(MAX_BUFFER)
        .serve_connection(io, answer)
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopped.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, %peer, "a connection ended early");
    }
}
