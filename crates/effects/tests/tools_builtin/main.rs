//! The built-in tools against the store in memory, through the registry alone.

mod grants;
mod hostile;
mod lent;
mod outside;
mod scope;
mod search;
mod world;
mod writes;
