//! Complete runs on the rehearsal model.

mod fixture;
mod homework;
mod tree;
