use crate::{Error, ProblemDocument, Result};
use serde::{de::DeserializeOwned, Serialize};
use serde_json::Value;
use std::fmt::Display;
use std::io::Read;
use std::time::Duration;
use ureq::http::Request;
use ureq::{Agent, Body};

/// Longer than any operation waits.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(660);

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
        let settings = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(RESPONSE_TIMEOUT))
            .build();
        Admin { url: url.trim_end_matches('/').into(), token, agent: settings.into() }
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
        let text = self.send_for_bytes(method, path, query, body)?;
        let json: &[u8] = if text.is_empty() { b"null" } else { &text };
        serde_json::from_slice(json).map_err(|error| Error::NoResponse(format!("{method} {path}: {error}")))
    }

    pub(crate) fn send_for_bytes(
        &self,
        method: &str,
        path: &str,
        query: Option<&impl Serialize>,
        body: Option<&impl Serialize>,
    ) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        let mut response = self.respond(method, path, query, body)?;
        let read = response.as_reader().read_to_end(&mut text);
        read.map_err(|error| Error::NoResponse(format!("{method} {path}: {error}")))?;
        Ok(text)
    }

    pub(crate) fn send_for_stream(
        &self,
        method: &str,
        path: &str,
        query: Option<&impl Serialize>,
        body: Option<&impl Serialize>,
    ) -> Result<Box<dyn Read>> {
        Ok(Box::new(self.respond(method, path, query, body)?.into_reader()))
    }

    fn respond(
        &self,
        method: &str,
        path: &str,
        query: Option<&impl Serialize>,
        body: Option<&impl Serialize>,
    ) -> Result<Body> {
        let no_response =
            |error: &dyn Display| Error::NoResponse(format!("{method} {}{path}: {error}", self.url));
        let mut request =
            Request::builder().method(method).uri(format!("{}{path}{}", self.url, parameters(query)));
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let content = match body {
            Some(body) => serde_json::to_vec(body).map_err(|error| no_response(&error))?,
            None => Vec::new(),
        };
        let request = request.body(content).map_err(|error| no_response(&error))?;
        let response = self.agent.run(request).map_err(|error| no_response(&error))?;
        let status = response.status();
        let mut body = response.into_body();
        if status.is_success() {
            return Ok(body);
        }
        let text = body.read_to_string().unwrap_or_default();
        let problem = serde_json::from_str(&text).unwrap_or_else(|_| ProblemDocument {
            detail: format!("{method} {path}: {status} {text}"),
            ..Default::default()
        });
        Err(Error::Refused { status: status.as_u16(), problem: Box::new(problem) })
    }
}

/// Returns `?NAME=VALUE&...` of the fields that are set.
fn parameters(query: Option<&impl Serialize>) -> String {
    let Some(Ok(Value::Object(fields))) = query.map(serde_json::to_value) else { return String::new() };
    let pairs: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{name}={}", escaped(value.as_str().unwrap_or(&value.to_string()))))
        .collect();
    if pairs.is_empty() {
        String::new()
    } else {
        format!("?{}", pairs.join("&"))
    }
}

/// Returns a path with escaped values in the place of `{...}`.
pub(crate) fn path(form: &str, names: &[&dyn Display]) -> String {
    let mut names = names.iter();
    let parts = form.split('/').map(|part| match part.starts_with('{') {
        true => escaped(&names.next().expect("a value for each name").to_string()),
        false => part.into(),
    });
    parts.collect::<Vec<_>>().join("/")
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => out.push(byte.into()),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
