//! Connections over the network: how many there may be, how long one may take to say what it wants, and how they end.
//! What is asked over them is the router's.

mod line;

pub use line::{Frames, Line};

use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::{Request, Version};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::TaskTracker;
use tower_service::Service;

/// Ten thousand readers, and everybody else.
const MOST: usize = 16_384;
/// For the head of a request, the first and every later one: who sends a letter a minute is not waited for, and who has
/// nothing more to ask is let go.
const HEAD_WITHIN: Duration = Duration::from_secs(15);
const AFTER_FAILURE: Duration = Duration::from_millis(500);

/// Until told to stop; then what was asked already is answered.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    until: WaitForCancellationFutureOwned,
) -> std::io::Result<()> {
    let (open, stopped, places) = (TaskTracker::new(), CancellationToken::new(), Arc::new(Semaphore::new(MOST)));
    let mut until = std::pin::pin!(until);
    loop {
        let accepted = tokio::select! {
            () = &mut until => break,
            accepted = next(&listener, &places) => accepted,
        };
        if let Some((stream, peer, place)) = accepted {
            let served = converse(stream, peer, router.clone(), stopped.clone());
            open.spawn(async move {
                served.await;
                drop(place);
            });
        }
    }
    stopped.cancel();
    open.close();
    open.wait().await;
    Ok(())
}

async fn next(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(TcpStream, SocketAddr, tokio::sync::OwnedSemaphorePermit)> {
    let place = places.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, peer)) => Some((stream, peer, place)),
        Err(error) => {
            // Most likely there are no more files to be had; soon somebody leaves.
            tracing::warn!(%error, "a connection could not be taken");
            tokio::time::sleep(AFTER_FAILURE).await;
            None
        }
    }
}

async fn converse(stream: TcpStream, peer: SocketAddr, router: Router, stopped: CancellationToken) {
    // Events are small and wanted now.
    let _ = stream.set_nodelay(true);
    let line = Line::new(stream);
    let layer = TokioIo::new(line.clone());
    let answer = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        // Only there are answers of unknown length sent in chunks.
        if request.version() == Version::HTTP_11 {
            request.extensions_mut().insert(line.clone());
        }
        router.clone().call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
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
