pub mod performer;
pub mod rehearsal;
pub mod tools;
