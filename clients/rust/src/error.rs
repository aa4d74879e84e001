use crate::ProblemDocument;
use std::fmt;

/// The result of each method.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a method failed. `Debug` is the same text as `Display`, since tests show it after `unwrap`.
pub enum Error {
    /// The cluster refused the request. The status is 400 for invalid values, 404 for unknown names, 409 if the state
    /// of the cluster does not allow it. The document says why, and what to do.
    Refused { status: u16, problem: Box<ProblemDocument> },
    /// There was no response, or one that cannot be read.
    NoResponse(String),
    /// What was waited for did not happen; the text says what there is instead.
    Timeout(String),
    /// No cluster started; the text has its standard error, or what was looked for.
    NotStarted(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused { problem, .. } => f.write_str(&problem.detail),
            Error::NoResponse(text) | Error::Timeout(text) | Error::NotStarted(text) => f.write_str(text),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
