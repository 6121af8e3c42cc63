//! A connection, shared by the HTTP layer and by whoever streams over it. A stream to a thousand readers is a thousand small
//! writes, and through that layer each costs nearly twice what it costs in itself. So a stream's head and first words go
//! through the layer; what follows is written here, as chunks of the same answer, while the layer waits for the end of it,
//! listens for the other side to leave, and writes nothing.

use super::Connection;
use super::refusals::explained;
use axum::body::Bytes;
use futures::{Stream, StreamExt, stream};
use socket2::SockRef;
use std::cell::RefCell;
use std::convert::Infallible;
use std::future::{poll_fn, ready};
use std::io::{ErrorKind, IoSlice, Result, Write as _};
use std::net::Shutdown;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;

/// What is gathered before it is written.
const MOST_AT_ONCE: usize = 64 << 10;

/// Pieces of an answer, as they come.
pub trait Frames: Send + 'static {
    /// `None` ends the answer.
    fn next(&mut self) -> impl Future<Output = Option<Bytes>> + Send;
}

/// Whoever has it may write; clones lead to the same connection.
#[derive(Clone)]
pub struct RawStream(Arc<Wire>);

struct Wire {
    stream: Arc<TcpStream>,
    /// Its place among the others, which it has as long as anybody may write here.
    connection: Connection,
    /// Who takes over as soon as the layer has nothing left to write.
    next: Mutex<Option<oneshot::Sender<()>>>,
    /// What is left to write of a refusal that was given a body.
    refusal: Mutex<Vec<u8>>,
}

impl RawStream {
    pub fn new(stream: Arc<TcpStream>, connection: Connection) -> RawStream {
        RawStream(Arc::new(Wire { stream, connection, next: Mutex::default(), refusal: Mutex::default() }))
    }

    /// The body of an answer in chunks: its first frame for the layer to write, the others written past it. Dropped by
    /// the layer when the other side has left, and the rest with it.
    pub fn carry(
        self,
        mut frames: impl Frames,
    ) -> impl Stream<Item = std::result::Result<Bytes, Infallible>> + Send + 'static {
        let ((give, given), (hand_over, mine), (end, ended)) =
            (oneshot::channel(), oneshot::channel(), oneshot::channel());
        let line = self.clone();
        let carried = AbortOnDropHandle::new(tokio::spawn(async move {
            let Some(first) = frames.next().await else { return };
            if give.send(first).is_ok() && mine.await.is_ok() {
                // That the line broke is noticed by the layer, too.
                let _ = line.write(frames).await;
            }
            let _ = end.send(());
        }));
        let first = stream::once(given).filter_map(|frame| ready(frame.ok()));
        let rest = stream::once(async move {
            *self.0.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(hand_over);
            let _ = ended.await;
            drop(carried);
        });
        first.map(Ok).chain(rest.filter_map(|()| ready(None)))
    }

    async fn write(&self, mut frames: impl Frames) -> Result<()> {
        let mut gathered = Vec::new();
        loop {
            let mut next = pin!(frames.next());
            // Written when nothing more is there at once.
            let frame = poll_fn(|context| match next.as_mut().poll(context) {
                Poll::Ready(frame) => Poll::Ready(Ok(frame)),
                Poll::Pending => match self.poll_write_all(context, &mut gathered) {
                    Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                    _ => Poll::Pending,
                },
            });
            let Some(frame) = frame.await? else { break };
            chunk(&mut gathered, &frame);
            if gathered.len() > MOST_AT_ONCE {
                poll_fn(|context| self.poll_write_all(context, &mut gathered)).await?;
            }
        }
        poll_fn(|context| self.poll_write_all(context, &mut gathered)).await
    }

    fn poll_write_all(&self, context: &mut Context<'_>, bytes: &mut Vec<u8>) -> Poll<Result<()>> {
        while !bytes.is_empty() {
            let sent = ready!(self.poll_write(context, |stream| stream.try_write(bytes)))?;
            bytes.drain(..sent);
        }
        if bytes.capacity() > 0 {
            bytes.shrink_to(MOST_AT_ONCE);
            SCRATCH.set(std::mem::take(bytes));
        }
        Poll::Ready(Ok(()))
    }

    fn poll_write(
        &self,
        context: &mut Context<'_>,
        write: impl Fn(&TcpStream) -> Result<usize>,
    ) -> Poll<Result<usize>> {
        loop {
            match write(&self.0.stream) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => ready!(self.0.stream.poll_write_ready(context))?,
                done => return Poll::Ready(done),
            }
        }
    }
}

impl RawStream {
    /// What the layer writes while no request is being answered can only be a refusal of its own; it is written with a
    /// body instead. `None` for everything else.
    fn poll_refuse(&self, context: &mut Context<'_>, bytes: &[u8]) -> Option<Poll<Result<usize>>> {
        if !self.0.connection.is_idle() {
            return None;
        }
        let mut rest = self.0.refusal.lock().unwrap_or_else(PoisonError::into_inner);
        if rest.is_empty() {
            *rest = explained(bytes)?;
        }
        while !rest.is_empty() {
            match RawStream::poll_write(self, context, |stream| stream.try_write(&rest)) {
                Poll::Ready(Ok(sent)) => drop(rest.drain(..sent)),
                other => return Some(other),
            }
        }
        Some(Poll::Ready(Ok(bytes.len())))
    }
}

thread_local! {
    /// Where all streams of a thread gather, one after the other: memory of their own would be cold each time.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

fn chunk(out: &mut Vec<u8>, frame: &[u8]) {
    if out.capacity() == 0 {
        *out = SCRATCH.take();
    }
    if !frame.is_empty() {
        write!(out, "{:x}\r\n", frame.len()).expect("memory can be written");
        out.extend_from_slice(frame);
        out.extend_from_slice(b"\r\n");
    }
}

/// The connection as the HTTP layer sees it.
impl AsyncRead for RawStream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        loop {
            ready!(self.0.stream.poll_read_ready(context))?;
            match self.0.stream.try_read_buf(into) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done.map(drop)),
            }
        }
    }
}

impl AsyncWrite for RawStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let refused = self.poll_refuse(context, bytes);
        refused.unwrap_or_else(|| RawStream::poll_write(&self, context, |stream| stream.try_write(bytes)))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let refused = match pieces {
            [only] => self.poll_refuse(context, only),
            _ => None,
        };
        refused.unwrap_or_else(|| RawStream::poll_write(&self, context, |stream| stream.try_write_vectored(pieces)))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// The layer asks for this when it has written all it had.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        if let Some(next) = self.0.next.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = next.send(());
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(SockRef::from(&*self.0.stream).shutdown(Shutdown::Write))
    }
}
