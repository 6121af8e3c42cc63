//! `pleach`: the binary. Reads the command line, runs one command, ends with its exit code.

mod api;
mod api_client;
mod args;
mod attach;
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
mod sending;
mod toolboxes;
mod ui;

use clap::Parser;
use std::process::ExitCode;
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    mcp::process_isolation::hide_from_other_processes();
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == mcp::warden::ARGUMENT) {
        return ExitCode::from(mcp::warden::watch(words));
    }
    let cli = args::Cli::parse();
    let filter = EnvFilter::try_from_env("PLEACH_LOG").unwrap_or_else(|_| EnvFilter::new("error"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match std::env::var("PLEACH_LOG_FORMAT").is_ok_and(|format| format == "json") {
        true => log.json().init(),
        false => log.init(),
    }
    // The only cryptography in the tree; a second call would find it installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return ended(Err(failure::Failure::failed(format!("the process cannot start: {error}")))),
    };
    let result = runtime.block_on(commands::execute(cli));
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    data_dir::note_logs();
    ended(result)
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
