//! Subagents: tasks through pages, memory between tasks, and a reflection at every end.

mod crash;
mod injection;
mod lessons;
mod reflections;
mod shop;
mod tasks;
