use crate::*;
use serde::{Deserialize, Deserializer};
use serde_json::{json, Value};
use std::fmt;

const REQUESTS_MAX: i64 = 10_000;
const REQUESTS_SHOWN: i64 = 20;

/// Selects requests: what is set must fit.
pub type RequestFilter = ListRequestsQuery;

/// A request that the cluster received, and its outcome; or with the kind `connection` or `disconnect` a connection that a
/// fault refused or delayed, or the end of one.
///
/// Times are in ms of the cluster's clock, `duration_us` is in microseconds of real time. What is null is 0 or empty.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Request {
    pub number: i64,
    pub kind: String,
    pub received_ms: i64,
    pub broker: i64,
    #[serde(deserialize_with = "or_default")]
    pub connection: i64,
    #[serde(deserialize_with = "or_default")]
    pub client_host: String,
    #[serde(deserialize_with = "or_default")]
    pub client_id: String,
    #[serde(deserialize_with = "or_default")]
    pub user: String,
    pub api: String,
    pub version: i64,
    pub outcome: String,
    #[serde(deserialize_with = "or_default", alias = "reason")]
    pub close_reason: String,
    #[serde(deserialize_with = "or_default")]
    pub duration_us: i64,
    pub throttle_time_ms: i64,
    /// What a rule did to it.
    #[serde(deserialize_with = "or_default")]
    pub fault: String,
    pub topics: Vec<String>,
    pub groups: Vec<String>,
    pub transactional_ids: Vec<String>,
    /// All error codes in the response.
    pub errors: Vec<String>,
    /// The decoded messages, with the names of Kafka's schemas.
    pub request: Value,
    pub response: Value,
}

fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    input: D,
) -> std::result::Result<T, D::Error> {
    Option::deserialize(input).map(Option::unwrap_or_default)
}

impl fmt::Display for Request {
    /// Writes one readable line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (client, action) = match self.kind.as_str() {
            "request" => (&self.client_id, format!("{} v{}", self.api, self.version)),
            kind => (&self.client_host, kind.into()),
        };
        let mut parts = vec![format!("#{} broker {} {client} {action}", self.number, self.broker)];
        parts.extend([&self.topics, &self.groups, &self.transactional_ids].into_iter().flatten().cloned());
        parts.push(format!("-> {} {}", self.outcome, self.close_reason));
        parts.extend(self.errors.clone());
        if !self.fault.is_empty() {
            parts.push(format!("[{}]", self.fault));
        }
        f.write_str(&parts.join(" ").split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

impl MockKafka {
    /// The requests that the cluster received since its reset and that fit, the oldest first.
    pub fn requests(&self, filter: &RequestFilter) -> Result<Vec<Request>> {
        let mut query = filter.clone();
        query.kind.get_or_insert("request".into());
        query.limit.get_or_insert(REQUESTS_MAX);
        self.admin().send("GET", "/v1/requests", Some(&query), None::<&()>)
    }

    /// Returns the first request that fits, or waits for it. It may have no response yet; with the outcome `responded`
    /// it has.
    pub fn wait_for_request(&self, filter: &RequestFilter) -> Result<Request> {
        let mut query = json!(filter);
        query["timeout_ms"] = self.timeout_ms().into();
        if filter.kind.is_none() {
            query["kind"] = "request".into();
        }
        let found: Option<Request> =
            self.admin().send("GET", "/v1/requests/wait", Some(&query), None::<&()>)?;
        found.ok_or_else(|| {
            let last = self.lines_of(&RequestFilter::default().limit(REQUESTS_SHOWN).bodies(false));
            let text = format!(
                "no request that fits {} in {:?}; the last ones:{last}",
                json!(filter),
                self.timeout()
            );
            Error::Timeout(text)
        })
    }

    /// Returns requests, disconnects and connections as lines.
    pub(crate) fn lines_of(&self, filter: &RequestFilter) -> String {
        let found: Result<Vec<Request>> = self.admin().send("GET", "/v1/requests", Some(filter), None::<&()>);
        match found {
            Err(error) => format!("\n  {error}"),
            Ok(requests) if requests.is_empty() => "\n  none".into(),
            Ok(requests) => requests.iter().map(|request| format!("\n  {request}")).collect(),
        }
    }
}
