//! The binary as people and scripts use it, against a scripted model server over real HTTP. Every test has its own home
//! directory; test names begin with the numbers of the promises they show.

mod agents;
mod bad_input;
mod crash;
mod database;
mod demo;
mod dependencies;
mod faults;
mod home;
mod limits;
mod planner;
mod postgres;
mod projects;
mod provider_faults;
mod reports;
mod runs;
mod steering;
mod tree;
mod watching;
mod workspace;
