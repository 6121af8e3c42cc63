//! The binary as a person or a script uses it, against a model server that is scripted and real HTTP.
//! Every test has a home of its own; the names cite the promises of the requirements.

mod agents;
mod bad_input;
mod crash;
mod database;
mod demo;
mod faults;
mod gateway;
mod home;
mod limits;
mod people;
mod postgres;
mod runs;
mod scope;
mod supply;
mod tree;
mod workspace;
