//! What every store promises, and what only the SQL ones do. One text, run on each of them.

mod agents;
mod clock;
mod jobs;
mod keys;
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
mod views;
mod workspace;
mod world;

/// Each promise as a test on each store.
#[macro_export]
macro_rules! promises {
    (on [$($module:ident = $kept:ident),+]: $names:tt) => {
        $($crate::promises!(@one $module $kept $names);)+
    };
    (@one $module:ident $kept:ident [$($name:ident),+ $(,)?]) => {
        mod $module {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                $crate::world::check($crate::world::Kept::$kept, super::$name).await;
            })+
        }
    };
}
