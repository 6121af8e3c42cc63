//! The error of a command: a message for people and an exit code for scripts.

/// `code` follows the table of exit codes in the README: 1 failed, 2 usage, 7 unreachable.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Failure {
    pub code: u8,
    pub message: String,
}

impl Failure {
    /// The command cannot be carried out as typed. Nothing was changed.
    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure { code: 2, message: message.into() }
    }

    /// The command was right and failed.
    pub(crate) fn failed(message: impl Into<String>) -> Failure {
        Failure { code: 1, message: message.into() }
    }

    /// No server, or no process that holds the database, answers.
    pub(crate) fn unreachable(message: impl Into<String>) -> Failure {
        Failure { code: 7, message: message.into() }
    }
}
