//! Runs on the built-in model from beginning to end.

mod fixture;
mod homework;
mod tree;
