//! Tree runs through the command line: the requests to the scripted model, the log, and the commands.

mod control;
mod crash;
mod flow;
mod hostile;
mod output;
mod protocol;
mod retry;
pub mod scripts;
