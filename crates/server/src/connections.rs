//! Connections over the network: how many there may be, how long one may take to say what it wants, and how they end.
//! What is asked over them is the router's.

mod descriptors;
mod network;
mod raw_stream;
mod refusals;
mod registry;
mod tracked_body;

pub use network::Network;
pub use raw_stream::{Frames, RawStream};
pub use registry::Connection;

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

/// For the head of a request, the first and every later one: who sends a letter a minute is not waited for, and who has
/// nothing more to ask is let go.
const HEAD_WITHIN: Duration = Duration::from_secs(15);
/// Of one connection: the longest head, and what is read or written at a time.
const MOST_BUFFERED: usize = 128 << 10;
const AFTER_FAILURE: Duration = Duration::from_millis(100);

/// Until told to stop; then what was asked already is answered.
pub async fn serve(
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
                    Some(place) => drop(open.spawn(converse(stream, place, peer, router.clone(), stopped.clone()))),
                    // Whoever is told so at all is told at once: nothing waits for it.
                    None => drop(SockRef::from(&*stream).send(&refusals::full())),
                }
            }
            Err(error) => {
                // Most likely there are no more files to be had.
                let freed = registry.close_one();
                tracing::warn!(%error, freed, "a connection could not be taken");
                tokio::time::sleep(AFTER_FAILURE).await;
            }
        }
    }
    stopped.cancel();
    open.close();
    open.wait().await;
    Ok(())
}

async fn converse(
    stream: Arc<TcpStream>,
    place: Connection,
    peer: SocketAddr,
    router: Router,
    stopped: CancellationToken,
) {
    // Events are small and wanted now.
    let _ = stream.set_nodelay(true);
    let line = RawStream::new(stream, place.clone());
    let layer = TokioIo::new(line.clone());
    let answer = service_fn(move |mut request: Request<Incoming>| {
        let answering = place.answering();
        request.extensions_mut().insert(ConnectInfo(peer));
        request.extensions_mut().insert(place.clone());
        // Only there are answers of unknown length sent in chunks.
        if request.version() == Version::HTTP_11 {
            request.extensions_mut().insert(line.clone());
        }
        let answer = router.clone().call(request);
        async move { answer.await.map(|response| response.map(|body| TrackedBody::new(body, answering))) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_buf_size(MOST_BUFFERED)
        .serve_connection(layer, answer)
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
        tracing::debug!(%error, %peer, "a connection broke off");
    }
}
