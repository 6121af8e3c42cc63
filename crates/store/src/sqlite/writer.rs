//! Group commit: one thread takes the batches of many callers and commits them with one fsync. It must not know SQL;
//! `execute` runs the statements.

use super::execute::{self, Failed, Written};
use crate::StoreError;
use crate::backend::WriteError;
use crate::sql::Statement;
use rusqlite::Connection;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// A shared commit waits for another batch as long as one arrives within this time, and for no longer than `LONGEST_WAIT`.
const NEXT_BATCH_WAIT: Duration = Duration::from_millis(1);
const LONGEST_WAIT: Duration = Duration::from_millis(8);
/// The most batches in one commit. The callers wait for the whole group, so it must not grow without limit.
const GROUP: usize = 512;

type Answer = Result<Written, WriteError>;

struct Request {
    batch: Vec<Statement>,
    answer: oneshot::Sender<Answer>,
}

pub(crate) struct Writer {
    requests: Option<Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(connection: Connection) -> Result<Writer, StoreError> {
        let (requests, inbox) = channel();
        let work = move || Work { connection, inbox, broken: None }.serve();
        let thread = std::thread::Builder::new().name("store-writer".into()).spawn(work);
        let thread = thread
            .map_err(|error| StoreError::Unavailable(format!("the writer thread could not be started: {error}")))?;
        Ok(Writer { requests: Some(requests), thread: Some(thread) })
    }

    /// Returns after the commit is durable.
    pub(crate) async fn write(&self, batch: Vec<Statement>) -> Answer {
        let gone = || WriteError::Unknown("the writer thread of the database has ended".into());
        let (answer, answered) = oneshot::channel();
        let requests = self.requests.as_ref().ok_or_else(gone)?;
        let ended = |_| {
            WriteError::Store(StoreError::Unusable(
                "the writer thread of the database has ended; restart the process".into(),
            ))
        };
        requests.send(Request { batch, answer }).map_err(ended)?;
        answered.await.map_err(|_| gone())?
    }
}

impl Drop for Writer {
    /// Commits every accepted batch before the file is closed.
    fn drop(&mut self) {
        drop(self.requests.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Work {
    connection: Connection,
    inbox: Receiver<Request>,
    broken: Option<StoreError>,
}

impl Work {
    fn serve(mut self) {
        let mut last = 1;
        while let Ok(first) = self.inbox.recv() {
            let group = self.gather(first, last);
            last = group.len();
            self.commit(group);
        }
    }

    /// Takes every waiting request. When commits are shared, drivers are busy with their next batches: committing at once
    /// would give most of them a commit of their own. A lone caller never waits.
    fn gather(&self, first: Request, last: usize) -> Vec<Request> {
        let mut group = vec![first];
        group.extend(self.inbox.try_iter().take(GROUP - 1));
        if last.max(group.len()) == 1 {
            return group;
        }
        let deadline = Instant::now() + LONGEST_WAIT;
        while group.len() < GROUP {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.inbox.recv_timeout(left.min(NEXT_BATCH_WAIT)) {
                Ok(request) => group.push(request),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        group
    }

    fn commit(&mut self, group: Vec<Request>) {
        if let Some(error) = &self.broken {
            return answer_all(group, error);
        }
        let batches: Vec<&[Statement]> = group.iter().map(|request| request.batch.as_slice()).collect();
        match execute::commit(&self.connection, &batches) {
            Ok(outcomes) => {
                for (request, outcome) in group.into_iter().zip(outcomes) {
                    // A caller that stopped waiting does not need its answer.
                    let _ = request.answer.send(outcome.map_err(WriteError::Refused));
                }
            }
            Err(Failed::Flush(error)) => {
                let error = StoreError::Unusable(format!(
                    "the disk did not confirm a commit ({error}); restart the process to recover"
                ));
                self.broken = Some(error.clone());
                answer_all(group, &error);
            }
            // One batch failed and rolled back the whole group. Each batch is committed alone, so that only the faulty
            // one fails.
            Err(Failed::Store(_)) if group.len() > 1 => {
                group.into_iter().for_each(|request| self.commit(vec![request]))
            }
            Err(Failed::Store(error)) => answer_all(group, &error),
        }
    }
}

fn answer_all(group: Vec<Request>, error: &StoreError) {
    for request in group {
        let _ = request.answer.send(Err(WriteError::Store(error.clone())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{Guard, Value};

    fn writer(pages: u32) -> (tempfile::TempDir, Writer) {
        let directory = tempfile::tempdir().unwrap();
        let connection = Connection::open(directory.path().join("t.db")).unwrap();
        connection.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (k BIGINT PRIMARY KEY, v TEXT)").unwrap();
        connection.pragma_update(None, "max_page_count", pages).unwrap();
        (directory, Writer::start(connection).unwrap())
    }

    fn put(key: i64, text: &str) -> Statement {
        Statement::new("INSERT INTO t (k, v) VALUES (?1, ?2)", vec![Value::from(key), Value::from(text)])
    }

    async fn count(writer: &Writer) -> i64 {
        let counted = writer.write(vec![Statement::new("SELECT count(*) FROM t", vec![])]).await.unwrap();
        counted[0][0].int(0).unwrap()
    }

    #[tokio::test]
    async fn a_full_disk_is_said_and_writes_nothing_and_passes() {
        let (_directory, writer) = writer(20);
        let refused = writer.write(vec![put(1, "small"), put(2, &"oak ".repeat(50_000))]).await;
        assert!(matches!(refused, Err(WriteError::Store(StoreError::Full(_)))), "{refused:?}");
        assert_eq!(count(&writer).await, 0);
        writer.write(vec![put(1, "small")]).await.unwrap();
    }

    #[tokio::test]
    async fn one_faulty_batch_spoils_nobody_elses_commit() {
        let (_directory, writer) = writer(10_000);
        writer.write(vec![put(0, "taken")]).await.unwrap();
        let batches = (0..50).map(|key| writer.write(vec![put(key % 10 * 10, "x"), put(1000 + key, "y")]));
        let outcomes = futures::future::join_all(batches).await;
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 9, "each key once, and one was taken");
        assert_eq!(count(&writer).await, 1 + 9 * 2);
    }

    #[tokio::test]
    async fn a_guard_that_sees_nothing_rolls_back_its_own_batch_only() {
        let (_directory, writer) = writer(10_000);
        let guarded = Statement::new("UPDATE t SET v = 'z' WHERE k = 99", vec![]).guarded(Guard::Head);
        let (refused, accepted) =
            futures::join!(writer.write(vec![put(1, "x"), guarded]), writer.write(vec![put(2, "y")]));
        assert_eq!(refused, Err(WriteError::Refused(Guard::Head)));
        accepted.unwrap();
        assert_eq!(count(&writer).await, 1);
    }
}
