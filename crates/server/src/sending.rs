//! Webhooks, as this process sends them: from when it drives anything until it stops.

use effects::notify::Courier;
use runtime::live::Live;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub struct Sending {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Sending {
    pub fn start(courier: Courier, live: Live) -> Sending {
        let stop = CancellationToken::new();
        let until = stop.clone();
        Sending { stop, task: tokio::spawn(async move { courier.serve(live, until).await }) }
    }

    /// What is due already is still sent, for a moment.
    pub async fn stop(self) {
        self.stop.cancel();
        if let Err(error) = self.task.await {
            tracing::error!(%error, "sending webhooks did not end in an orderly way");
        }
    }
}
