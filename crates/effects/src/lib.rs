pub mod performer;
pub mod tools;
