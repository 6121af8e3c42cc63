//! `/metrics` in the text format of Prometheus. It holds totals only, so no run, person or text can be identified; still, only
//! this machine may read it without a token.

use super::prelude::*;
use axum::extract::Request;
use axum::http::Method;
use axum::middleware::Next;
use runtime::ports::StoreError;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/metrics", Access::Local, "What the process counts, for Prometheus", metrics)
            .returns_text(200, "text/plain"),
    ]
}

const METHODS: [Method; 4] = [Method::GET, Method::POST, Method::PATCH, Method::DELETE];
const CLASSES: [&str; 4] = ["2xx", "3xx", "4xx", "5xx"];

/// Requests answered, by method and class of status.
#[derive(Default)]
pub(crate) struct Counters {
    answered: [[AtomicU64; CLASSES.len()]; METHODS.len()],
}

pub(super) async fn count(State(app): State<Arc<AppState>>, request: Request, next: Next) -> Response {
    let method = METHODS.iter().position(|method| method == request.method());
    let response = next.run(request).await;
    let class = usize::from(response.status().as_u16() / 100).checked_sub(2);
    if let (Some(method), Some(class)) = (method, class.filter(|class| *class < CLASSES.len())) {
        app.counters.answered[method][class].fetch_add(1, Relaxed);
    }
    response
}

async fn metrics(State(app): State<Arc<AppState>>) -> ApiResult<impl IntoResponse> {
    let text = exposition(&app).await?;
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text))
}

async fn exposition(app: &AppState) -> Result<String, StoreError> {
    let mut out = Exposition::default();
    out.family("pleach_build_info", "gauge", "The version that answers.");
    out.sample("pleach_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    out.family("pleach_runs", "gauge", "Runs in the database, by kind and status.");
    for (kind, status, count) in app.store.count_runs_by_kind_and_status().await? {
        out.sample("pleach_runs", &[("kind", kind.name()), ("status", status.name())], count as f64);
    }
    let published = app.live.published();
    out.single("pleach_commits_total", "counter", "Commits that this process made.", published.commits as f64);
    out.single("pleach_events_total", "counter", "Events in them.", published.events as f64);
    let (runs, listeners) = app.live.listener_counts();
    out.single("pleach_streams", "gauge", "Readers of runs' logs that are connected now.", listeners as f64);
    out.single("pleach_streamed_runs", "gauge", "Runs that somebody reads the log of.", runs as f64);
    out.family("pleach_webhook_deliveries", "gauge", "Deliveries in the database, by state.");
    for (state, count) in app.store.delivery_counts().await? {
        out.sample("pleach_webhook_deliveries", &[("state", &state)], count as f64);
    }
    out.family("pleach_http_requests_total", "counter", "Requests answered, by method and class of status.");
    for (method, answered) in METHODS.iter().zip(&app.counters.answered) {
        for (class, count) in CLASSES.iter().zip(answered) {
            let labels = [("method", method.as_str()), ("status", *class)];
            out.sample("pleach_http_requests_total", &labels, count.load(Relaxed) as f64);
        }
    }
    out.process();
    Ok(out.0)
}

#[derive(Default)]
struct Exposition(String);

impl Exposition {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Label values are constants of this program, so none needs escaping.
    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }

    /// A family with one sample.
    fn single(&mut self, name: &str, kind: &str, help: &str, value: f64) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }

    /// The usual names of process metrics; those that the system does not offer are left out.
    fn process(&mut self) {
        if let Some((cpu, resident)) = used() {
            self.single("process_cpu_seconds_total", "counter", "Processor time used, in seconds.", cpu);
            self.single("process_resident_memory_bytes", "gauge", "Memory in use, in bytes.", resident);
        }
        if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
            self.single("process_open_fds", "gauge", "Files and connections that are open.", open.count() as f64);
        }
    }
}

/// Processor seconds and resident bytes. Linux counts them in ticks of 10 ms and pages of 4 KiB.
fn used() -> Option<(f64, f64)> {
    const TICKS: f64 = 100.0;
    const PAGE: f64 = 4096.0;
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The program name stands in parentheses and may contain anything, so fields are counted after the last one.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some(((field(11)? + field(12)?) / TICKS, field(21)? * PAGE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_written_as_prometheus_reads_it() {
        let mut out = Exposition::default();
        out.family("a_total", "counter", "How many.");
        out.sample("a_total", &[("kind", "tree"), ("status", "running")], 3.0);
        assert_eq!(
            out.0,
            "# HELP a_total How many.\n# TYPE a_total counter\na_total{kind=\"tree\",status=\"running\"} 3\n"
        );
        assert!(used().is_some_and(|(_, resident)| resident > 1e6));
    }
}
