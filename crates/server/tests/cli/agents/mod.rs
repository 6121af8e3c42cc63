//! Subagents: errands through pages, memory between errands, and every end looked back upon.

mod crash;
mod errands;
mod exits;
mod injection;
mod lessons;
mod play;
