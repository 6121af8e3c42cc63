//! A background task of this process, such as sending webhooks or traces, with its stop signal. It runs from when the process
//! drives runs until it stops.

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub struct BackgroundTask {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl BackgroundTask {
    pub fn start<F: Future<Output = ()> + Send + 'static>(work: impl FnOnce(CancellationToken) -> F) -> BackgroundTask {
        let stop = CancellationToken::new();
        BackgroundTask { task: tokio::spawn(work(stop.clone())), stop }
    }

    /// What is due already is still sent, for a moment.
    pub async fn stop(self) {
        self.stop.cancel();
        if let Err(error) = self.task.await {
            tracing::error!(%error, "sending did not end in an orderly way");
        }
    }
}
