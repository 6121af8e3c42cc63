//! The server and its command line: configuration, commands, the HTTP API, the sockets and what people see. It must not
//! know what a run may do; the engine decides that. The binary `pleach` is one call of [`run_command_line`].

mod api;
mod api_client;
mod args;
mod attach;
mod background_task;
mod catalogue;
mod commands;
mod config;
mod connections;
mod data_dir;
mod drive;
mod failure;
mod file_lock;
mod mcp_tools;
mod render;
mod toolboxes;
mod ui;

use clap::Parser;
use std::pin::Pin;
use std::process::ExitCode;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Reads the arguments of this process, runs one command, and returns its exit code.
pub fn run_command_line() -> ExitCode {
    mcp::process_isolation::hide_from_other_processes();
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == mcp::warden::ARGUMENT) {
        return ExitCode::from(mcp::warden::watch(words));
    }
    let cli = args::Cli::parse();
    log_to_stderr();
    // The only cryptography in the tree; a second call would find it installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return ended(Err(failure::Failure::failed(format!("the process cannot start: {error}")))),
    };
    // Boxed: `block_on` would compile the commands once for each of its own branches.
    let result = runtime.block_on(Box::pin(commands::execute(cli)) as Pin<Box<dyn Future<Output = _>>>);
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    data_dir::note_logs();
    ended(result)
}

/// `PLEACH_LOG` says what is logged, `PLEACH_LOG_FORMAT=json` how.
fn log_to_stderr() {
    let asked = std::env::var("PLEACH_LOG").ok().and_then(|asked| asked.parse().ok());
    let wanted = asked.unwrap_or_else(|| Targets::new().with_default(LevelFilter::ERROR));
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let logged = tracing_subscriber::registry().with(wanted);
    match std::env::var("PLEACH_LOG_FORMAT").is_ok_and(|format| format == "json") {
        true => logged.with(lines.json()).init(),
        false => logged.with(lines).init(),
    }
}

fn ended(result: Result<u8, failure::Failure>) -> ExitCode {
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            eprintln!("error: {}", render::style::plain(&failure.message));
            ExitCode::from(failure.code)
        }
    }
}
