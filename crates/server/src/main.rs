//! The binary `pleach`. Everything it does is in the library beside it.

fn main() -> std::process::ExitCode {
    server::run_command_line()
}
