//! A background task of a process that drives runs, such as sending webhooks or traces, with its stop signal.

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) struct BackgroundTask {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl BackgroundTask {
    pub(crate) fn start<F: Future<Output = ()> + Send + 'static>(
        work: impl FnOnce(CancellationToken) -> F,
    ) -> BackgroundTask {
        let stop = CancellationToken::new();
        BackgroundTask { task: tokio::spawn(work(stop.clone())), stop }
    }

    /// Signals the task to stop and waits for it. What is due already may still be sent.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        if let Err(error) = self.task.await {
            tracing::error!(%error, "a background task ended with an error");
        }
    }
}
