//! The built-in tools against the store in memory, through the registry alone.

mod agent_scope;
mod fixture;
mod grants;
mod hostile;
mod scope;
mod search;
mod toolboxes;
mod writes;
