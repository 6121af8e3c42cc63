//! A connection that hyper and a stream of events share. An event for a thousand readers is a thousand small writes, and hyper
//! nearly doubles the cost of each. So hyper writes the head and the first frame of a stream; this module writes the rest as
//! chunks of the same response, while hyper waits for the end of the body, notices a disconnect, and writes nothing.

use super::Connection;
use super::refusals::with_problem;
use bytes::{Buf, Bytes, BytesMut};
use futures::future::BoxFuture;
use futures::{Stream, StreamExt, stream};
use socket2::SockRef;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::future::{poll_fn, ready};
use std::io::{ErrorKind, IoSlice, Result};
use std::net::Shutdown;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;

/// Bytes that are gathered for one write.
const MAX_WRITE: usize = 64 << 10;

/// The pieces of a streamed response.
pub(crate) trait Frames: Send + 'static {
    /// `None` ends the response.
    fn next(&mut self) -> impl Future<Output = Option<Bytes>> + Send;

    /// When the next frames are the same for others too: lets somebody else write to the connection until the future
    /// completes with what is left to write. It is polled once everything before is written.
    fn share<'a>(&'a mut self, connection: &'a RawStream) -> Option<BoxFuture<'a, Bytes>> {
        let _ = connection;
        None
    }
}

/// Clones share the connection, and each may write.
#[derive(Clone)]
pub(crate) struct RawStream(Arc<Wire>);

struct Wire {
    stream: Arc<TcpStream>,
    /// Keeps the entry in the registry as long as anybody may write here.
    connection: Connection,
    /// The stream that takes over once hyper has written everything.
    successor: Mutex<Option<oneshot::Sender<()>>>,
    /// The unwritten rest of a refusal that got a body.
    refusal: Mutex<Vec<u8>>,
}

impl RawStream {
    pub(crate) fn new(stream: Arc<TcpStream>, connection: Connection) -> RawStream {
        RawStream(Arc::new(Wire { stream, connection, successor: Mutex::default(), refusal: Mutex::default() }))
    }

    /// The body of a streamed response: hyper writes the first frame, and the others are written past it. When the client
    /// disconnects, hyper drops the body, and the task that writes ends with it.
    pub(crate) fn carry(
        self,
        mut frames: impl Frames,
    ) -> impl Stream<Item = std::result::Result<Bytes, Infallible>> + Send + 'static {
        let ((send_first, first_frame), (hand_over, handed_over), (end, ended)) =
            (oneshot::channel(), oneshot::channel(), oneshot::channel());
        let raw = self.clone();
        let writer = AbortOnDropHandle::new(tokio::spawn(async move {
            let Some(first) = frames.next().await else { return };
            if send_first.send(first).is_ok() && handed_over.await.is_ok() {
                // hyper notices a broken connection too.
                let _ = raw.write(frames).await;
            }
            let _ = end.send(());
        }));
        let first = stream::once(first_frame).filter_map(|frame| ready(frame.ok()));
        let rest = stream::once(async move {
            *self.0.successor.lock().unwrap_or_else(PoisonError::into_inner) = Some(hand_over);
            let _ = ended.await;
            drop(writer);
        });
        first.map(Ok).chain(rest.filter_map(|()| ready(None)))
    }

    async fn write(&self, mut frames: impl Frames) -> Result<()> {
        let mut gathered = BytesMut::new();
        loop {
            if let Some(shared) = frames.share(self) {
                poll_fn(|context| self.poll_write_all(context, &mut gathered)).await?;
                let mut unsent = shared.await;
                poll_fn(|context| self.poll_write_all(context, &mut unsent)).await?;
            }
            let mut next = pin!(frames.next());
            // Written when no further frame is ready.
            let frame = poll_fn(|context| match next.as_mut().poll(context) {
                Poll::Ready(frame) => Poll::Ready(Ok(frame)),
                Poll::Pending => match self.poll_write_all(context, &mut gathered) {
                    Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                    _ => Poll::Pending,
                },
            });
            let Some(frame) = frame.await? else { break };
            write_chunk(&mut gathered, &frame);
            if gathered.len() > MAX_WRITE {
                poll_fn(|context| self.poll_write_all(context, &mut gathered)).await?;
            }
        }
        poll_fn(|context| self.poll_write_all(context, &mut gathered)).await
    }

    fn poll_write_all(&self, context: &mut Context<'_>, bytes: &mut (impl Buf + Default)) -> Poll<Result<()>> {
        while bytes.has_remaining() {
            let sent = ready!(self.poll_write(context, |stream| stream.try_write(bytes.chunk())))?;
            bytes.advance(sent);
        }
        // An open stream keeps no memory for what it has sent.
        *bytes = Default::default();
        Poll::Ready(Ok(()))
    }

    /// One attempt, which may write only a part.
    pub(crate) fn try_write(&self, bytes: &[u8]) -> Result<usize> {
        self.0.stream.try_write(bytes)
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
    /// hyper writes without a request in progress only to refuse one; that response gets a body here. `None` for everything
    /// else.
    fn poll_refuse(&self, context: &mut Context<'_>, bytes: &[u8]) -> Option<Poll<Result<usize>>> {
        if !self.0.connection.is_idle() {
            return None;
        }
        let mut rest = self.0.refusal.lock().unwrap_or_else(PoisonError::into_inner);
        if rest.is_empty() {
            *rest = with_problem(bytes)?;
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

/// A frame as a chunk of a response; an empty one would end it.
pub(crate) fn write_chunk(out: &mut BytesMut, frame: &[u8]) {
    if !frame.is_empty() {
        out.reserve(frame.len() + 16);
        write!(out, "{:x}\r\n", frame.len()).expect("writing to memory does not fail");
        out.extend_from_slice(frame);
        out.extend_from_slice(b"\r\n");
    }
}

/// The connection as hyper sees it.
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

    /// hyper flushes once it has written everything, which is the moment to hand over.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        if let Some(successor) = self.0.successor.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = successor.send(());
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(SockRef::from(&*self.0.stream).shutdown(Shutdown::Write))
    }
}
