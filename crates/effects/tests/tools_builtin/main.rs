//! The built-in tools against the store in memory, through the registry alone.

mod agent_scope;
mod grants;
mod hostile;
mod outside;
mod scope;
mod search;
mod world;
mod writes;
