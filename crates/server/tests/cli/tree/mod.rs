//! Tree runs through the command line: what the scripted model was asked, what the log says, what people can do.

mod control;
mod crash;
mod flow;
mod hostile;
mod people;
pub mod play;
mod protocol;
