use crate::ProblemDocument;
use percent_encoding::{utf8_percent_encode, NON_ALPHANUMERIC};
use serde::{de::DeserializeOwned, Serialize};
use serde_json::{json, Value};
use std::fmt;
use std::io::Read;
use std::time::Duration;
use ureq::{http::Request, Agent, Body};

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
        write!(f, "{self}")
    }
}

impl std::error::Error for Error {}

/// A client of the admin port. Its methods are the operations of the port; threads may share it.
#[derive(Clone, Debug)]
pub struct Admin {
    url: String,
    token: Option<String>,
    agent: Agent,
}

impl Admin {
    /// Returns a client of the port at `http://HOST:PORT`, with a token if `broker.admin.token` is set.
    pub fn new(url: &str, token: Option<String>) -> Self {
        let longer_than_any_operation = Duration::from_secs(660);
        let agent = Agent::config_builder().http_status_as_error(false);
        let agent = agent.timeout_global(Some(longer_than_any_operation)).build().into();
        Admin { url: url.trim_end_matches('/').into(), token, agent }
    }

    /// The URL of the port.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sends a request, and decodes the JSON of the response; that of an empty one is null.
    pub fn send<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        query: Option<&impl Serialize>,
        body: Option<&impl Serialize>,
    ) -> Result<T> {
        let text = self.bytes(method, path, json!(query), json!(body))?;
        let json: &[u8] = if text.is_empty() { b"null" } else { &text };
        serde_json::from_slice(json).map_err(|error| self.no_response(method, path, error))
    }

    fn no_response(&self, method: &str, path: &str, error: impl fmt::Display) -> Error {
        Error::NoResponse(format!("{method} {}{path}: {error}", self.url))
    }

    pub(crate) fn bytes(&self, method: &str, path: &str, query: Value, body: Value) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        let read = self.open(method, path, query, body)?.as_reader().read_to_end(&mut text);
        read.map(|_| text).map_err(|error| self.no_response(method, path, error))
    }

    pub(crate) fn open(&self, method: &str, path: &str, query: Value, body: Value) -> Result<Body> {
        let escaped = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let value_of = |value: &Value| escaped(value.as_str().unwrap_or(&value.to_string()));
        let fields = query.as_object().into_iter().flatten();
        let parameters: String = fields.map(|(name, value)| format!("{name}={}&", value_of(value))).collect();
        let mut request = Request::builder().method(method).uri(format!("{}{path}?{parameters}", self.url));
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let content = if body.is_null() { String::new() } else { body.to_string() };
        let sent = request.body(content).map_err(ureq::Error::from).and_then(|one| self.agent.run(one));
        let response = sent.map_err(|error| self.no_response(method, path, error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response.into_body());
        }
        let text = response.into_body().read_to_string().unwrap_or_default();
        let mut problem: ProblemDocument = serde_json::from_str(&text).unwrap_or_default();
        if problem.detail.is_empty() {
            problem.detail = format!("{method} {path}: {status} {text}");
        }
        Err(match status.as_u16() {
            408 => Error::Timeout(problem.detail),
            status => Error::Refused { status, problem: Box::new(problem) },
        })
    }
}
