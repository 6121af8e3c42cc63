//! The server and its command line: configuration, commands, the HTTP API, the sockets and the terminal output. The engine decides
//! what a run may do; this crate must not. The binary `pleach` is one call of [`run_command_line`].

#![warn(unreachable_pub)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

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
use std::process::ExitCode;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Reads the arguments of this process, runs one command, and returns its exit code.
pub fn run_command_line() -> ExitCode {
    mcp::process_isolation::hide_from_other_processes();
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == mcp::warden::ARGUMENT) {
        return ExitCode::from(mcp::warden::watch(arguments));
    }
    let cli = args::Cli::parse();
    log_to_stderr();
    // The only provider of cryptography here. An error would mean that it is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            return exit_code(Err(failure::Failure::failed(format!("the asynchronous runtime cannot start: {error}"))));
        }
    };
    let result = runtime.block_on(commands::execute(cli));
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    data_dir::note_logs();
    exit_code(result)
}

/// `PLEACH_LOG` chooses what is logged (`level` or `target=level,…`), `PLEACH_LOG_FORMAT=json` the format.
fn log_to_stderr() {
    let chosen = std::env::var("PLEACH_LOG").ok().and_then(|text| text.parse().ok());
    let targets = chosen.unwrap_or_else(|| Targets::new().with_default(LevelFilter::ERROR));
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let logged = tracing_subscriber::registry().with(targets);
    match std::env::var("PLEACH_LOG_FORMAT").is_ok_and(|format| format == "json") {
        true => logged.with(lines.json()).init(),
        false => logged.with(lines).init(),
    }
}

fn exit_code(result: Result<u8, failure::Failure>) -> ExitCode {
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            eprintln!("error: {}", render::style::plain(&failure.message));
            ExitCode::from(failure.code)
        }
    }
}
