//! What the store promises. Every test runs on SQLite with threads, on SQLite without, and on PostgreSQL.

mod agents;
mod clock;
mod credentials;
mod jobs;
mod lessons;
mod log;
mod maintenance;
mod members;
mod migrations;
mod notifications;
mod played;
mod postgres;
mod reading;
mod removal;
mod sqlite;
mod traces;
mod tree;
mod version_13;
mod views;
mod workspace;
mod world;

/// Makes a test of each promise for each database.
#[macro_export]
macro_rules! promises {
    (on [$($module:ident = $backend:ident),+]: $names:tt) => {
        $($crate::promises!(@one $module $backend $names);)+
    };
    (@one $module:ident $backend:ident [$($name:ident),+ $(,)?]) => {
        mod $module {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                $crate::world::check($crate::world::Backend::$backend, super::$name).await;
            })+
        }
    };
}
