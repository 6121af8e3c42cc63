//! The scripted model server as a process. `scripted-model SCRIPT.json [PORT]` prints its URL and serves until it is
//! killed.

use simulation::scripted::{Scripted, file};
use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else { return usage("usage: scripted-model SCRIPT.json [PORT]") };
    let port = match arguments.next().map(|port| port.parse()) {
        None => 0,
        Some(Ok(port)) => port,
        Some(Err(error)) => return usage(&format!("the port is not a number: {error}")),
    };
    let script = match std::fs::read_to_string(&path)
        .map_err(|error| error.to_string())
        .and_then(|text| file::parse(&text).map_err(|error| error.to_string()))
    {
        Ok(script) => script,
        Err(error) => return usage(&format!("{path}: {error}")),
    };
    let server = Scripted::start_at(port).await;
    server.play(script);
    println!("{}", server.url());
    std::future::pending().await
}

fn usage(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::from(2)
}
