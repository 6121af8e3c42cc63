//! Runs on the built-in model from beginning to end.

mod homework;
mod house;
mod tree;
