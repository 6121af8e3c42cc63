//! Pleach on a world that can be scripted and broken on purpose.

pub mod scripted;
