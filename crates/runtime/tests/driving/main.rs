//! Commands, driver and worker on a real store in memory, with a scripted performer and a log that can fail.
//!
//! Time is tokio's paused clock: it moves only when every task waits, so no test depends on the machine's speed.

mod commands;
mod driver;
mod faulty_log;
mod fixture;
mod performer;
mod worker;
