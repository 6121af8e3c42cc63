//! Processor time, memory and writes of this process, and processor time of the PostgreSQL server, between two moments.
//! It reads `/proc`, as the scripts of the peers do.

use serde_json::{Value, json};
use std::fs;
use std::time::Instant;

/// `/proc/PID/stat` counts processor time in hundredths of a second.
const TICKS: f64 = 100.0;

pub struct Meter {
    postmaster: Option<u32>,
    began: Instant,
    cpu_s: f64,
    cpu_pg_s: f64,
    io: (u64, u64),
}

pub struct Spent {
    pub wall_s: f64,
    pub cpu_s: f64,
    pub cpu_pg_s: f64,
    written: u64,
    writes: u64,
}

impl Meter {
    pub fn start(postmaster: Option<u32>) -> Meter {
        let (cpu_pg_s, io) = (family_cpu(postmaster), io());
        Meter { postmaster, cpu_pg_s, io, cpu_s: own_cpu(), began: Instant::now() }
    }

    pub fn stop(self) -> Spent {
        let (wall_s, cpu_s) = (self.began.elapsed().as_secs_f64(), own_cpu());
        let (written, writes) = io();
        Spent {
            wall_s,
            cpu_s: cpu_s - self.cpu_s,
            cpu_pg_s: family_cpu(self.postmaster) - self.cpu_pg_s,
            written: written - self.io.0,
            writes: writes - self.io.1,
        }
    }
}

impl Spent {
    pub fn line(&self) -> Value {
        json!({
            "wall_s": self.wall_s, "cpu_s": self.cpu_s, "cpu_pg_s": self.cpu_pg_s, "cpu_srv_s": 0.0,
            "wbytes": self.written, "syscw": self.writes, "rss_mb": peak_rss_mb(), "load": load(),
        })
    }
}

/// Processor time of all threads in seconds. `schedstat` counts nanoseconds. It leaves out threads that have ended, and
/// none ends during a measurement.
pub fn own_cpu() -> f64 {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let spent = threads.filter_map(|thread| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    });
    spent.sum::<f64>() / 1e9
}

/// Processor time of the process and its children in seconds, including children that have ended.
fn family_cpu(parent: Option<u32>) -> f64 {
    let Some(parent) = parent else { return 0.0 };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|process| process.file_name().to_str()?.parse::<u32>().ok());
    let ticks = pids.filter_map(|pid| {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<i64> =
            text.rsplit_once(") ")?.1.split(' ').skip(1).map(|field| field.parse().unwrap_or(0)).collect();
        let (of, own, reaped) = (*fields.first()?, fields.get(10..12)?, fields.get(12..14)?);
        let counted =
            if pid == parent { own.iter().sum::<i64>() + reaped.iter().sum::<i64>() } else { own.iter().sum() };
        (pid == parent || of == i64::from(parent)).then_some(counted)
    });
    ticks.sum::<i64>() as f64 / TICKS
}

/// Bytes sent to the disk, and calls of `write`.
fn io() -> (u64, u64) {
    let text = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
    };
    (field("write_bytes:"), field("syscw:"))
}

fn peak_rss_mb() -> f64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kilobytes = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    kilobytes.and_then(|value| value.trim().parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}

fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|value| value.parse().ok()).unwrap_or(0.0)
}
