// Made by `generate` from clients/openapi.json and clients/methods.json. Do not edit.

use crate::{Admin, Error, MockKafka, Result};
use base64::prelude::{Engine, BASE64_STANDARD};
use percent_encoding::{utf8_percent_encode, NON_ALPHANUMERIC};
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::Read;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The reason why a request was refused, and what to do.
///
/// `detail` has all of it for people who use HTTP. `reason`, `at` (where in the input) and `remedy`
/// have its parts for other interfaces, which say it in their own words. `nearest` are the near
/// misses of what was waited for (status 408), one line each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProblemDocument {
    pub title: String,
    pub status: i64,
    pub detail: String,
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<RemedyDocument>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
}

/// The operation that helps: `METHOD PATH EFFECT`, such as `GET /v1/groups lists them`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RemedyDocument {
    pub operation_id: String,
    pub method: String,
    pub path: String,
    pub arguments: Value,
    pub effect: String,
}

/// A line of the journal: a request and its outcome, or what happened to a connection.
///
/// The kind `connection` is a new connection that a rule refused or delayed, `disconnect` the end
/// of a connection; both lack what only requests have. Times are ms of the cluster's clock, but
/// `duration_us` is real time. `request` and `response` are the decoded messages with the names of
/// Kafka's schemas in snake case, `errors` the names of all error codes in the response, or the
/// number of one without a name. `fault` is what rules did, and `denials` what was not allowed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestView {
    pub kind: String,
    pub number: i64,
    pub received_ms: i64,
    pub broker: i64,
    pub client_host: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listener: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub close_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_us: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttle_time_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub muted: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shadow_throttle_times_ms: Option<BTreeMap<String, i64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denials: Option<Vec<DenialView>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_bytes: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_bytes: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topics: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactional_ids: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_hex: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_hex: Option<String>,
}

/// An operation that a request was not allowed to do, and the rule that decided, if any.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DenialView {
    pub operation: String,
    pub resource_type: String,
    pub resource_name: String,
}

/// Health of the service; `status` is always `ok`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HealthView {
    pub status: String,
    pub cluster_id: String,
    pub brokers: i64,
}

/// A rule. `User:` in front of the principal may be left out; `User:*` is any user.
///
/// `resource_name` is a name, with `PREFIXED` the start of names, or `*` for any resource of the
/// type; that of a USER is a principal, that of the CLUSTER `kafka-cluster`. `host` is `*`, an
/// address, or a range such as 10.0.0.0/8.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AclBody {
    pub principal: String,
    pub permission_type: String,
    pub operation: String,
    pub resource_type: String,
    pub resource_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl AclBody {
    /// Sets `pattern_type`.
    pub fn pattern_type(mut self, value: impl Into<String>) -> Self {
        self.pattern_type = Some(value.into());
        self
    }
    /// Sets `host`.
    pub fn host(mut self, value: impl Into<String>) -> Self {
        self.host = Some(value.into());
        self
    }
}

/// Rules to add.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AclsBody {
    pub acls: Vec<AclBody>,
}

/// Whether an operation is allowed, and what decided.
///
/// `rule` is ACL, with the rule in `acl`; SuperUser; or DefaultDeny or DefaultAllow if no rule
/// applies, by `allow.everyone.if.no.acl.found`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DecisionView {
    pub operation: String,
    pub is_allowed: bool,
    pub rule: String,
    pub acl: Option<AclBody>,
}

/// What was compared, what was not, and the differences.
///
/// `covered` acknowledgements were compared; the batches of `removed` ones were removed by
/// retention, DeleteRecords, compaction or with their topic. `findings` are the first 1,000 of
/// `finding_count`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AuditView {
    pub finding_count: i64,
    pub findings: Vec<FindingView>,
    pub covered: i64,
    pub removed: i64,
    pub not_covered: i64,
    pub not_covered_partitions: Vec<NotCoveredView>,
    pub excluded: Vec<ExcludedView>,
}

/// One difference; -1 and null where there is nothing to name.
///
/// `kind` is `not_stored`, `lost_by_election`, `lost_by_truncation`, `changed_by_rule`,
/// `stored_twice`, `out_of_order` or `offset_beyond_log_end`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FindingView {
    pub kind: String,
    pub topic: String,
    pub partition: i64,
    pub detail: String,
    pub base_offset: i64,
    pub records_count: i64,
    pub producer_id: i64,
    pub producer_epoch: i64,
    pub base_sequence: i64,
    pub client_id: Option<String>,
    pub connection: Option<i64>,
    pub time_ms: Option<i64>,
    pub group: Option<String>,
}

/// Acknowledgements of one partition that were dropped to make room for newer ones.
///
/// Offsets are -1 where none is known. `topic` is null for the sum over all further partitions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NotCoveredView {
    pub topic: Option<String>,
    pub topic_id: Option<String>,
    pub partition: Option<i64>,
    pub count: i64,
    pub base_offset_min: i64,
    pub base_offset_max: i64,
    pub time_ms_max: i64,
}

/// How many responses a fault rule falsified, which are not compared; id 0 is a hook.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExcludedView {
    pub rule_id: i64,
    pub count: i64,
}

/// One broker.
///
/// `is_alive`: Metadata lists it. `availability`: whether its sockets serve clients (`up`),
/// refuse connections (`down`), or stay open and silent (`isolated`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BrokerView {
    pub node_id: i64,
    pub host: String,
    pub port: i64,
    pub rack: Option<String>,
    pub is_alive: bool,
    pub availability: String,
    pub is_controller: bool,
    pub leads: i64,
    pub connections: i64,
    pub endpoints: BTreeMap<String, String>,
}

/// A new broker; without a node id it gets the next one that was never used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NewBrokerBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack: Option<String>,
}

impl NewBrokerBody {
    /// Sets `node_id`.
    pub fn node_id(mut self, value: impl Into<i64>) -> Self {
        self.node_id = Some(value.into());
        self
    }
    /// Sets `rack`.
    pub fn rack(mut self, value: impl Into<String>) -> Self {
        self.rack = Some(value.into());
        self
    }
}

/// The address at which clients reach a listener; without a name that of the first one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AdvertisedBody {
    pub host: String,
    pub port: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listener: Option<String>,
}

impl AdvertisedBody {
    /// Sets `listener`.
    pub fn listener(mut self, value: impl Into<String>) -> Self {
        self.listener = Some(value.into());
        self
    }
}

/// Whether the controller fences the broker and elects other leaders.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CutBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elect: Option<bool>,
}

impl CutBody {
    /// Sets `elect`.
    pub fn elect(mut self, value: impl Into<bool>) -> Self {
        self.elect = Some(value.into());
        self
    }
}

/// Start keys of this broker alone; null removes a key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StartBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<BTreeMap<String, Option<String>>>,
}

impl StartBody {
    /// Sets `config`.
    pub fn config(mut self, value: impl Into<BTreeMap<String, Option<String>>>) -> Self {
        self.config = Some(value.into());
        self
    }
}

/// How the broker stops.
///
/// `elect`: the controller fences it and elects other leaders. `controlled`: as on SIGTERM, leaders
/// move first, and its connections close 50 ms later.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StopBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elect: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controlled: Option<bool>,
}

impl StopBody {
    /// Sets `elect`.
    pub fn elect(mut self, value: impl Into<bool>) -> Self {
        self.elect = Some(value.into());
        self
    }
    /// Sets `controlled`.
    pub fn controlled(mut self, value: impl Into<bool>) -> Self {
        self.controlled = Some(value.into());
        self
    }
}

/// The time in ms since the epoch, and its speed: 1 is real time, 0 is standing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockView {
    pub mode: String,
    pub factor: f64,
    pub now_ms: i64,
}

/// The mode of the clock; `factor` is for `scaled`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockBody {
    pub mode: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
}

impl ClockBody {
    /// Sets `factor`.
    pub fn factor(mut self, value: impl Into<f64>) -> Self {
        self.factor = Some(value.into());
        self
    }
}

/// The duration; one of the two.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AdvanceBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

impl AdvanceBody {
    /// Sets `ms`.
    pub fn ms(mut self, value: impl Into<i64>) -> Self {
        self.ms = Some(value.into());
        self
    }
    /// Sets `seconds`.
    pub fn seconds(mut self, value: impl Into<f64>) -> Self {
        self.seconds = Some(value.into());
        self
    }
}

/// One key that was set on a resource: a broker, a topic, a group or client metrics.
///
/// The empty name of a broker is all brokers. `value` is null for a secret. `effect` is `acts` for
/// what Kafka does, `unseen` for a key whose effect no client and no tool of Kafka could see, and
/// `missing` for one that acts in Kafka and not here; `reason` says why it does not act. A key
/// that has its default counts as one that acts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConfigView {
    pub resource_type: String,
    pub resource_name: String,
    pub name: String,
    pub value: Option<String>,
    pub effect: String,
    pub reason: Option<String>,
}

/// One connection; the client id is that of its last request in the journal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConnectionView {
    pub connection: i64,
    pub broker: i64,
    pub peer: String,
    pub listener: String,
    pub user: String,
    pub client_id: Option<String>,
    pub is_waiting: bool,
    pub muted_until_ms: i64,
    pub last_active_ms: i64,
    pub buffered_bytes: i64,
}

/// The controller and its queue, the oldest event first.
///
/// `node_id` is -1 while no broker is up. `remaining_ms` is the time until the queue is empty if
/// nothing is added. The queue is always empty while `controller.mutation.time.us` is 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ControllerView {
    pub node_id: i64,
    pub mutation_time_ms: f64,
    pub remaining_ms: f64,
    pub events: Vec<EventView>,
}

/// One event of the controller; `mutations` are partitions it creates, adds or deletes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventView {
    pub name: String,
    pub arrived_ms: i64,
    pub is_processing: bool,
    pub mutations: i64,
}

/// A rule, how many requests it matched, and on how many of these it fired.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FaultView {
    pub id: i64,
    pub rule: FaultRule,
    pub matched: i64,
    pub fired: i64,
    pub is_used_up: bool,
    pub is_armed: bool,
    pub held: i64,
}

/// Which requests, when, and what happens; see docs/faults.md.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FaultRule {
    /// a name for people; nothing else uses it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// requests of this API, such as `Produce` or `InitProducerId`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<String>,
    /// requests in this version or a higher one
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_min: Option<i64>,
    /// requests in this version or a lower one
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_max: Option<i64>,
    /// requests that name this topic; topic ids are looked up
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// requests that name this partition (of `topic`)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<i64>,
    /// requests that name this group, FindCoordinator included
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// requests that name this transactional id, FindCoordinator included
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactional_id: Option<String>,
    /// requests that name this resource of a configuration or of access control, quota entity, SCRAM user, log dir,
    /// feature, owner of a delegation token, or member that leaves a group
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// requests that name this topic id, whether or not such a topic exists
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic_id: Option<String>,
    /// requests of `api` whose fields fit these conditions, by the path of the field
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#where: Option<Value>,
    /// requests and connections to the broker with this id
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broker: Option<i64>,
    /// requests with this `client.id`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// requests of this principal; `ANONYMOUS` without SASL
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// requests to the listener with this name
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listener: Option<String>,
    /// requests on the connection with this number
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<i64>,
    /// only on the nth request that matches
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nth: Option<i64>,
    /// not on the first ones of this number
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip: Option<i64>,
    /// on every nth
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<i64>,
    /// on this many, then never again; once is 1
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<i64>,
    /// from when the rule with this name has fired, as often as its `times` says or once; earlier requests do not match
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// until the rule with this name has fired so often; later requests do not match
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// from this long after the rule was added, or after it began to match because of `after`; earlier requests do not
    /// match
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_ms: Option<i64>,
    /// until this long after that time; later requests do not match
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<i64>,
    /// on each with this probability
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// seeds `probability`, `jitter_ms`, `corrupt_bytes` and `change_records`; equal seeds give equal results
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    /// when the rule is added, without any request; for actions on the cluster
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_once: Option<bool>,
    /// the API's own response in the request's version, with this error code for everything that was asked for; any of
    /// Kafka 4.4's 138 codes, by its number or its name in any case
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// when an error or an action on the cluster takes effect: before the request is handled, or after it was handled and
    /// before its response. By default before, but after the append for the errors `REQUEST_TIMED_OUT` and
    /// `NOT_ENOUGH_REPLICAS_AFTER_APPEND` of Produce and WriteTxnMarkers, and after the deletion for `REQUEST_TIMED_OUT`
    /// of DeleteRecords
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// where an error is: in the response itself, or in the parts that the request names; by default where the API has an
    /// error for the whole request, and in the parts if the rule is for some of them
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// the response with these values in it; together with `error`, the error response with them
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Value>,
    /// a closed connection: before the request is handled, after it was handled and before its response, or within the
    /// response
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drop: Option<String>,
    /// so many bytes of the response before the end, with `within_response`; half by default
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drop_after_bytes: Option<i64>,
    /// how the connection ends with `drop`: it closes; it is reset (RST); only the direction to the client closes (FIN),
    /// and what the client sends is read and ignored; or it stays open and nothing is read from it any more.
    /// `connections.max.idle.ms` ends the last two
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drop_by: Option<String>,
    /// no response, ever; the request is not handled, or it is
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hang: Option<String>,
    /// brokers, leaders and coordinators as they were when the rule was added
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale_metadata: Option<bool>,
    /// nothing until the request is released; then it goes on: before it is handled, or after it was handled and before
    /// its response. No clock releases it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<String>,
    /// this throttle time in the response, and a connection that is muted for it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttle_time_ms: Option<i64>,
    /// whether the connection is muted for the throttle time
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mute: Option<bool>,
    /// nothing for this time; then the request is handled
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_request_ms: Option<i64>,
    /// added to every delay: a random time up to this, evenly distributed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_ms: Option<i64>,
    /// the response this much later; the request is handled at once
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<i64>,
    /// the response at the time at which a link of this rate has sent request and response
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<i64>,
    /// the request at the time at which a link of this rate has sent it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_bytes_per_second: Option<i64>,
    /// the response at the time at which a link of this rate has sent it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_bytes_per_second: Option<i64>,
    /// the response in pieces of so many bytes, one after the other
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trickle_bytes: Option<i64>,
    /// the time between two pieces
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trickle_ms: Option<i64>,
    /// a response without its last bytes, whose size is the size of the rest
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncate_bytes: Option<i64>,
    /// a response with this many bytes changed, after the correlation id
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrupt_bytes: Option<i64>,
    /// the response with this many zeros appended, included in its size
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oversize_bytes: Option<i64>,
    /// the response with this number as its size, which may be negative
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub announce_bytes: Option<i64>,
    /// a batch of each partition with other records and a valid CRC: for Produce in the log, for Fetch in this response
    /// alone. The batch twice, a value with one byte changed, one record missing, the records in reverse order, values
    /// with another schema id, or, for Produce, the batch behind the next one of its partition
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_records: Option<String>,
    /// the record of the batch to change or drop, from 0; by default `seed` chooses one that can be changed, and
    /// `replace_schema_id` changes all that have a schema id
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record_index: Option<i64>,
    /// the schema id of `replace_schema_id`, 2147483647 by default: in a value that begins with a byte 0 the four bytes
    /// behind it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_id: Option<i64>,
    /// the leaders of `topic` (of `partition`) on this broker, on the `next` replica, or gone
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<Value>,
    /// the coordinator of `group` (with all groups of its partition of `__consumer_offsets`) or `transactional_id` on
    /// this or the `next` broker; requests that wait at the old one get NOT_COORDINATOR
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coordinator: Option<Value>,
    /// a broker that is down: closed connections, new ones refused, until it is started on the same port; `self` is the
    /// broker that received the request
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_broker: Option<Value>,
    /// whether leaders and coordinators move to other brokers. By default yes for a stopped broker, no for an isolated
    /// one. With `controller.mutation.time.us` they move when the controller gets to it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elect: Option<bool>,
    /// the broker starts again this long after it was stopped, isolated or fenced
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart_after_ms: Option<i64>,
    /// connections that stay open, without traffic until the broker is started
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolate_broker: Option<Value>,
    /// a broker that Metadata does not list and that leads nothing, while its connections stay
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence_broker: Option<Value>,
    /// the broker again, in sync, with all its records
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_broker: Option<i64>,
    /// the versions that `broker`, or the broker that received the request, serves from now on, as `broker.api.versions`
    /// has them
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_versions: Option<String>,
    /// the members of `group` begin a rebalance, or are removed from it as when their sessions have expired
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<String>,
    /// the clock this much later, as soon as the request was handled or began to wait; everything that becomes due
    /// happens in order
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advance_ms: Option<i64>,
    /// new connections that are closed at once
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refuse_connection: Option<bool>,
    /// new connections that are read only after this time
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_connection_ms: Option<i64>,
}

impl FaultRule {
    /// a name for people; nothing else uses it
    pub fn name(mut self, value: impl Into<String>) -> Self {
        self.name = Some(value.into());
        self
    }
    /// requests of this API, such as `Produce` or `InitProducerId`
    pub fn api(mut self, value: impl Into<String>) -> Self {
        self.api = Some(value.into());
        self
    }
    /// requests in this version or a higher one
    pub fn version_min(mut self, value: impl Into<i64>) -> Self {
        self.version_min = Some(value.into());
        self
    }
    /// requests in this version or a lower one
    pub fn version_max(mut self, value: impl Into<i64>) -> Self {
        self.version_max = Some(value.into());
        self
    }
    /// requests that name this topic; topic ids are looked up
    pub fn topic(mut self, value: impl Into<String>) -> Self {
        self.topic = Some(value.into());
        self
    }
    /// requests that name this partition (of `topic`)
    pub fn partition(mut self, value: impl Into<i64>) -> Self {
        self.partition = Some(value.into());
        self
    }
    /// requests that name this group, FindCoordinator included
    pub fn group(mut self, value: impl Into<String>) -> Self {
        self.group = Some(value.into());
        self
    }
    /// requests that name this transactional id, FindCoordinator included
    pub fn transactional_id(mut self, value: impl Into<String>) -> Self {
        self.transactional_id = Some(value.into());
        self
    }
    /// requests that name this resource of a configuration or of access control, quota entity, SCRAM user, log dir,
    /// feature, owner of a delegation token, or member that leaves a group
    pub fn resource(mut self, value: impl Into<String>) -> Self {
        self.resource = Some(value.into());
        self
    }
    /// requests that name this topic id, whether or not such a topic exists
    pub fn topic_id(mut self, value: impl Into<String>) -> Self {
        self.topic_id = Some(value.into());
        self
    }
    /// requests of `api` whose fields fit these conditions, by the path of the field
    pub fn r#where(mut self, value: impl Into<Value>) -> Self {
        self.r#where = Some(value.into());
        self
    }
    /// requests and connections to the broker with this id
    pub fn broker(mut self, value: impl Into<i64>) -> Self {
        self.broker = Some(value.into());
        self
    }
    /// requests with this `client.id`
    pub fn client_id(mut self, value: impl Into<String>) -> Self {
        self.client_id = Some(value.into());
        self
    }
    /// requests of this principal; `ANONYMOUS` without SASL
    pub fn user(mut self, value: impl Into<String>) -> Self {
        self.user = Some(value.into());
        self
    }
    /// requests to the listener with this name
    pub fn listener(mut self, value: impl Into<String>) -> Self {
        self.listener = Some(value.into());
        self
    }
    /// requests on the connection with this number
    pub fn connection(mut self, value: impl Into<i64>) -> Self {
        self.connection = Some(value.into());
        self
    }
    /// only on the nth request that matches
    pub fn nth(mut self, value: impl Into<i64>) -> Self {
        self.nth = Some(value.into());
        self
    }
    /// not on the first ones of this number
    pub fn skip(mut self, value: impl Into<i64>) -> Self {
        self.skip = Some(value.into());
        self
    }
    /// on every nth
    pub fn every(mut self, value: impl Into<i64>) -> Self {
        self.every = Some(value.into());
        self
    }
    /// on this many, then never again; once is 1
    pub fn times(mut self, value: impl Into<i64>) -> Self {
        self.times = Some(value.into());
        self
    }
    /// from when the rule with this name has fired, as often as its `times` says or once; earlier requests do not match
    pub fn after(mut self, value: impl Into<String>) -> Self {
        self.after = Some(value.into());
        self
    }
    /// until the rule with this name has fired so often; later requests do not match
    pub fn until(mut self, value: impl Into<String>) -> Self {
        self.until = Some(value.into());
        self
    }
    /// from this long after the rule was added, or after it began to match because of `after`; earlier requests do not
    /// match
    pub fn after_ms(mut self, value: impl Into<i64>) -> Self {
        self.after_ms = Some(value.into());
        self
    }
    /// until this long after that time; later requests do not match
    pub fn until_ms(mut self, value: impl Into<i64>) -> Self {
        self.until_ms = Some(value.into());
        self
    }
    /// on each with this probability
    pub fn probability(mut self, value: impl Into<f64>) -> Self {
        self.probability = Some(value.into());
        self
    }
    /// seeds `probability`, `jitter_ms`, `corrupt_bytes` and `change_records`; equal seeds give equal results
    pub fn seed(mut self, value: impl Into<i64>) -> Self {
        self.seed = Some(value.into());
        self
    }
    /// when the rule is added, without any request; for actions on the cluster
    pub fn at_once(mut self, value: impl Into<bool>) -> Self {
        self.at_once = Some(value.into());
        self
    }
    /// the API's own response in the request's version, with this error code for everything that was asked for; any of
    /// Kafka 4.4's 138 codes, by its number or its name in any case
    pub fn error(mut self, value: impl Into<String>) -> Self {
        self.error = Some(value.into());
        self
    }
    /// when an error or an action on the cluster takes effect: before the request is handled, or after it was handled and
    /// before its response. By default before, but after the append for the errors `REQUEST_TIMED_OUT` and
    /// `NOT_ENOUGH_REPLICAS_AFTER_APPEND` of Produce and WriteTxnMarkers, and after the deletion for `REQUEST_TIMED_OUT`
    /// of DeleteRecords
    pub fn at(mut self, value: impl Into<String>) -> Self {
        self.at = Some(value.into());
        self
    }
    /// where an error is: in the response itself, or in the parts that the request names; by default where the API has an
    /// error for the whole request, and in the parts if the rule is for some of them
    pub fn level(mut self, value: impl Into<String>) -> Self {
        self.level = Some(value.into());
        self
    }
    /// the response with these values in it; together with `error`, the error response with them
    pub fn response(mut self, value: impl Into<Value>) -> Self {
        self.response = Some(value.into());
        self
    }
    /// a closed connection: before the request is handled, after it was handled and before its response, or within the
    /// response
    pub fn drop(mut self, value: impl Into<String>) -> Self {
        self.drop = Some(value.into());
        self
    }
    /// so many bytes of the response before the end, with `within_response`; half by default
    pub fn drop_after_bytes(mut self, value: impl Into<i64>) -> Self {
        self.drop_after_bytes = Some(value.into());
        self
    }
    /// how the connection ends with `drop`: it closes; it is reset (RST); only the direction to the client closes (FIN),
    /// and what the client sends is read and ignored; or it stays open and nothing is read from it any more.
    /// `connections.max.idle.ms` ends the last two
    pub fn drop_by(mut self, value: impl Into<String>) -> Self {
        self.drop_by = Some(value.into());
        self
    }
    /// no response, ever; the request is not handled, or it is
    pub fn hang(mut self, value: impl Into<String>) -> Self {
        self.hang = Some(value.into());
        self
    }
    /// brokers, leaders and coordinators as they were when the rule was added
    pub fn stale_metadata(mut self, value: impl Into<bool>) -> Self {
        self.stale_metadata = Some(value.into());
        self
    }
    /// nothing until the request is released; then it goes on: before it is handled, or after it was handled and before
    /// its response. No clock releases it
    pub fn hold(mut self, value: impl Into<String>) -> Self {
        self.hold = Some(value.into());
        self
    }
    /// this throttle time in the response, and a connection that is muted for it
    pub fn throttle_time_ms(mut self, value: impl Into<i64>) -> Self {
        self.throttle_time_ms = Some(value.into());
        self
    }
    /// whether the connection is muted for the throttle time
    pub fn mute(mut self, value: impl Into<bool>) -> Self {
        self.mute = Some(value.into());
        self
    }
    /// nothing for this time; then the request is handled
    pub fn delay_request_ms(mut self, value: impl Into<i64>) -> Self {
        self.delay_request_ms = Some(value.into());
        self
    }
    /// added to every delay: a random time up to this, evenly distributed
    pub fn jitter_ms(mut self, value: impl Into<i64>) -> Self {
        self.jitter_ms = Some(value.into());
        self
    }
    /// the response this much later; the request is handled at once
    pub fn delay_ms(mut self, value: impl Into<i64>) -> Self {
        self.delay_ms = Some(value.into());
        self
    }
    /// the response at the time at which a link of this rate has sent request and response
    pub fn bytes_per_second(mut self, value: impl Into<i64>) -> Self {
        self.bytes_per_second = Some(value.into());
        self
    }
    /// the request at the time at which a link of this rate has sent it
    pub fn request_bytes_per_second(mut self, value: impl Into<i64>) -> Self {
        self.request_bytes_per_second = Some(value.into());
        self
    }
    /// the response at the time at which a link of this rate has sent it
    pub fn response_bytes_per_second(mut self, value: impl Into<i64>) -> Self {
        self.response_bytes_per_second = Some(value.into());
        self
    }
    /// the response in pieces of so many bytes, one after the other
    pub fn trickle_bytes(mut self, value: impl Into<i64>) -> Self {
        self.trickle_bytes = Some(value.into());
        self
    }
    /// the time between two pieces
    pub fn trickle_ms(mut self, value: impl Into<i64>) -> Self {
        self.trickle_ms = Some(value.into());
        self
    }
    /// a response without its last bytes, whose size is the size of the rest
    pub fn truncate_bytes(mut self, value: impl Into<i64>) -> Self {
        self.truncate_bytes = Some(value.into());
        self
    }
    /// a response with this many bytes changed, after the correlation id
    pub fn corrupt_bytes(mut self, value: impl Into<i64>) -> Self {
        self.corrupt_bytes = Some(value.into());
        self
    }
    /// the response with this many zeros appended, included in its size
    pub fn oversize_bytes(mut self, value: impl Into<i64>) -> Self {
        self.oversize_bytes = Some(value.into());
        self
    }
    /// the response with this number as its size, which may be negative
    pub fn announce_bytes(mut self, value: impl Into<i64>) -> Self {
        self.announce_bytes = Some(value.into());
        self
    }
    /// a batch of each partition with other records and a valid CRC: for Produce in the log, for Fetch in this response
    /// alone. The batch twice, a value with one byte changed, one record missing, the records in reverse order, values
    /// with another schema id, or, for Produce, the batch behind the next one of its partition
    pub fn change_records(mut self, value: impl Into<String>) -> Self {
        self.change_records = Some(value.into());
        self
    }
    /// the record of the batch to change or drop, from 0; by default `seed` chooses one that can be changed, and
    /// `replace_schema_id` changes all that have a schema id
    pub fn record_index(mut self, value: impl Into<i64>) -> Self {
        self.record_index = Some(value.into());
        self
    }
    /// the schema id of `replace_schema_id`, 2147483647 by default: in a value that begins with a byte 0 the four bytes
    /// behind it
    pub fn schema_id(mut self, value: impl Into<i64>) -> Self {
        self.schema_id = Some(value.into());
        self
    }
    /// the leaders of `topic` (of `partition`) on this broker, on the `next` replica, or gone
    pub fn leader(mut self, value: impl Into<Value>) -> Self {
        self.leader = Some(value.into());
        self
    }
    /// the coordinator of `group` (with all groups of its partition of `__consumer_offsets`) or `transactional_id` on
    /// this or the `next` broker; requests that wait at the old one get NOT_COORDINATOR
    pub fn coordinator(mut self, value: impl Into<Value>) -> Self {
        self.coordinator = Some(value.into());
        self
    }
    /// a broker that is down: closed connections, new ones refused, until it is started on the same port; `self` is the
    /// broker that received the request
    pub fn stop_broker(mut self, value: impl Into<Value>) -> Self {
        self.stop_broker = Some(value.into());
        self
    }
    /// whether leaders and coordinators move to other brokers. By default yes for a stopped broker, no for an isolated
    /// one. With `controller.mutation.time.us` they move when the controller gets to it
    pub fn elect(mut self, value: impl Into<bool>) -> Self {
        self.elect = Some(value.into());
        self
    }
    /// the broker starts again this long after it was stopped, isolated or fenced
    pub fn restart_after_ms(mut self, value: impl Into<i64>) -> Self {
        self.restart_after_ms = Some(value.into());
        self
    }
    /// connections that stay open, without traffic until the broker is started
    pub fn isolate_broker(mut self, value: impl Into<Value>) -> Self {
        self.isolate_broker = Some(value.into());
        self
    }
    /// a broker that Metadata does not list and that leads nothing, while its connections stay
    pub fn fence_broker(mut self, value: impl Into<Value>) -> Self {
        self.fence_broker = Some(value.into());
        self
    }
    /// the broker again, in sync, with all its records
    pub fn start_broker(mut self, value: impl Into<i64>) -> Self {
        self.start_broker = Some(value.into());
        self
    }
    /// the versions that `broker`, or the broker that received the request, serves from now on, as `broker.api.versions`
    /// has them
    pub fn api_versions(mut self, value: impl Into<String>) -> Self {
        self.api_versions = Some(value.into());
        self
    }
    /// the members of `group` begin a rebalance, or are removed from it as when their sessions have expired
    pub fn members(mut self, value: impl Into<String>) -> Self {
        self.members = Some(value.into());
        self
    }
    /// the clock this much later, as soon as the request was handled or began to wait; everything that becomes due
    /// happens in order
    pub fn advance_ms(mut self, value: impl Into<i64>) -> Self {
        self.advance_ms = Some(value.into());
        self
    }
    /// new connections that are closed at once
    pub fn refuse_connection(mut self, value: impl Into<bool>) -> Self {
        self.refuse_connection = Some(value.into());
        self
    }
    /// new connections that are read only after this time
    pub fn delay_connection_ms(mut self, value: impl Into<i64>) -> Self {
        self.delay_connection_ms = Some(value.into());
        self
    }
}

/// The nearest requests, of the newest 1000, with the fewest differences first; at most five.
///
/// `reasons` say why a rule cannot fire, or has not fired on requests that it matched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NearMissesView {
    pub reasons: Vec<String>,
    pub near_misses: Vec<NearMissView>,
}

/// Some requests that differ from the conditions alike.
///
/// `number` is that of the newest, `count` how many there are, and `held` how many of the
/// conditions they fit. `text` says all of it in one line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NearMissView {
    pub number: i64,
    pub count: i64,
    pub held: i64,
    pub differences: Vec<DifferenceView>,
    pub text: String,
}

/// A condition that a request does not fit: the name of the field, and how it differs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DifferenceView {
    pub field: String,
    pub text: String,
}

/// How many requests go on; by default all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReleaseBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
}

impl ReleaseBody {
    /// Sets `count`.
    pub fn count(mut self, value: impl Into<i64>) -> Self {
        self.count = Some(value.into());
        self
    }
}

/// One group; `coordinator` is null while its partition has no leader.
///
/// The type is classic, consumer, share or streams. The protocol's name is the assignor. A classic
/// group has a generation, others have epochs. `is_assigned_manually`: the target assignment was
/// set by `PUT /v1/groups/{group_id}/assignment`. A share group has share partitions instead of
/// offsets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupView {
    pub group_id: String,
    pub state: String,
    pub protocol_type: String,
    pub protocol_name: String,
    pub coordinator: Option<i64>,
    pub members: Vec<MemberView>,
    pub offsets: Vec<OffsetView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation_id: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_epoch: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignment_epoch: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_assigned_manually: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_partitions: Option<Vec<SharePartitionView>>,
}

/// One member of a group.
///
/// `protocol` is the one that it uses: classic, consumer, share or streams. Its epoch, its state
/// and its target are null in the classic protocol. The state is stable, unrevoked_partitions or
/// unreleased_partitions, or of Kafka Streams unrevoked_tasks or unreleased_tasks. `assigned` is
/// what it may read, `revoking` what it has to give up, `target` what it shall have in the end; of
/// Kafka Streams it is what its active tasks read. The assignment and the topics of a member of a
/// classic group are null if they are not those of a consumer; it has them only while the group is
/// stable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemberView {
    pub member_id: String,
    pub group_instance_id: Option<String>,
    pub client_id: String,
    pub client_host: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscribed_topics: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscribed_regex: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member_epoch: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assigned: Option<Vec<AssignedView>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoking: Option<Vec<AssignedView>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Vec<AssignedView>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Vec<ShareSessionView>>,
}

/// Partitions of one topic.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AssignedView {
    pub topic: String,
    pub partitions: Vec<i64>,
}

/// A session of a member with a broker; its next request must have this epoch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ShareSessionView {
    pub broker: i64,
    pub epoch: i64,
    pub partitions: i64,
}

/// A committed offset; `lag` is the high watermark minus it, null without a log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OffsetView {
    pub topic: String,
    pub partition: i64,
    pub offset: i64,
    pub lag: Option<i64>,
    pub metadata: String,
}

/// A partition in a share group.
///
/// Records before the start offset are done; it is null until the first fetch has chosen it, and
/// so is the lag: the number of records up to the high watermark that are not done yet. Records
/// in flight are from there up to the last one that was ever acquired. Without a member that
/// fetches, no record is acquired, and the others are those that the share coordinator has stored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SharePartitionView {
    pub topic: String,
    pub partition: i64,
    pub start_offset: Option<i64>,
    pub state_epoch: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight_records: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acquired_records: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<Vec<InFlightView>>,
}

/// Consecutive records with the same state, up to the last offset.
///
/// The state is available, acquired, acknowledged, archiving (a dead letter that is not in its
/// queue yet) or archived. Only acquired records have a member, and a lock that expires.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InFlightView {
    pub first_offset: i64,
    pub last_offset: i64,
    pub state: String,
    pub delivery_count: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_expires_ms: Option<i64>,
}

/// The partitions of each member, by member id or group instance id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AssignmentBody {
    pub members: BTreeMap<String, Vec<AssignedBody>>,
}

/// Partitions of one topic.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AssignedBody {
    pub topic: String,
    pub partitions: Vec<i64>,
}

/// The new coordinator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CoordinatorBody {
    pub broker: i64,
}

/// A partition that a group reads; without a commit `offset` is null.
///
/// `lag` is the high watermark minus the committed offset, or the whole log without a commit; null
/// if there is no such partition. In a share group they are the start offset and the number of
/// records that are not done yet, both null until the first fetch has chosen the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupOffsetView {
    pub topic: String,
    pub partition: i64,
    pub offset: Option<i64>,
    pub lag: Option<i64>,
    pub metadata: Option<String>,
}

/// Where a group goes on: at exactly one of `to`, `offset` and `timestamp`.
///
/// `timestamp`, in ms since the epoch, is that of the first record with it or a later one; without
/// such a record the group goes on at the end. It applies to the partitions of one topic, or to one
/// partition, or to all partitions of the topics that the group has committed or subscribes to, of
/// a share group to those that have a state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OffsetsBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<i64>,
}

impl OffsetsBody {
    /// Sets `to`.
    pub fn to(mut self, value: impl Into<String>) -> Self {
        self.to = Some(value.into());
        self
    }
    /// Sets `offset`.
    pub fn offset(mut self, value: impl Into<i64>) -> Self {
        self.offset = Some(value.into());
        self
    }
    /// Sets `timestamp`.
    pub fn timestamp(mut self, value: impl Into<i64>) -> Self {
        self.timestamp = Some(value.into());
        self
    }
    /// Sets `topic`.
    pub fn topic(mut self, value: impl Into<String>) -> Self {
        self.topic = Some(value.into());
        self
    }
    /// Sets `partition`.
    pub fn partition(mut self, value: impl Into<i64>) -> Self {
        self.partition = Some(value.into());
        self
    }
}

/// A broker's filter of a user's producer ids (KIP-936); the newest layer is first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FilterView {
    pub broker: i64,
    pub user: String,
    pub layers: Vec<LayerView>,
}

/// One layer of a filter: the number of ids in it, and its capacity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LayerView {
    pub begun_ms: i64,
    pub expires_ms: i64,
    pub ids: i64,
    pub capacity: i64,
    pub bytes: i64,
}

/// The size of all producer state, and the state by partition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProducersView {
    pub count: i64,
    pub bytes: i64,
    pub partitions: Vec<PartitionProducersView>,
}

/// The producer state of a partition; `producers` are the first by id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartitionProducersView {
    pub topic: String,
    pub partition: i64,
    pub count: i64,
    pub bytes: i64,
    pub producers: Vec<ProducerView>,
}

/// One idempotent producer in a partition; `last_sequence` is -1 before its first batch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProducerView {
    pub producer_id: i64,
    pub producer_epoch: i64,
    pub last_sequence: i64,
    pub last_timestamp: i64,
}

/// The quotas of one entity; a null name is the default of its type.
///
/// `shadow` names the quotas that are set in shadow mode: evaluated and reported, not enforced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QuotaView {
    pub entity: BTreeMap<String, Option<String>>,
    pub values: BTreeMap<String, f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shadow: Option<Vec<String>>,
}

/// Quotas to set on an entity; null removes one.
///
/// The entity has `user`, `client-id`, both, or `ip`; null is the default of its type. With
/// `shadow` true these quotas are evaluated and reported, not enforced; false enforces them; null
/// keeps their mode, and enforces new quotas.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QuotaBody {
    pub entity: BTreeMap<String, Option<String>>,
    pub values: BTreeMap<String, Option<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shadow: Option<bool>,
}

impl QuotaBody {
    /// Sets `shadow`.
    pub fn shadow(mut self, value: impl Into<bool>) -> Self {
        self.shadow = Some(value.into());
        self
    }
}

/// One current value under Kafka's metric name; null if nothing was measured recently.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasurementView {
    pub group: String,
    pub name: String,
    pub tags: BTreeMap<String, String>,
    pub value: Option<f64>,
}

/// Requests that a quota in shadow mode would have throttled or refused.
///
/// `broker` is null for a quota of the whole cluster; `user` or `client_id` is null where the quota
/// does not distinguish by it. `throttled` responses would have had a `throttle_time_ms`, whose sum
/// and largest value are given. `held` requests arrived while their connection would have been
/// muted. `over_quota` is the amount beyond the quota: bytes, ms of handlers' time, partitions, or
/// distinct producer ids. `events` are the newest throttled requests, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ShadowView {
    pub quota: String,
    pub user: Option<String>,
    pub client_id: Option<String>,
    pub broker: Option<i64>,
    pub throttled: i64,
    pub held: i64,
    pub over_quota: i64,
    pub first_ms: i64,
    pub last_ms: i64,
    pub throttle_time_max_ms: i64,
    pub throttle_time_total_ms: i64,
    pub events: Vec<ShadowEventView>,
}

/// A request that would have been throttled, with the time of the cluster's clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ShadowEventView {
    pub time_ms: i64,
    pub throttle_time_ms: i64,
    pub user: String,
    pub client_id: Option<String>,
}

/// The size of the journal; use `last_number` as `since` to see only later lines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JournalStatus {
    pub is_enabled: bool,
    pub lines: i64,
    pub bytes: i64,
    pub last_number: i64,
}

/// Whether the brokers listen on the same ports afterwards, or on new ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResetBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<String>,
}

impl ResetBody {
    /// Sets `ports`.
    pub fn ports(mut self, value: impl Into<String>) -> Self {
        self.ports = Some(value.into());
        self
    }
}

/// A schema; `schema_type` is AVRO, JSON or PROTOBUF, and `schema` its text.
///
/// With `has_references` it uses types of other schemas, which are not in its text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SchemaView {
    pub schema_type: String,
    pub schema: String,
    pub has_references: bool,
}

/// A page of groups: those with members first, by their ids; `total` is how many were found.
///
/// `are_changes`: these are only the groups that have changed since the version of the query. The
/// other groups of that response are on the page as they were.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupsPage {
    pub total: i64,
    pub groups: Vec<GroupView>,
    pub version: String,
    pub are_changes: bool,
}

/// A page of the journal without the decoded messages, newest first.
///
/// `total` is how many lines were found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestsPage {
    pub total: i64,
    pub requests: Vec<RequestView>,
}

/// A page of topics in the order they were created; `total` is how many were found.
///
/// `are_changes`: these are only the topics that have changed since the version of the query. The
/// other topics of that response are on the page as they were.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TopicsPage {
    pub total: i64,
    pub topics: Vec<TopicView>,
    pub version: String,
    pub are_changes: bool,
}

/// One topic; `config` has the values set on the topic itself.
///
/// `is_internal`: coordinators keep their state in it, as in `__consumer_offsets`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TopicView {
    pub name: String,
    pub topic_id: String,
    pub is_internal: bool,
    pub config: BTreeMap<String, String>,
    pub partitions: Vec<PartitionView>,
}

/// One partition; `leader` is null while there is none.
///
/// Consumers read the records before `high_watermark`. `replica_ends` has the log end offset of
/// each replica that is behind, `paused_followers` those that do not fetch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartitionView {
    pub partition: i64,
    pub leader: Option<i64>,
    pub leader_epoch: i64,
    pub replicas: Vec<i64>,
    pub isr: Vec<i64>,
    pub log_start_offset: i64,
    pub log_end_offset: i64,
    pub high_watermark: i64,
    pub bytes: i64,
    pub batches: i64,
    pub producers: i64,
    pub replica_ends: BTreeMap<String, i64>,
    pub paused_followers: Vec<i64>,
}

/// The state of a cluster. Everything that is left out is empty, or as at the start.
///
/// Version 1 had topics with `records`, offsets, quotas, faults, credentials and acls. `cluster`
/// and `requests` are parts of a recording of another cluster, and not loaded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_producer_id: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<BTreeMap<String, i64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brokers: Option<Vec<SavedBroker>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configs: Option<Vec<SavedConfig>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topics: Option<Vec<SavedTopic>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub internal_topics: Option<Vec<SavedTopic>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offsets: Option<Vec<SavedOffset>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<SavedCoordinatorRecord>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactions: Option<Vec<SavedCoordinatorRecord>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_states: Option<Vec<SavedCoordinatorRecord>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quotas: Option<Vec<QuotaView>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Vec<Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Vec<SavedCredential>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegation_tokens: Option<Vec<SavedToken>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acls: Option<Vec<AclBody>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<RecordedCluster>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Vec<AskedRequest>>,
}

impl Snapshot {
    /// Sets `version`.
    pub fn version(mut self, value: impl Into<i64>) -> Self {
        self.version = Some(value.into());
        self
    }
    /// Sets `cluster_id`.
    pub fn cluster_id(mut self, value: impl Into<String>) -> Self {
        self.cluster_id = Some(value.into());
        self
    }
    /// Sets `next_producer_id`.
    pub fn next_producer_id(mut self, value: impl Into<i64>) -> Self {
        self.next_producer_id = Some(value.into());
        self
    }
    /// Sets `features`.
    pub fn features(mut self, value: impl Into<BTreeMap<String, i64>>) -> Self {
        self.features = Some(value.into());
        self
    }
    /// Sets `brokers`.
    pub fn brokers(mut self, value: impl Into<Vec<SavedBroker>>) -> Self {
        self.brokers = Some(value.into());
        self
    }
    /// Sets `configs`.
    pub fn configs(mut self, value: impl Into<Vec<SavedConfig>>) -> Self {
        self.configs = Some(value.into());
        self
    }
    /// Sets `topics`.
    pub fn topics(mut self, value: impl Into<Vec<SavedTopic>>) -> Self {
        self.topics = Some(value.into());
        self
    }
    /// Sets `internal_topics`.
    pub fn internal_topics(mut self, value: impl Into<Vec<SavedTopic>>) -> Self {
        self.internal_topics = Some(value.into());
        self
    }
    /// Sets `offsets`.
    pub fn offsets(mut self, value: impl Into<Vec<SavedOffset>>) -> Self {
        self.offsets = Some(value.into());
        self
    }
    /// Sets `groups`.
    pub fn groups(mut self, value: impl Into<Vec<SavedCoordinatorRecord>>) -> Self {
        self.groups = Some(value.into());
        self
    }
    /// Sets `transactions`.
    pub fn transactions(mut self, value: impl Into<Vec<SavedCoordinatorRecord>>) -> Self {
        self.transactions = Some(value.into());
        self
    }
    /// Sets `share_states`.
    pub fn share_states(mut self, value: impl Into<Vec<SavedCoordinatorRecord>>) -> Self {
        self.share_states = Some(value.into());
        self
    }
    /// Sets `quotas`.
    pub fn quotas(mut self, value: impl Into<Vec<QuotaView>>) -> Self {
        self.quotas = Some(value.into());
        self
    }
    /// Sets `faults`.
    pub fn faults(mut self, value: impl Into<Vec<Value>>) -> Self {
        self.faults = Some(value.into());
        self
    }
    /// Sets `credentials`.
    pub fn credentials(mut self, value: impl Into<Vec<SavedCredential>>) -> Self {
        self.credentials = Some(value.into());
        self
    }
    /// Sets `delegation_tokens`.
    pub fn delegation_tokens(mut self, value: impl Into<Vec<SavedToken>>) -> Self {
        self.delegation_tokens = Some(value.into());
        self
    }
    /// Sets `acls`.
    pub fn acls(mut self, value: impl Into<Vec<AclBody>>) -> Self {
        self.acls = Some(value.into());
        self
    }
    /// Sets `cluster`.
    pub fn cluster(mut self, value: impl Into<RecordedCluster>) -> Self {
        self.cluster = Some(value.into());
        self
    }
    /// Sets `requests`.
    pub fn requests(mut self, value: impl Into<Vec<AskedRequest>>) -> Self {
        self.requests = Some(value.into());
        self
    }
}

/// A broker that is not up: whether Metadata lists it, and whether its sockets respond.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedBroker {
    pub node_id: i64,
    pub is_alive: bool,
    pub availability: String,
}

/// What was set at run time on a broker (the empty name is all), a group or client metrics.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedConfig {
    pub resource_type: String,
    pub resource_name: String,
    pub config: BTreeMap<String, String>,
}

/// A topic with the configuration that is set on it; without an id it gets a new one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedTopic {
    pub name: String,
    pub partitions: Vec<SavedPartition>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic_id: Option<String>,
}

impl SavedTopic {
    /// Sets `config`.
    pub fn config(mut self, value: impl Into<BTreeMap<String, String>>) -> Self {
        self.config = Some(value.into());
        self
    }
    /// Sets `topic_id`.
    pub fn topic_id(mut self, value: impl Into<String>) -> Self {
        self.topic_id = Some(value.into());
        self
    }
}

/// A partition; without `replicas` the cluster chooses them, as for a new topic.
///
/// Offsets without a record stay empty, so that committed offsets keep their meaning. Without
/// `high_watermark` all records are committed. It moves to the end of the log if enough replicas
/// are in sync.
///
/// `batches` has stored batches as base64, for what `records` cannot say: those of open and aborted
/// transactions, the markers of aborted ones, and those that cannot be decoded. Both lists are in
/// the order of offsets. Without `leader_id` the first replica that is up leads, in epoch 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedPartition {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<Vec<i64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader_id: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader_epoch: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isr: Option<Vec<i64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eligible_leader_replicas: Option<Vec<i64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_known_leader_id: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<Vec<SavedReplica>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader_epochs: Option<Vec<SavedEpoch>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_start_offset: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_end_offset: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_watermark: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<Vec<SavedRecord>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batches: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub producers: Option<Vec<SavedProducer>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aborted_transactions: Option<Vec<SavedAbort>>,
}

impl SavedPartition {
    /// Sets `replicas`.
    pub fn replicas(mut self, value: impl Into<Vec<i64>>) -> Self {
        self.replicas = Some(value.into());
        self
    }
    /// Sets `leader_id`.
    pub fn leader_id(mut self, value: impl Into<i64>) -> Self {
        self.leader_id = Some(value.into());
        self
    }
    /// Sets `leader_epoch`.
    pub fn leader_epoch(mut self, value: impl Into<i64>) -> Self {
        self.leader_epoch = Some(value.into());
        self
    }
    /// Sets `isr`.
    pub fn isr(mut self, value: impl Into<Vec<i64>>) -> Self {
        self.isr = Some(value.into());
        self
    }
    /// Sets `eligible_leader_replicas`.
    pub fn eligible_leader_replicas(mut self, value: impl Into<Vec<i64>>) -> Self {
        self.eligible_leader_replicas = Some(value.into());
        self
    }
    /// Sets `last_known_leader_id`.
    pub fn last_known_leader_id(mut self, value: impl Into<i64>) -> Self {
        self.last_known_leader_id = Some(value.into());
        self
    }
    /// Sets `behind`.
    pub fn behind(mut self, value: impl Into<Vec<SavedReplica>>) -> Self {
        self.behind = Some(value.into());
        self
    }
    /// Sets `leader_epochs`.
    pub fn leader_epochs(mut self, value: impl Into<Vec<SavedEpoch>>) -> Self {
        self.leader_epochs = Some(value.into());
        self
    }
    /// Sets `log_start_offset`.
    pub fn log_start_offset(mut self, value: impl Into<i64>) -> Self {
        self.log_start_offset = Some(value.into());
        self
    }
    /// Sets `log_end_offset`.
    pub fn log_end_offset(mut self, value: impl Into<i64>) -> Self {
        self.log_end_offset = Some(value.into());
        self
    }
    /// Sets `high_watermark`.
    pub fn high_watermark(mut self, value: impl Into<i64>) -> Self {
        self.high_watermark = Some(value.into());
        self
    }
    /// Sets `records`.
    pub fn records(mut self, value: impl Into<Vec<SavedRecord>>) -> Self {
        self.records = Some(value.into());
        self
    }
    /// Sets `batches`.
    pub fn batches(mut self, value: impl Into<Vec<String>>) -> Self {
        self.batches = Some(value.into());
        self
    }
    /// Sets `producers`.
    pub fn producers(mut self, value: impl Into<Vec<SavedProducer>>) -> Self {
        self.producers = Some(value.into());
        self
    }
    /// Sets `aborted_transactions`.
    pub fn aborted_transactions(mut self, value: impl Into<Vec<SavedAbort>>) -> Self {
        self.aborted_transactions = Some(value.into());
        self
    }
}

/// A replica that is behind the leader, and where its log ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedReplica {
    pub node_id: i64,
    pub log_end_offset: i64,
}

/// A leader epoch, and the first offset that was written in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedEpoch {
    pub epoch: i64,
    pub start_offset: i64,
}

/// A record; without an offset it gets the next one. A string is UTF-8.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<Vec<HeaderBody>>,
}

impl SavedRecord {
    /// Sets `offset`.
    pub fn offset(mut self, value: impl Into<i64>) -> Self {
        self.offset = Some(value.into());
        self
    }
    /// Sets `timestamp`.
    pub fn timestamp(mut self, value: impl Into<i64>) -> Self {
        self.timestamp = Some(value.into());
        self
    }
    /// Sets `key`.
    pub fn key(mut self, value: impl Into<Value>) -> Self {
        self.key = Some(value.into());
        self
    }
    /// Sets `value`.
    pub fn value(mut self, value: impl Into<Value>) -> Self {
        self.value = Some(value.into());
        self
    }
    /// Sets `headers`.
    pub fn headers(mut self, value: impl Into<Vec<HeaderBody>>) -> Self {
        self.headers = Some(value.into());
        self
    }
}

/// Bytes, as text in UTF-8 or as base64.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BytesBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
}

impl BytesBody {
    /// Sets `text`.
    pub fn text(mut self, value: impl Into<String>) -> Self {
        self.text = Some(value.into());
        self
    }
    /// Sets `base64`.
    pub fn base64(mut self, value: impl Into<String>) -> Self {
        self.base64 = Some(value.into());
        self
    }
}

/// One header of a new record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeaderBody {
    pub key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

impl HeaderBody {
    /// Sets `value`.
    pub fn value(mut self, value: impl Into<Value>) -> Self {
        self.value = Some(value.into());
        self
    }
}

/// What a partition remembers of a producer, its newest batches first (`ProducerStateEntry`).
///
/// `floor` is that of KIP-758's rule. `current_txn_start_offset` is set while it has a transaction
/// open, `coordinator_epoch` once it has ended one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedProducer {
    pub producer_id: i64,
    pub producer_epoch: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batches: Option<Vec<SavedBatch>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coordinator_epoch: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_timestamp: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_txn_start_offset: Option<i64>,
}

impl SavedProducer {
    /// Sets `batches`.
    pub fn batches(mut self, value: impl Into<Vec<SavedBatch>>) -> Self {
        self.batches = Some(value.into());
        self
    }
    /// Sets `floor`.
    pub fn floor(mut self, value: impl Into<i64>) -> Self {
        self.floor = Some(value.into());
        self
    }
    /// Sets `coordinator_epoch`.
    pub fn coordinator_epoch(mut self, value: impl Into<i64>) -> Self {
        self.coordinator_epoch = Some(value.into());
        self
    }
    /// Sets `last_timestamp`.
    pub fn last_timestamp(mut self, value: impl Into<i64>) -> Self {
        self.last_timestamp = Some(value.into());
        self
    }
    /// Sets `current_txn_start_offset`.
    pub fn current_txn_start_offset(mut self, value: impl Into<i64>) -> Self {
        self.current_txn_start_offset = Some(value.into());
        self
    }
}

/// A batch that a producer has written; `timestamp` is its largest one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedBatch {
    pub first_sequence: i64,
    pub last_sequence: i64,
    pub base_offset: i64,
    pub timestamp: i64,
}

/// An aborted transaction of a partition; `last_offset` is that of its marker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedAbort {
    pub producer_id: i64,
    pub first_offset: i64,
    pub last_offset: i64,
    pub last_stable_offset: i64,
}

/// An offset that a group has committed.
///
/// With `producer_id` it counts once the transaction commits that this producer has open. Without
/// `commit_timestamp` it is committed when the document is loaded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedOffset {
    pub group: String,
    pub topic: String,
    pub partition: i64,
    pub offset: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader_epoch: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_timestamp: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expire_timestamp: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub producer_id: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub producer_epoch: Option<i64>,
}

impl SavedOffset {
    /// Sets `leader_epoch`.
    pub fn leader_epoch(mut self, value: impl Into<i64>) -> Self {
        self.leader_epoch = Some(value.into());
        self
    }
    /// Sets `metadata`.
    pub fn metadata(mut self, value: impl Into<String>) -> Self {
        self.metadata = Some(value.into());
        self
    }
    /// Sets `commit_timestamp`.
    pub fn commit_timestamp(mut self, value: impl Into<i64>) -> Self {
        self.commit_timestamp = Some(value.into());
        self
    }
    /// Sets `expire_timestamp`.
    pub fn expire_timestamp(mut self, value: impl Into<i64>) -> Self {
        self.expire_timestamp = Some(value.into());
        self
    }
    /// Sets `topic_id`.
    pub fn topic_id(mut self, value: impl Into<String>) -> Self {
        self.topic_id = Some(value.into());
        self
    }
    /// Sets `producer_id`.
    pub fn producer_id(mut self, value: impl Into<i64>) -> Self {
        self.producer_id = Some(value.into());
        self
    }
    /// Sets `producer_epoch`.
    pub fn producer_epoch(mut self, value: impl Into<i64>) -> Self {
        self.producer_epoch = Some(value.into());
        self
    }
}

/// A record of a coordinator: Kafka's name of its type, and the fields of key and value.
///
/// The names of fields are those of the journal; bytes are `{"base64": ...}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedCoordinatorRecord {
    pub r#type: String,
    pub key: Value,
    pub version: i64,
    pub value: Value,
}

/// A SCRAM credential of a user; its bytes are base64. The password is not in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedCredential {
    pub user: String,
    pub mechanism: String,
    pub iterations: i64,
    pub salt: String,
    pub stored_key: String,
    pub server_key: String,
}

/// A delegation token without its secret, which follows from its id and the broker's key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedToken {
    pub token_id: String,
    pub owner: String,
    pub requester: String,
    pub renewers: Vec<String>,
    pub issue_timestamp: i64,
    pub max_timestamp: i64,
    pub expiry_timestamp: i64,
}

/// What a cluster said of itself.
///
/// `release` is the newest one whose API versions fit, such as `4.4`. `api_versions` has the lowest
/// and the highest version by API, and `features` the finalized levels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedCluster {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brokers: Option<Vec<RecordedBroker>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_versions: Option<BTreeMap<String, Vec<i64>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<BTreeMap<String, i64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<Vec<RecordedUser>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<RecordedGroup>>,
}

impl RecordedCluster {
    /// Sets `cluster_id`.
    pub fn cluster_id(mut self, value: impl Into<String>) -> Self {
        self.cluster_id = Some(value.into());
        self
    }
    /// Sets `brokers`.
    pub fn brokers(mut self, value: impl Into<Vec<RecordedBroker>>) -> Self {
        self.brokers = Some(value.into());
        self
    }
    /// Sets `release`.
    pub fn release(mut self, value: impl Into<String>) -> Self {
        self.release = Some(value.into());
        self
    }
    /// Sets `api_versions`.
    pub fn api_versions(mut self, value: impl Into<BTreeMap<String, Vec<i64>>>) -> Self {
        self.api_versions = Some(value.into());
        self
    }
    /// Sets `features`.
    pub fn features(mut self, value: impl Into<BTreeMap<String, i64>>) -> Self {
        self.features = Some(value.into());
        self
    }
    /// Sets `users`.
    pub fn users(mut self, value: impl Into<Vec<RecordedUser>>) -> Self {
        self.users = Some(value.into());
        self
    }
    /// Sets `groups`.
    pub fn groups(mut self, value: impl Into<Vec<RecordedGroup>>) -> Self {
        self.groups = Some(value.into());
        self
    }
}

/// A broker, with its rack if it has one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedBroker {
    pub node_id: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack: Option<String>,
}

impl RecordedBroker {
    /// Sets `rack`.
    pub fn rack(mut self, value: impl Into<String>) -> Self {
        self.rack = Some(value.into());
        self
    }
}

/// A SCRAM user. Salt and keys are secrets, so nobody can authenticate as this user.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedUser {
    pub user: String,
    pub mechanism: String,
    pub iterations: i64,
}

/// A group as the cluster listed it: type (`classic`, ...), state and protocol type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedGroup {
    pub group_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol_type: Option<String>,
}

impl RecordedGroup {
    /// Sets `type`.
    pub fn r#type(mut self, value: impl Into<String>) -> Self {
        self.r#type = Some(value.into());
        self
    }
    /// Sets `state`.
    pub fn state(mut self, value: impl Into<String>) -> Self {
        self.state = Some(value.into());
        self
    }
    /// Sets `protocol_type`.
    pub fn protocol_type(mut self, value: impl Into<String>) -> Self {
        self.protocol_type = Some(value.into());
        self
    }
}

/// What requests of one kind named: they had the same API and version, and were of one user.
///
/// `count` requests named these groups, transactional ids and resources, and each of them some of
/// `topics`. Resources are such as `BROKER:1` (configuration), `ACL:TOPIC:orders`,
/// `QUOTA:user=alice` and `USER:alice` (SCRAM).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AskedRequest {
    pub api: String,
    pub version: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topics: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactional_ids: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
}

impl AskedRequest {
    /// Sets `user`.
    pub fn user(mut self, value: impl Into<String>) -> Self {
        self.user = Some(value.into());
        self
    }
    /// Sets `topics`.
    pub fn topics(mut self, value: impl Into<Vec<String>>) -> Self {
        self.topics = Some(value.into());
        self
    }
    /// Sets `groups`.
    pub fn groups(mut self, value: impl Into<Vec<String>>) -> Self {
        self.groups = Some(value.into());
        self
    }
    /// Sets `transactional_ids`.
    pub fn transactional_ids(mut self, value: impl Into<Vec<String>>) -> Self {
        self.transactional_ids = Some(value.into());
        self
    }
    /// Sets `resources`.
    pub fn resources(mut self, value: impl Into<Vec<String>>) -> Self {
        self.resources = Some(value.into());
        self
    }
    /// Sets `count`.
    pub fn count(mut self, value: impl Into<i64>) -> Self {
        self.count = Some(value.into());
        self
    }
}

/// A new topic; missing numbers are the configured defaults.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NewTopicBody {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partitions: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replication_factor: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<BTreeMap<String, String>>,
}

impl NewTopicBody {
    /// Sets `partitions`.
    pub fn partitions(mut self, value: impl Into<i64>) -> Self {
        self.partitions = Some(value.into());
        self
    }
    /// Sets `replication_factor`.
    pub fn replication_factor(mut self, value: impl Into<i64>) -> Self {
        self.replication_factor = Some(value.into());
        self
    }
    /// Sets `config`.
    pub fn config(mut self, value: impl Into<BTreeMap<String, String>>) -> Self {
        self.config = Some(value.into());
        self
    }
}

/// What a compaction removed from a partition.
///
/// `removed_records` counts neither markers of transactions nor batches that stay without records.
/// It looked at the offsets before `cleaned_until`; null if it looked at none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CompactedView {
    pub partition: i64,
    pub removed_records: i64,
    pub freed_bytes: i64,
    pub cleaned_until: Option<i64>,
}

/// One key of a topic. `source` is Kafka's name, such as DYNAMIC_TOPIC_CONFIG.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TopicConfigView {
    pub name: String,
    pub value: Option<String>,
    pub source: String,
}

/// Keys to set, with their values; null removes a key from the topic.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TopicConfigBody {
    pub config: BTreeMap<String, Option<String>>,
}

/// What the control record says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ControlRecordBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

impl ControlRecordBody {
    /// Sets `kind`.
    pub fn kind(mut self, value: impl Into<String>) -> Self {
        self.kind = Some(value.into());
        self
    }
}

/// How many offsets have no record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GapBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
}

impl GapBody {
    /// Sets `count`.
    pub fn count(mut self, value: impl Into<i64>) -> Self {
        self.count = Some(value.into());
        self
    }
}

/// The new leader; null for none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LeaderBody {
    pub broker: Option<i64>,
}

impl LeaderBody {
    /// Sets `broker`.
    pub fn broker(mut self, value: impl Into<i64>) -> Self {
        self.broker = Some(value.into());
        self
    }
}

/// Where the log ends then.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TruncateBody {
    pub offset: i64,
}

/// Records in order; `next_offsets` has the next offset of each partition with more records.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordsView {
    pub records: Vec<RecordView>,
    pub next_offsets: BTreeMap<String, i64>,
}

/// One record; `timestamp` in ms since the epoch.
///
/// `transaction` is the state of the transaction it was written in, null if it was in none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordView {
    pub partition: i64,
    pub offset: i64,
    pub timestamp: i64,
    pub key: Option<BytesView>,
    pub value: Option<BytesView>,
    pub headers: Vec<HeaderView>,
    pub transaction: Option<String>,
}

/// Bytes: as text if they are UTF-8 (unless the query has `encoding=base64`), else base64.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BytesView {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
}

/// One header of a record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeaderView {
    pub key: String,
    pub value: Option<BytesView>,
}

/// New records, in their order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordsBody {
    pub records: Vec<RecordBody>,
}

/// A new record; a string stands for its bytes in UTF-8.
///
/// Without `partition` the key decides, as in the Java client; a record without a key gets the
/// partition with the lowest end offset. `timestamp` is in ms since the epoch, by default now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<Vec<HeaderBody>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
}

impl RecordBody {
    /// Sets `value`.
    pub fn value(mut self, value: impl Into<Value>) -> Self {
        self.value = Some(value.into());
        self
    }
    /// Sets `key`.
    pub fn key(mut self, value: impl Into<Value>) -> Self {
        self.key = Some(value.into());
        self
    }
    /// Sets `headers`.
    pub fn headers(mut self, value: impl Into<Vec<HeaderBody>>) -> Self {
        self.headers = Some(value.into());
        self
    }
    /// Sets `partition`.
    pub fn partition(mut self, value: impl Into<i64>) -> Self {
        self.partition = Some(value.into());
        self
    }
    /// Sets `timestamp`.
    pub fn timestamp(mut self, value: impl Into<i64>) -> Self {
        self.timestamp = Some(value.into());
        self
    }
}

/// Where a record was stored, and its timestamp.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProducedView {
    pub partition: i64,
    pub offset: i64,
    pub timestamp: i64,
}

/// Records in their order. `scanned` were read; others exist unless `is_complete`.
///
/// `next_offsets` says where the next page begins in each partition that may have more records: at
/// this offset, or, of the newest records, before it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FoundRecordsView {
    pub records: Vec<RecordView>,
    pub scanned: i64,
    pub is_complete: bool,
    pub next_offsets: BTreeMap<String, i64>,
}

/// The transactional id of a producer, and its latest transaction.
///
/// `state` is Kafka's name, such as Ongoing or CompleteCommit. `start_ms` and `age_ms` are null
/// without a transaction. `partitions` are those that have no commit or abort marker yet.
/// `coordinator` is null while its partition of `__transaction_state` has no leader.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TransactionView {
    pub transactional_id: String,
    pub state: String,
    pub producer_id: i64,
    pub producer_epoch: i64,
    pub coordinator: Option<i64>,
    pub timeout_ms: i64,
    pub start_ms: Option<i64>,
    pub age_ms: Option<i64>,
    pub partitions: Vec<TransactionPartitionView>,
}

/// A partition in a transaction; those of `__consumer_offsets` stand for committed offsets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TransactionPartitionView {
    pub topic: String,
    pub partition: i64,
}

/// The parameters of `Admin::remove_acls`; those that are not set are not sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RemoveAclsQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl RemoveAclsQuery {
    /// Sets `principal`.
    pub fn principal(mut self, value: impl Into<String>) -> Self {
        self.principal = Some(value.into());
        self
    }
    /// Sets `permission_type`.
    pub fn permission_type(mut self, value: impl Into<String>) -> Self {
        self.permission_type = Some(value.into());
        self
    }
    /// Sets `operation`.
    pub fn operation(mut self, value: impl Into<String>) -> Self {
        self.operation = Some(value.into());
        self
    }
    /// Sets `resource_type`.
    pub fn resource_type(mut self, value: impl Into<String>) -> Self {
        self.resource_type = Some(value.into());
        self
    }
    /// Sets `resource_name`.
    pub fn resource_name(mut self, value: impl Into<String>) -> Self {
        self.resource_name = Some(value.into());
        self
    }
    /// Sets `pattern_type`.
    pub fn pattern_type(mut self, value: impl Into<String>) -> Self {
        self.pattern_type = Some(value.into());
        self
    }
    /// Sets `host`.
    pub fn host(mut self, value: impl Into<String>) -> Self {
        self.host = Some(value.into());
        self
    }
}

/// The parameters of `Admin::list_acls`; those that are not set are not sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ListAclsQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl ListAclsQuery {
    /// Sets `principal`.
    pub fn principal(mut self, value: impl Into<String>) -> Self {
        self.principal = Some(value.into());
        self
    }
    /// Sets `permission_type`.
    pub fn permission_type(mut self, value: impl Into<String>) -> Self {
        self.permission_type = Some(value.into());
        self
    }
    /// Sets `operation`.
    pub fn operation(mut self, value: impl Into<String>) -> Self {
        self.operation = Some(value.into());
        self
    }
    /// Sets `resource_type`.
    pub fn resource_type(mut self, value: impl Into<String>) -> Self {
        self.resource_type = Some(value.into());
        self
    }
    /// Sets `resource_name`.
    pub fn resource_name(mut self, value: impl Into<String>) -> Self {
        self.resource_name = Some(value.into());
        self
    }
    /// Sets `pattern_type`.
    pub fn pattern_type(mut self, value: impl Into<String>) -> Self {
        self.pattern_type = Some(value.into());
        self
    }
    /// Sets `host`.
    pub fn host(mut self, value: impl Into<String>) -> Self {
        self.host = Some(value.into());
        self
    }
}

/// The parameters of `Admin::list_decisions`; those that are not set are not sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ListDecisionsQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl ListDecisionsQuery {
    /// Sets `principal`.
    pub fn principal(mut self, value: impl Into<String>) -> Self {
        self.principal = Some(value.into());
        self
    }
    /// Sets `resource_type`.
    pub fn resource_type(mut self, value: impl Into<String>) -> Self {
        self.resource_type = Some(value.into());
        self
    }
    /// Sets `resource_name`.
    pub fn resource_name(mut self, value: impl Into<String>) -> Self {
        self.resource_name = Some(value.into());
        self
    }
    /// Sets `operation`.
    pub fn operation(mut self, value: impl Into<String>) -> Self {
        self.operation = Some(value.into());
        self
    }
    /// Sets `host`.
    pub fn host(mut self, value: impl Into<String>) -> Self {
        self.host = Some(value.into());
        self
    }
}

/// The parameters of `Admin::list_set_configs`; those that are not set are not sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ListSetConfigsQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
}

impl ListSetConfigsQuery {
    /// Sets `effect`.
    pub fn effect(mut self, value: impl Into<String>) -> Self {
        self.effect = Some(value.into());
        self
    }
    /// Sets `limit`.
    pub fn limit(mut self, value: impl Into<i64>) -> Self {
        self.limit = Some(value.into());
        self
    }
}

/// The parameters of `Admin::wait_for_fault`; those that are not set are not sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WaitForFaultQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fired: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<i64>,
}

impl WaitForFaultQuery {
    /// Sets `fired`.
    pub fn fired(mut self, value: impl Into<i64>) -> Self {
        self.fired = Some(value.into());
        self
    }
    /// Sets `held`.
    pub fn held(mut self, value: impl Into<i64>) -> Self {
        self.held = Some(value.into());
        self
    }
    /// Sets `timeout_ms`.
    pub fn timeout_ms(mut self, value: impl Into<i64>) -> Self {
        self.timeout_ms = Some(value.into());
        self
    }
}

/// The parameters of `Admin::wait_for_stable_group`; those that are not set are not sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WaitForStableGroupQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<i64>,
}

impl WaitForStableGroupQuery {
    /// Sets `members`.
    pub fn members(mut self, value: impl Into<i64>) -> Self {
        self.members = Some(value.into());
        self
    }
    /// Sets `timeout_ms`.
    pub fn timeout_ms(mut self, value: impl Into<i64>) -> Self {
        self.timeout_ms = Some(value.into());
        self
    }
}

/// The parameters of `Admin::list_producers`; those that are not set are not sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ListProducersQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
}

impl ListProducersQuery {
    /// Sets `topic`.
    pub fn topic(mut self, value: impl Into<String>) -> Self {
        self.topic = Some(value.into());
        self
    }
    /// Sets `partition`.
    pub fn partition(mut self, value: impl Into<i64>) -> Self {
        self.partition = Some(value.into());
        self
    }
    /// Sets `limit`.
    pub fn limit(mut self, value: impl Into<i64>) -> Self {
        self.limit = Some(value.into());
        self
    }
}

/// The parameters of `Admin::list_requests`; those that are not set are not sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ListRequestsQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broker: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bodies: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<String>,
}

impl ListRequestsQuery {
    /// Sets `api`.
    pub fn api(mut self, value: impl Into<String>) -> Self {
        self.api = Some(value.into());
        self
    }
    /// Sets `topic`.
    pub fn topic(mut self, value: impl Into<String>) -> Self {
        self.topic = Some(value.into());
        self
    }
    /// Sets `partition`.
    pub fn partition(mut self, value: impl Into<i64>) -> Self {
        self.partition = Some(value.into());
        self
    }
    /// Sets `group`.
    pub fn group(mut self, value: impl Into<String>) -> Self {
        self.group = Some(value.into());
        self
    }
    /// Sets `client_id`.
    pub fn client_id(mut self, value: impl Into<String>) -> Self {
        self.client_id = Some(value.into());
        self
    }
    /// Sets `user`.
    pub fn user(mut self, value: impl Into<String>) -> Self {
        self.user = Some(value.into());
        self
    }
    /// Sets `broker`.
    pub fn broker(mut self, value: impl Into<i64>) -> Self {
        self.broker = Some(value.into());
        self
    }
    /// Sets `connection`.
    pub fn connection(mut self, value: impl Into<i64>) -> Self {
        self.connection = Some(value.into());
        self
    }
    /// Sets `error`.
    pub fn error(mut self, value: impl Into<String>) -> Self {
        self.error = Some(value.into());
        self
    }
    /// Sets `outcome`.
    pub fn outcome(mut self, value: impl Into<String>) -> Self {
        self.outcome = Some(value.into());
        self
    }
    /// Sets `kind`.
    pub fn kind(mut self, value: impl Into<String>) -> Self {
        self.kind = Some(value.into());
        self
    }
    /// Sets `fault`.
    pub fn fault(mut self, value: impl Into<String>) -> Self {
        self.fault = Some(value.into());
        self
    }
    /// Sets `denied`.
    pub fn denied(mut self, value: impl Into<bool>) -> Self {
        self.denied = Some(value.into());
        self
    }
    /// Sets `since`.
    pub fn since(mut self, value: impl Into<i64>) -> Self {
        self.since = Some(value.into());
        self
    }
    /// Sets `since_ms`.
    pub fn since_ms(mut self, value: impl Into<i64>) -> Self {
        self.since_ms = Some(value.into());
        self
    }
    /// Sets `bodies`.
    pub fn bodies(mut self, value: impl Into<bool>) -> Self {
        self.bodies = Some(value.into());
        self
    }
    /// Sets `limit`.
    pub fn limit(mut self, value: impl Into<i64>) -> Self {
        self.limit = Some(value.into());
        self
    }
    /// Sets `fields`.
    pub fn fields(mut self, value: impl Into<String>) -> Self {
        self.fields = Some(value.into());
        self
    }
}

/// The parameters of `Admin::follow_requests`; those that are not set are not sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FollowRequestsQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broker: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bodies: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ms: Option<i64>,
}

impl FollowRequestsQuery {
    /// Sets `api`.
    pub fn api(mut self, value: impl Into<String>) -> Self {
        self.api = Some(value.into());
        self
    }
    /// Sets `topic`.
    pub fn topic(mut self, value: impl Into<String>) -> Self {
        self.topic = Some(value.into());
        self
    }
    /// Sets `partition`.
    pub fn partition(mut self, value: impl Into<i64>) -> Self {
        self.partition = Some(value.into());
        self
    }
    /// Sets `group`.
    pub fn group(mut self, value: impl Into<String>) -> Self {
        self.group = Some(value.into());
        self
    }
    /// Sets `client_id`.
    pub fn client_id(mut self, value: impl Into<String>) -> Self {
        self.client_id = Some(value.into());
        self
    }
    /// Sets `user`.
    pub fn user(mut self, value: impl Into<String>) -> Self {
        self.user = Some(value.into());
        self
    }
    /// Sets `broker`.
    pub fn broker(mut self, value: impl Into<i64>) -> Self {
        self.broker = Some(value.into());
        self
    }
    /// Sets `connection`.
    pub fn connection(mut self, value: impl Into<i64>) -> Self {
        self.connection = Some(value.into());
        self
    }
    /// Sets `error`.
    pub fn error(mut self, value: impl Into<String>) -> Self {
        self.error = Some(value.into());
        self
    }
    /// Sets `outcome`.
    pub fn outcome(mut self, value: impl Into<String>) -> Self {
        self.outcome = Some(value.into());
        self
    }
    /// Sets `kind`.
    pub fn kind(mut self, value: impl Into<String>) -> Self {
        self.kind = Some(value.into());
        self
    }
    /// Sets `fault`.
    pub fn fault(mut self, value: impl Into<String>) -> Self {
        self.fault = Some(value.into());
        self
    }
    /// Sets `denied`.
    pub fn denied(mut self, value: impl Into<bool>) -> Self {
        self.denied = Some(value.into());
        self
    }
    /// Sets `since`.
    pub fn since(mut self, value: impl Into<i64>) -> Self {
        self.since = Some(value.into());
        self
    }
    /// Sets `since_ms`.
    pub fn since_ms(mut self, value: impl Into<i64>) -> Self {
        self.since_ms = Some(value.into());
        self
    }
    /// Sets `bodies`.
    pub fn bodies(mut self, value: impl Into<bool>) -> Self {
        self.bodies = Some(value.into());
        self
    }
    /// Sets `interval_ms`.
    pub fn interval_ms(mut self, value: impl Into<i64>) -> Self {
        self.interval_ms = Some(value.into());
        self
    }
}

/// The parameters of `Admin::export_requests`; those that are not set are not sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExportRequestsQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broker: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bodies: Option<bool>,
}

impl ExportRequestsQuery {
    /// Sets `api`.
    pub fn api(mut self, value: impl Into<String>) -> Self {
        self.api = Some(value.into());
        self
    }
    /// Sets `topic`.
    pub fn topic(mut self, value: impl Into<String>) -> Self {
        self.topic = Some(value.into());
        self
    }
    /// Sets `partition`.
    pub fn partition(mut self, value: impl Into<i64>) -> Self {
        self.partition = Some(value.into());
        self
    }
    /// Sets `group`.
    pub fn group(mut self, value: impl Into<String>) -> Self {
        self.group = Some(value.into());
        self
    }
    /// Sets `client_id`.
    pub fn client_id(mut self, value: impl Into<String>) -> Self {
        self.client_id = Some(value.into());
        self
    }
    /// Sets `user`.
    pub fn user(mut self, value: impl Into<String>) -> Self {
        self.user = Some(value.into());
        self
    }
    /// Sets `broker`.
    pub fn broker(mut self, value: impl Into<i64>) -> Self {
        self.broker = Some(value.into());
        self
    }
    /// Sets `connection`.
    pub fn connection(mut self, value: impl Into<i64>) -> Self {
        self.connection = Some(value.into());
        self
    }
    /// Sets `error`.
    pub fn error(mut self, value: impl Into<String>) -> Self {
        self.error = Some(value.into());
        self
    }
    /// Sets `outcome`.
    pub fn outcome(mut self, value: impl Into<String>) -> Self {
        self.outcome = Some(value.into());
        self
    }
    /// Sets `kind`.
    pub fn kind(mut self, value: impl Into<String>) -> Self {
        self.kind = Some(value.into());
        self
    }
    /// Sets `fault`.
    pub fn fault(mut self, value: impl Into<String>) -> Self {
        self.fault = Some(value.into());
        self
    }
    /// Sets `denied`.
    pub fn denied(mut self, value: impl Into<bool>) -> Self {
        self.denied = Some(value.into());
        self
    }
    /// Sets `since`.
    pub fn since(mut self, value: impl Into<i64>) -> Self {
        self.since = Some(value.into());
        self
    }
    /// Sets `since_ms`.
    pub fn since_ms(mut self, value: impl Into<i64>) -> Self {
        self.since_ms = Some(value.into());
        self
    }
    /// Sets `bodies`.
    pub fn bodies(mut self, value: impl Into<bool>) -> Self {
        self.bodies = Some(value.into());
        self
    }
}

/// The parameters of `Admin::list_near_misses`; those that are not set are not sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ListNearMissesQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broker: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bodies: Option<bool>,
}

impl ListNearMissesQuery {
    /// Sets `api`.
    pub fn api(mut self, value: impl Into<String>) -> Self {
        self.api = Some(value.into());
        self
    }
    /// Sets `topic`.
    pub fn topic(mut self, value: impl Into<String>) -> Self {
        self.topic = Some(value.into());
        self
    }
    /// Sets `partition`.
    pub fn partition(mut self, value: impl Into<i64>) -> Self {
        self.partition = Some(value.into());
        self
    }
    /// Sets `group`.
    pub fn group(mut self, value: impl Into<String>) -> Self {
        self.group = Some(value.into());
        self
    }
    /// Sets `client_id`.
    pub fn client_id(mut self, value: impl Into<String>) -> Self {
        self.client_id = Some(value.into());
        self
    }
    /// Sets `user`.
    pub fn user(mut self, value: impl Into<String>) -> Self {
        self.user = Some(value.into());
        self
    }
    /// Sets `broker`.
    pub fn broker(mut self, value: impl Into<i64>) -> Self {
        self.broker = Some(value.into());
        self
    }
    /// Sets `connection`.
    pub fn connection(mut self, value: impl Into<i64>) -> Self {
        self.connection = Some(value.into());
        self
    }
    /// Sets `error`.
    pub fn error(mut self, value: impl Into<String>) -> Self {
        self.error = Some(value.into());
        self
    }
    /// Sets `outcome`.
    pub fn outcome(mut self, value: impl Into<String>) -> Self {
        self.outcome = Some(value.into());
        self
    }
    /// Sets `kind`.
    pub fn kind(mut self, value: impl Into<String>) -> Self {
        self.kind = Some(value.into());
        self
    }
    /// Sets `fault`.
    pub fn fault(mut self, value: impl Into<String>) -> Self {
        self.fault = Some(value.into());
        self
    }
    /// Sets `denied`.
    pub fn denied(mut self, value: impl Into<bool>) -> Self {
        self.denied = Some(value.into());
        self
    }
    /// Sets `since`.
    pub fn since(mut self, value: impl Into<i64>) -> Self {
        self.since = Some(value.into());
        self
    }
    /// Sets `since_ms`.
    pub fn since_ms(mut self, value: impl Into<i64>) -> Self {
        self.since_ms = Some(value.into());
        self
    }
    /// Sets `bodies`.
    pub fn bodies(mut self, value: impl Into<bool>) -> Self {
        self.bodies = Some(value.into());
        self
    }
}

/// The parameters of `Admin::export_pcap`; those that are not set are not sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExportPcapQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broker: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bodies: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secrets: Option<bool>,
}

impl ExportPcapQuery {
    /// Sets `api`.
    pub fn api(mut self, value: impl Into<String>) -> Self {
        self.api = Some(value.into());
        self
    }
    /// Sets `topic`.
    pub fn topic(mut self, value: impl Into<String>) -> Self {
        self.topic = Some(value.into());
        self
    }
    /// Sets `partition`.
    pub fn partition(mut self, value: impl Into<i64>) -> Self {
        self.partition = Some(value.into());
        self
    }
    /// Sets `group`.
    pub fn group(mut self, value: impl Into<String>) -> Self {
        self.group = Some(value.into());
        self
    }
    /// Sets `client_id`.
    pub fn client_id(mut self, value: impl Into<String>) -> Self {
        self.client_id = Some(value.into());
        self
    }
    /// Sets `user`.
    pub fn user(mut self, value: impl Into<String>) -> Self {
        self.user = Some(value.into());
        self
    }
    /// Sets `broker`.
    pub fn broker(mut self, value: impl Into<i64>) -> Self {
        self.broker = Some(value.into());
        self
    }
    /// Sets `connection`.
    pub fn connection(mut self, value: impl Into<i64>) -> Self {
        self.connection = Some(value.into());
        self
    }
    /// Sets `error`.
    pub fn error(mut self, value: impl Into<String>) -> Self {
        self.error = Some(value.into());
        self
    }
    /// Sets `outcome`.
    pub fn outcome(mut self, value: impl Into<String>) -> Self {
        self.outcome = Some(value.into());
        self
    }
    /// Sets `kind`.
    pub fn kind(mut self, value: impl Into<String>) -> Self {
        self.kind = Some(value.into());
        self
    }
    /// Sets `fault`.
    pub fn fault(mut self, value: impl Into<String>) -> Self {
        self.fault = Some(value.into());
        self
    }
    /// Sets `denied`.
    pub fn denied(mut self, value: impl Into<bool>) -> Self {
        self.denied = Some(value.into());
        self
    }
    /// Sets `since`.
    pub fn since(mut self, value: impl Into<i64>) -> Self {
        self.since = Some(value.into());
        self
    }
    /// Sets `since_ms`.
    pub fn since_ms(mut self, value: impl Into<i64>) -> Self {
        self.since_ms = Some(value.into());
        self
    }
    /// Sets `bodies`.
    pub fn bodies(mut self, value: impl Into<bool>) -> Self {
        self.bodies = Some(value.into());
        self
    }
    /// Sets `secrets`.
    pub fn secrets(mut self, value: impl Into<bool>) -> Self {
        self.secrets = Some(value.into());
        self
    }
}

/// The parameters of `Admin::wait_for_request`; those that are not set are not sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WaitForRequestQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broker: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bodies: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<i64>,
}

impl WaitForRequestQuery {
    /// Sets `api`.
    pub fn api(mut self, value: impl Into<String>) -> Self {
        self.api = Some(value.into());
        self
    }
    /// Sets `topic`.
    pub fn topic(mut self, value: impl Into<String>) -> Self {
        self.topic = Some(value.into());
        self
    }
    /// Sets `partition`.
    pub fn partition(mut self, value: impl Into<i64>) -> Self {
        self.partition = Some(value.into());
        self
    }
    /// Sets `group`.
    pub fn group(mut self, value: impl Into<String>) -> Self {
        self.group = Some(value.into());
        self
    }
    /// Sets `client_id`.
    pub fn client_id(mut self, value: impl Into<String>) -> Self {
        self.client_id = Some(value.into());
        self
    }
    /// Sets `user`.
    pub fn user(mut self, value: impl Into<String>) -> Self {
        self.user = Some(value.into());
        self
    }
    /// Sets `broker`.
    pub fn broker(mut self, value: impl Into<i64>) -> Self {
        self.broker = Some(value.into());
        self
    }
    /// Sets `connection`.
    pub fn connection(mut self, value: impl Into<i64>) -> Self {
        self.connection = Some(value.into());
        self
    }
    /// Sets `error`.
    pub fn error(mut self, value: impl Into<String>) -> Self {
        self.error = Some(value.into());
        self
    }
    /// Sets `outcome`.
    pub fn outcome(mut self, value: impl Into<String>) -> Self {
        self.outcome = Some(value.into());
        self
    }
    /// Sets `kind`.
    pub fn kind(mut self, value: impl Into<String>) -> Self {
        self.kind = Some(value.into());
        self
    }
    /// Sets `fault`.
    pub fn fault(mut self, value: impl Into<String>) -> Self {
        self.fault = Some(value.into());
        self
    }
    /// Sets `denied`.
    pub fn denied(mut self, value: impl Into<bool>) -> Self {
        self.denied = Some(value.into());
        self
    }
    /// Sets `since`.
    pub fn since(mut self, value: impl Into<i64>) -> Self {
        self.since = Some(value.into());
        self
    }
    /// Sets `since_ms`.
    pub fn since_ms(mut self, value: impl Into<i64>) -> Self {
        self.since_ms = Some(value.into());
        self
    }
    /// Sets `bodies`.
    pub fn bodies(mut self, value: impl Into<bool>) -> Self {
        self.bodies = Some(value.into());
        self
    }
    /// Sets `timeout_ms`.
    pub fn timeout_ms(mut self, value: impl Into<i64>) -> Self {
        self.timeout_ms = Some(value.into());
        self
    }
}

/// The parameters of `Admin::get_request`; those that are not set are not sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GetRequestQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secrets: Option<bool>,
}

impl GetRequestQuery {
    /// Sets `secrets`.
    pub fn secrets(mut self, value: impl Into<bool>) -> Self {
        self.secrets = Some(value.into());
        self
    }
}

/// The parameters of `Admin::search_groups`; those that are not set are not sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchGroupsQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

impl SearchGroupsQuery {
    /// Sets `search`.
    pub fn search(mut self, value: impl Into<String>) -> Self {
        self.search = Some(value.into());
        self
    }
    /// Sets `offset`.
    pub fn offset(mut self, value: impl Into<i64>) -> Self {
        self.offset = Some(value.into());
        self
    }
    /// Sets `limit`.
    pub fn limit(mut self, value: impl Into<i64>) -> Self {
        self.limit = Some(value.into());
        self
    }
    /// Sets `since`.
    pub fn since(mut self, value: impl Into<String>) -> Self {
        self.since = Some(value.into());
        self
    }
}

/// The parameters of `Admin::search_requests`; those that are not set are not sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchRequestsQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
}

impl SearchRequestsQuery {
    /// Sets `search`.
    pub fn search(mut self, value: impl Into<String>) -> Self {
        self.search = Some(value.into());
        self
    }
    /// Sets `offset`.
    pub fn offset(mut self, value: impl Into<i64>) -> Self {
        self.offset = Some(value.into());
        self
    }
    /// Sets `limit`.
    pub fn limit(mut self, value: impl Into<i64>) -> Self {
        self.limit = Some(value.into());
        self
    }
}

/// The parameters of `Admin::search_topics`; those that are not set are not sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchTopicsQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub internal: Option<bool>,
}

impl SearchTopicsQuery {
    /// Sets `search`.
    pub fn search(mut self, value: impl Into<String>) -> Self {
        self.search = Some(value.into());
        self
    }
    /// Sets `offset`.
    pub fn offset(mut self, value: impl Into<i64>) -> Self {
        self.offset = Some(value.into());
        self
    }
    /// Sets `limit`.
    pub fn limit(mut self, value: impl Into<i64>) -> Self {
        self.limit = Some(value.into());
        self
    }
    /// Sets `since`.
    pub fn since(mut self, value: impl Into<String>) -> Self {
        self.since = Some(value.into());
        self
    }
    /// Sets `internal`.
    pub fn internal(mut self, value: impl Into<bool>) -> Self {
        self.internal = Some(value.into());
        self
    }
}

/// The parameters of `Admin::get_snapshot`; those that are not set are not sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GetSnapshotQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batches: Option<bool>,
}

impl GetSnapshotQuery {
    /// Sets `records`.
    pub fn records(mut self, value: impl Into<bool>) -> Self {
        self.records = Some(value.into());
        self
    }
    /// Sets `batches`.
    pub fn batches(mut self, value: impl Into<bool>) -> Self {
        self.batches = Some(value.into());
        self
    }
}

/// The parameters of `Admin::put_snapshot`; those that are not set are not sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PutSnapshotQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_once: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<bool>,
}

impl PutSnapshotQuery {
    /// Sets `keep`.
    pub fn keep(mut self, value: impl Into<bool>) -> Self {
        self.keep = Some(value.into());
        self
    }
    /// Sets `at_once`.
    pub fn at_once(mut self, value: impl Into<bool>) -> Self {
        self.at_once = Some(value.into());
        self
    }
    /// Sets `cluster_id`.
    pub fn cluster_id(mut self, value: impl Into<bool>) -> Self {
        self.cluster_id = Some(value.into());
        self
    }
}

/// The parameters of `Admin::compact_topic`; those that are not set are not sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CompactTopicQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<i64>,
}

impl CompactTopicQuery {
    /// Sets `partition`.
    pub fn partition(mut self, value: impl Into<i64>) -> Self {
        self.partition = Some(value.into());
        self
    }
}

/// The parameters of `Admin::delete_topic_records`; those that are not set are not sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeleteTopicRecordsQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_offset: Option<i64>,
}

impl DeleteTopicRecordsQuery {
    /// Sets `partition`.
    pub fn partition(mut self, value: impl Into<i64>) -> Self {
        self.partition = Some(value.into());
        self
    }
    /// Sets `before_offset`.
    pub fn before_offset(mut self, value: impl Into<i64>) -> Self {
        self.before_offset = Some(value.into());
        self
    }
}

/// The parameters of `Admin::get_records`; those that are not set are not sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GetRecordsQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation_level: Option<String>,
}

impl GetRecordsQuery {
    /// Sets `partition`.
    pub fn partition(mut self, value: impl Into<i64>) -> Self {
        self.partition = Some(value.into());
        self
    }
    /// Sets `offset`.
    pub fn offset(mut self, value: impl Into<i64>) -> Self {
        self.offset = Some(value.into());
        self
    }
    /// Sets `timestamp`.
    pub fn timestamp(mut self, value: impl Into<i64>) -> Self {
        self.timestamp = Some(value.into());
        self
    }
    /// Sets `limit`.
    pub fn limit(mut self, value: impl Into<i64>) -> Self {
        self.limit = Some(value.into());
        self
    }
    /// Sets `encoding`.
    pub fn encoding(mut self, value: impl Into<String>) -> Self {
        self.encoding = Some(value.into());
        self
    }
    /// Sets `isolation_level`.
    pub fn isolation_level(mut self, value: impl Into<String>) -> Self {
        self.isolation_level = Some(value.into());
        self
    }
}

/// The parameters of `Admin::find_newest_records`; those that are not set are not sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FindNewestRecordsQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offsets: Option<String>,
}

impl FindNewestRecordsQuery {
    /// Sets `partition`.
    pub fn partition(mut self, value: impl Into<i64>) -> Self {
        self.partition = Some(value.into());
        self
    }
    /// Sets `contains`.
    pub fn contains(mut self, value: impl Into<String>) -> Self {
        self.contains = Some(value.into());
        self
    }
    /// Sets `within`.
    pub fn within(mut self, value: impl Into<String>) -> Self {
        self.within = Some(value.into());
        self
    }
    /// Sets `limit`.
    pub fn limit(mut self, value: impl Into<i64>) -> Self {
        self.limit = Some(value.into());
        self
    }
    /// Sets `encoding`.
    pub fn encoding(mut self, value: impl Into<String>) -> Self {
        self.encoding = Some(value.into());
        self
    }
    /// Sets `offsets`.
    pub fn offsets(mut self, value: impl Into<String>) -> Self {
        self.offsets = Some(value.into());
        self
    }
}

/// The parameters of `Admin::find_oldest_records`; those that are not set are not sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FindOldestRecordsQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offsets: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
}

impl FindOldestRecordsQuery {
    /// Sets `partition`.
    pub fn partition(mut self, value: impl Into<i64>) -> Self {
        self.partition = Some(value.into());
        self
    }
    /// Sets `contains`.
    pub fn contains(mut self, value: impl Into<String>) -> Self {
        self.contains = Some(value.into());
        self
    }
    /// Sets `within`.
    pub fn within(mut self, value: impl Into<String>) -> Self {
        self.within = Some(value.into());
        self
    }
    /// Sets `limit`.
    pub fn limit(mut self, value: impl Into<i64>) -> Self {
        self.limit = Some(value.into());
        self
    }
    /// Sets `encoding`.
    pub fn encoding(mut self, value: impl Into<String>) -> Self {
        self.encoding = Some(value.into());
        self
    }
    /// Sets `offsets`.
    pub fn offsets(mut self, value: impl Into<String>) -> Self {
        self.offsets = Some(value.into());
        self
    }
    /// Sets `offset`.
    pub fn offset(mut self, value: impl Into<i64>) -> Self {
        self.offset = Some(value.into());
        self
    }
    /// Sets `timestamp`.
    pub fn timestamp(mut self, value: impl Into<i64>) -> Self {
        self.timestamp = Some(value.into());
        self
    }
}

/// The parameters of `Admin::wait_for_records`; those that are not set are not sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WaitForRecordsQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation_level: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<i64>,
}

impl WaitForRecordsQuery {
    /// Sets `partition`.
    pub fn partition(mut self, value: impl Into<i64>) -> Self {
        self.partition = Some(value.into());
        self
    }
    /// Sets `offset`.
    pub fn offset(mut self, value: impl Into<i64>) -> Self {
        self.offset = Some(value.into());
        self
    }
    /// Sets `timestamp`.
    pub fn timestamp(mut self, value: impl Into<i64>) -> Self {
        self.timestamp = Some(value.into());
        self
    }
    /// Sets `limit`.
    pub fn limit(mut self, value: impl Into<i64>) -> Self {
        self.limit = Some(value.into());
        self
    }
    /// Sets `encoding`.
    pub fn encoding(mut self, value: impl Into<String>) -> Self {
        self.encoding = Some(value.into());
        self
    }
    /// Sets `isolation_level`.
    pub fn isolation_level(mut self, value: impl Into<String>) -> Self {
        self.isolation_level = Some(value.into());
        self
    }
    /// Sets `count`.
    pub fn count(mut self, value: impl Into<i64>) -> Self {
        self.count = Some(value.into());
        self
    }
    /// Sets `timeout_ms`.
    pub fn timeout_ms(mut self, value: impl Into<i64>) -> Self {
        self.timeout_ms = Some(value.into());
        self
    }
}

/// The operations of the port.
impl Admin {
    /// Return the health of the cluster; needs no token.
    ///
    /// It sends `GET /healthz`.
    pub fn get_health(&self) -> Result<HealthView> {
        self.send("GET", "/healthz", None::<&()>, None::<&()>)
    }

    /// Return the measurements of quotas in Prometheus' text format.
    ///
    /// It sends `GET /metrics`.
    pub fn get_metrics(&self) -> Result<Vec<u8>> {
        self.bytes("GET", "/metrics", Value::Null, Value::Null)
    }

    /// Remove the rules that fit, and return them; without a query all.
    ///
    /// Which rules: all set values must be those of the rule. With `pattern_type` MATCH it is a rule that applies to the
    /// resource of this name: also one with a prefix of it, or for any resource.
    ///
    /// It sends `DELETE /v1/acls`.
    pub fn remove_acls(&self, query: &RemoveAclsQuery) -> Result<Vec<AclBody>> {
        self.send("DELETE", "/v1/acls", Some(query), None::<&()>)
    }

    /// List the rules that fit, as DescribeAcls shows them; none without an authorizer.
    ///
    /// Which rules: all set values must be those of the rule. With `pattern_type` MATCH it is a rule that applies to the
    /// resource of this name: also one with a prefix of it, or for any resource.
    ///
    /// It sends `GET /v1/acls`.
    pub fn list_acls(&self, query: &ListAclsQuery) -> Result<Vec<AclBody>> {
        self.send("GET", "/v1/acls", Some(query), None::<&()>)
    }

    /// Add rules, all of them or none; they apply from the next request on.
    ///
    /// It sends `POST /v1/acls`.
    pub fn add_acls(&self, body: &AclsBody) -> Result<Vec<AclBody>> {
        self.send("POST", "/v1/acls", None::<&()>, Some(body))
    }

    /// List what a principal may do with a resource, and why.
    ///
    /// Who would do something from which host, and with which resource. Without `operation` all operations of the type of
    /// resource.
    ///
    /// It sends `GET /v1/acls/decisions`.
    pub fn list_decisions(&self, query: &ListDecisionsQuery) -> Result<Vec<DecisionView>> {
        self.send("GET", "/v1/acls/decisions", Some(query), None::<&()>)
    }

    /// Compare the acknowledgements that were sent with the logs.
    ///
    /// Needs `audit.enable=true` from the start. A reset clears the record.
    ///
    /// It sends `GET /v1/audit`.
    pub fn get_audit(&self) -> Result<AuditView> {
        self.send("GET", "/v1/audit", None::<&()>, None::<&()>)
    }

    /// List all brokers with their state.
    ///
    /// It sends `GET /v1/brokers`.
    pub fn list_brokers(&self) -> Result<Vec<BrokerView>> {
        self.send("GET", "/v1/brokers", None::<&()>, None::<&()>)
    }

    /// Add a broker on a new port; it leads new partitions and those that are moved to it.
    ///
    /// A broker that was decommissioned comes back on its port.
    ///
    /// It sends `POST /v1/brokers`.
    pub fn add_broker(&self, body: &NewBrokerBody) -> Result<BrokerView> {
        self.send("POST", "/v1/brokers", None::<&()>, Some(body))
    }

    /// Stop a broker and unregister it: leaders move, and Metadata no longer lists it.
    ///
    /// Partitions keep it as an offline replica until they are moved. A reset brings it back.
    ///
    /// It sends `DELETE /v1/brokers/{node_id}`.
    pub fn decommission_broker(&self, node_id: i64) -> Result<()> {
        self.send("DELETE", &format!("/v1/brokers/{}", node_id), None::<&()>, None::<&()>)
    }

    /// Advertise another address, such as the mapped port of a container.
    ///
    /// Responses have it from now on, also after a reset. The broker listens where it did.
    ///
    /// It sends `PUT /v1/brokers/{node_id}/advertised`.
    pub fn advertise_address(&self, node_id: i64, body: &AdvertisedBody) -> Result<BrokerView> {
        self.send("PUT", &format!("/v1/brokers/{}/advertised", node_id), None::<&()>, Some(body))
    }

    /// Fence a broker: it leaves Metadata and leads nothing; its connections stay.
    ///
    /// It sends `POST /v1/brokers/{node_id}/fence`.
    pub fn fence_broker(&self, node_id: i64) -> Result<BrokerView> {
        self.send("POST", &format!("/v1/brokers/{}/fence", node_id), None::<&()>, None::<&()>)
    }

    /// Isolate a broker from its clients: connections stay open, nothing passes through them.
    ///
    /// It sends `POST /v1/brokers/{node_id}/isolate`.
    pub fn isolate_broker(&self, node_id: i64, body: &CutBody) -> Result<BrokerView> {
        self.send("POST", &format!("/v1/brokers/{}/isolate", node_id), None::<&()>, Some(body))
    }

    /// Start a broker again on its port; it leads only partitions that have no leader.
    ///
    /// `config` changes the start keys of this broker alone, as an upgrade does.
    ///
    /// It sends `POST /v1/brokers/{node_id}/start`.
    pub fn start_broker(&self, node_id: i64, body: &StartBody) -> Result<BrokerView> {
        self.send("POST", &format!("/v1/brokers/{}/start", node_id), None::<&()>, Some(body))
    }

    /// Stop a broker: its connections are cut and new ones refused; no record is lost.
    ///
    /// With `controller.mutation.time.us` the election waits for topic requests in the controller's queue. Until then the
    /// broker is alive and leads.
    ///
    /// It sends `POST /v1/brokers/{node_id}/stop`.
    pub fn stop_broker(&self, node_id: i64, body: &StopBody) -> Result<BrokerView> {
        self.send("POST", &format!("/v1/brokers/{}/stop", node_id), None::<&()>, Some(body))
    }

    /// Return the time.
    ///
    /// It sends `GET /v1/clock`.
    pub fn get_clock(&self) -> Result<ClockView> {
        self.send("GET", "/v1/clock", None::<&()>, None::<&()>)
    }

    /// Set the mode of the clock: real, scaled or standing.
    ///
    /// It sends `PUT /v1/clock`.
    pub fn put_clock(&self, body: &ClockBody) -> Result<ClockView> {
        self.send("PUT", "/v1/clock", None::<&()>, Some(body))
    }

    /// Move the clock forward, in any mode.
    ///
    /// Before the response, everything that becomes due happens in order: mutes end, ids and offsets expire, group
    /// timeouts fire, delayed responses are sent.
    ///
    /// It sends `POST /v1/clock/advance`.
    pub fn advance_clock(&self, body: &AdvanceBody) -> Result<ClockView> {
        self.send("POST", "/v1/clock/advance", None::<&()>, Some(body))
    }

    /// List the keys that were set, and whether they have an effect.
    ///
    /// Only the keys with one effect, and no more than `limit`.
    ///
    /// It sends `GET /v1/configs`.
    pub fn list_set_configs(&self, query: &ListSetConfigsQuery) -> Result<Vec<ConfigView>> {
        self.send("GET", "/v1/configs", Some(query), None::<&()>)
    }

    /// List all connections, with the time until which a quota mutes them.
    ///
    /// It sends `GET /v1/connections`.
    pub fn list_connections(&self) -> Result<Vec<ConnectionView>> {
        self.send("GET", "/v1/connections", None::<&()>, None::<&()>)
    }

    /// Close a connection; requests without a response stay without one.
    ///
    /// It sends `DELETE /v1/connections/{connection}`.
    pub fn cut_connection(&self, connection: i64) -> Result<()> {
        self.send("DELETE", &format!("/v1/connections/{}", connection), None::<&()>, None::<&()>)
    }

    /// Show the controller's queue: requests for topics and partitions, and elections.
    ///
    /// It sends `GET /v1/controller`.
    pub fn get_controller(&self) -> Result<ControllerView> {
        self.send("GET", "/v1/controller", None::<&()>, None::<&()>)
    }

    /// Remove all rules; responses that they delay stay delayed, requests that they hold go on.
    ///
    /// It sends `DELETE /v1/faults`.
    pub fn clear_faults(&self) -> Result<()> {
        self.send("DELETE", "/v1/faults", None::<&()>, None::<&()>)
    }

    /// List all rules in the order in which they are evaluated, including those used up.
    ///
    /// It sends `GET /v1/faults`.
    pub fn list_faults(&self) -> Result<Vec<FaultView>> {
        self.send("GET", "/v1/faults", None::<&()>, None::<&()>)
    }

    /// Add a rule after all others, or all rules of a list.
    ///
    /// If one rule of a list is refused, none is added. The body has the form of the file of `mock-kafka serve --faults
    /// FILE`. It may also be the response of `GET /v1/faults`, whose ids and counts are ignored: the rules begin again.
    ///
    /// It sends `POST /v1/faults`.
    pub fn add_faults(&self, body: &Value) -> Result<Value> {
        self.send("POST", "/v1/faults", None::<&()>, Some(body))
    }

    /// Remove a rule; responses that it delays stay delayed, requests that it holds go on.
    ///
    /// It sends `DELETE /v1/faults/{id}`.
    pub fn remove_fault(&self, id: i64) -> Result<()> {
        self.send("DELETE", &format!("/v1/faults/{}", id), None::<&()>, None::<&()>)
    }

    /// List why a rule does not fire, and the requests that come nearest to its conditions.
    ///
    /// Requests on which it fired are left out. A Fetch names only what has changed in its session.
    ///
    /// It sends `GET /v1/faults/{id}/near-misses`.
    pub fn list_near_misses_of_fault(&self, id: i64) -> Result<NearMissesView> {
        self.send("GET", &format!("/v1/faults/{}/near-misses", id), None::<&()>, None::<&()>)
    }

    /// Have requests that a rule holds go on, the oldest first.
    ///
    /// Without `count` all go on, and the rule holds no others. What the requests do, and their responses, are there
    /// before this returns.
    ///
    /// It sends `POST /v1/faults/{id}/release`.
    pub fn release_held(&self, id: i64, body: &ReleaseBody) -> Result<FaultView> {
        self.send("POST", &format!("/v1/faults/{}/release", id), None::<&()>, Some(body))
    }

    /// Return the rule when it has fired, and holds requests, as often as the query says.
    ///
    /// After the timeout 408 with the reasons, and the requests that come nearest to its conditions. What to wait for,
    /// and how long, in ms of real time.
    ///
    /// It sends `GET /v1/faults/{id}/wait`.
    pub fn wait_for_fault(&self, id: i64, query: &WaitForFaultQuery) -> Result<FaultView> {
        self.send("GET", &format!("/v1/faults/{}/wait", id), Some(query), None::<&()>)
    }

    /// List groups of all types with their members, offsets and share partitions.
    ///
    /// It sends `GET /v1/groups`.
    pub fn list_groups(&self) -> Result<Vec<GroupView>> {
        self.send("GET", "/v1/groups", None::<&()>, None::<&()>)
    }

    /// Delete a group that has no members, with its offsets.
    ///
    /// It sends `DELETE /v1/groups/{group_id}`.
    pub fn delete_group(&self, group_id: &str) -> Result<()> {
        self.send(
            "DELETE",
            &format!("/v1/groups/{}", utf8_percent_encode(group_id, NON_ALPHANUMERIC)),
            None::<&()>,
            None::<&()>,
        )
    }

    /// Return one group.
    ///
    /// It sends `GET /v1/groups/{group_id}`.
    pub fn get_group(&self, group_id: &str) -> Result<GroupView> {
        self.send(
            "GET",
            &format!("/v1/groups/{}", utf8_percent_encode(group_id, NON_ALPHANUMERIC)),
            None::<&()>,
            None::<&()>,
        )
    }

    /// Set the target assignment of a group of the consumer protocol.
    ///
    /// A new epoch begins with it, and heartbeats move the members towards it: they first revoke, then they get what is
    /// free. Members and partitions that it does not name get nothing and stay unassigned. The assignor assigns again in
    /// the next epoch: when a member joins, leaves or subscribes to other topics, when a subscribed topic changes, or
    /// after `POST /v1/groups/{group_id}/rebalance`.
    ///
    /// It sends `PUT /v1/groups/{group_id}/assignment`.
    pub fn put_assignment(&self, group_id: &str, body: &AssignmentBody) -> Result<()> {
        self.send(
            "PUT",
            &format!("/v1/groups/{}/assignment", utf8_percent_encode(group_id, NON_ALPHANUMERIC)),
            None::<&()>,
            Some(body),
        )
    }

    /// Move a group or transactional id to a coordinator.
    ///
    /// It becomes the leader of the partitions of `__consumer_offsets` and `__transaction_state` that the id belongs to,
    /// so all groups and transactional ids of these partitions move.
    ///
    /// It sends `PUT /v1/groups/{group_id}/coordinator`.
    pub fn put_coordinator(&self, group_id: &str, body: &CoordinatorBody) -> Result<()> {
        self.send(
            "PUT",
            &format!("/v1/groups/{}/coordinator", utf8_percent_encode(group_id, NON_ALPHANUMERIC)),
            None::<&()>,
            Some(body),
        )
    }

    /// Remove a member, as its coordinator does when its session has expired.
    ///
    /// Its next request gets UNKNOWN_MEMBER_ID, and the other members get its partitions. Records that a member of a
    /// share group has acquired stay acquired until their locks expire.
    ///
    /// It sends `POST /v1/groups/{group_id}/members/{member}/fence`.
    pub fn fence_member(&self, group_id: &str, member: &str) -> Result<()> {
        self.send(
            "POST",
            &format!(
                "/v1/groups/{}/members/{}/fence",
                utf8_percent_encode(group_id, NON_ALPHANUMERIC),
                utf8_percent_encode(member, NON_ALPHANUMERIC)
            ),
            None::<&()>,
            None::<&()>,
        )
    }

    /// List what a group has committed, and its lag.
    ///
    /// It has all partitions of the topics that the group has committed or subscribes to; of a share group those that
    /// have a state, with their start offsets.
    ///
    /// It sends `GET /v1/groups/{group_id}/offsets`.
    pub fn list_group_offsets(&self, group_id: &str) -> Result<Vec<GroupOffsetView>> {
        self.send(
            "GET",
            &format!("/v1/groups/{}/offsets", utf8_percent_encode(group_id, NON_ALPHANUMERIC)),
            None::<&()>,
            None::<&()>,
        )
    }

    /// Set the committed offsets of a group without members; return all of them.
    ///
    /// A share group begins there, and what was acknowledged is forgotten. An offset that is outside of a log becomes the
    /// nearest one in it.
    ///
    /// It sends `PUT /v1/groups/{group_id}/offsets`.
    pub fn reset_group_offsets(&self, group_id: &str, body: &OffsetsBody) -> Result<Vec<GroupOffsetView>> {
        self.send(
            "PUT",
            &format!("/v1/groups/{}/offsets", utf8_percent_encode(group_id, NON_ALPHANUMERIC)),
            None::<&()>,
            Some(body),
        )
    }

    /// Begin a rebalance: a new epoch, or in a classic group a new generation.
    ///
    /// Members of a classic group join again. In other groups the next heartbeat of a member computes the target
    /// assignment again, also after a manual one.
    ///
    /// It sends `POST /v1/groups/{group_id}/rebalance`.
    pub fn rebalance_group(&self, group_id: &str) -> Result<()> {
        self.send(
            "POST",
            &format!("/v1/groups/{}/rebalance", utf8_percent_encode(group_id, NON_ALPHANUMERIC)),
            None::<&()>,
            None::<&()>,
        )
    }

    /// Return a group as soon as it is stable and has members, or null after the timeout.
    ///
    /// Every member then has its target assignment. With `members` the group must have this many. The group need not
    /// exist yet. How many members the group must have, and how long to wait, in ms of real time.
    ///
    /// It sends `GET /v1/groups/{group_id}/stable`.
    pub fn wait_for_stable_group(
        &self,
        group_id: &str,
        query: &WaitForStableGroupQuery,
    ) -> Result<Option<GroupView>> {
        self.send(
            "GET",
            &format!("/v1/groups/{}/stable", utf8_percent_encode(group_id, NON_ALPHANUMERIC)),
            Some(query),
            None::<&()>,
        )
    }

    /// List the producer id filters of users with a quota, and the age of their layers.
    ///
    /// It sends `GET /v1/producer-id-filters`.
    pub fn list_filters(&self) -> Result<Vec<FilterView>> {
        self.send("GET", "/v1/producer-id-filters", None::<&()>, None::<&()>)
    }

    /// Return the state of idempotent producers by partition, and its memory.
    ///
    /// The partitions, and the number of producers of each.
    ///
    /// It sends `GET /v1/producers`.
    pub fn list_producers(&self, query: &ListProducersQuery) -> Result<ProducersView> {
        self.send("GET", "/v1/producers", Some(query), None::<&()>)
    }

    /// Remove all quotas.
    ///
    /// It sends `DELETE /v1/quotas`.
    pub fn delete_quotas(&self) -> Result<()> {
        self.send("DELETE", "/v1/quotas", None::<&()>, None::<&()>)
    }

    /// List the quotas, as DescribeClientQuotas shows them.
    ///
    /// It sends `GET /v1/quotas`.
    pub fn list_quotas(&self) -> Result<Vec<QuotaView>> {
        self.send("GET", "/v1/quotas", None::<&()>, None::<&()>)
    }

    /// Set or remove quotas of one entity, all of them or none; they apply at once.
    ///
    /// It sends `PUT /v1/quotas`.
    pub fn put_quotas(&self, body: &QuotaBody) -> Result<Vec<QuotaView>> {
        self.send("PUT", "/v1/quotas", None::<&()>, Some(body))
    }

    /// List the rates, tokens and throttle times of recently measured clients.
    ///
    /// A measurement without a tag `broker-id` is of the whole cluster.
    ///
    /// It sends `GET /v1/quotas/live`.
    pub fn list_measurements(&self) -> Result<Vec<MeasurementView>> {
        self.send("GET", "/v1/quotas/live", None::<&()>, None::<&()>)
    }

    /// Clear the report of quotas in shadow mode; the quotas stay.
    ///
    /// It sends `DELETE /v1/quotas/shadow`.
    pub fn clear_shadow_report(&self) -> Result<()> {
        self.send("DELETE", "/v1/quotas/shadow", None::<&()>, None::<&()>)
    }

    /// List the clients that quotas in shadow mode would have throttled or refused.
    ///
    /// The list has clients that exceeded such a quota within the last hour.
    ///
    /// It sends `GET /v1/quotas/shadow`.
    pub fn list_shadow_report(&self) -> Result<Vec<ShadowView>> {
        self.send("GET", "/v1/quotas/shadow", None::<&()>, None::<&()>)
    }

    /// Remove all lines; numbers go on.
    ///
    /// It sends `DELETE /v1/requests`.
    pub fn clear_requests(&self) -> Result<()> {
        self.send("DELETE", "/v1/requests", None::<&()>, None::<&()>)
    }

    /// List the newest requests, refused or delayed connections and disconnects that fit.
    ///
    /// Which lines: all set values must fit. APIs and errors in any case, with or without `_`. `since` is the number of
    /// the last line already seen, `since_ms` a time of the broker's clock. With `topic` too, `partition` is one of that
    /// topic. The newest lines that fit, at most `limit`. `fields` are the fields of a request to list, separated by
    /// commas; it decides instead of `bodies`. A message is decoded only for a field that needs it.
    ///
    /// It sends `GET /v1/requests`.
    pub fn list_requests(&self, query: &ListRequestsQuery) -> Result<Vec<RequestView>> {
        self.send("GET", "/v1/requests", Some(query), None::<&()>)
    }

    /// Stream new and changed lines as server-sent events, named by their kind.
    ///
    /// A request whose response comes later is sent twice: on arrival and with its response. With `since` the stream
    /// begins with the lines in the journal. A client that reads too slowly gets an event `lost` with the number of
    /// lines. Which lines: all set values must fit. APIs and errors in any case, with or without `_`. `since` is the
    /// number of the last line already seen, `since_ms` a time of the broker's clock. With `topic` too, `partition` is
    /// one of that topic. As for all lines; with `interval_ms` at least so many ms pass between two parts. Each part then
    /// has the newest events, at most 40, and the older ones are lost: so a follower costs a busy cluster little.
    ///
    /// It sends `GET /v1/requests/events`.
    pub fn follow_requests(&self, query: &FollowRequestsQuery) -> Result<Box<dyn Read>> {
        Ok(Box::new(self.open("GET", "/v1/requests/events", json!(query), Value::Null)?.into_reader()))
    }

    /// Export all lines that fit, as one JSON document per line.
    ///
    /// Which lines: all set values must fit. APIs and errors in any case, with or without `_`. `since` is the number of
    /// the last line already seen, `since_ms` a time of the broker's clock. With `topic` too, `partition` is one of that
    /// topic.
    ///
    /// It sends `GET /v1/requests/export`.
    pub fn export_requests(&self, query: &ExportRequestsQuery) -> Result<Vec<u8>> {
        self.bytes("GET", "/v1/requests/export", json!(query), Value::Null)
    }

    /// List the requests that come nearest to a query, and the fields in which they differ.
    ///
    /// Requests that fit the query are left out. `bodies` has no effect. Which lines: all set values must fit. APIs and
    /// errors in any case, with or without `_`. `since` is the number of the last line already seen, `since_ms` a time of
    /// the broker's clock. With `topic` too, `partition` is one of that topic.
    ///
    /// It sends `GET /v1/requests/near-misses`.
    pub fn list_near_misses(&self, query: &ListNearMissesQuery) -> Result<NearMissesView> {
        self.send("GET", "/v1/requests/near-misses", Some(query), None::<&()>)
    }

    /// Export all requests that fit and their responses as a packet capture for Wireshark.
    ///
    /// The packets are made up around the frames: TCP between 10.1.x.y, one per connection, and port 9092 of 10.0.0.N,
    /// the broker N. Without `secrets` it leaves out requests that may have passwords or tokens, and those whose frame
    /// the journal has not kept. Which lines: all set values must fit. APIs and errors in any case, with or without `_`.
    /// `since` is the number of the last line already seen, `since_ms` a time of the broker's clock. With `topic` too,
    /// `partition` is one of that topic. With `secrets` also the frames of APIs that may have passwords or tokens.
    ///
    /// It sends `GET /v1/requests/pcap`.
    pub fn export_pcap(&self, query: &ExportPcapQuery) -> Result<Vec<u8>> {
        self.bytes("GET", "/v1/requests/pcap", json!(query), Value::Null)
    }

    /// Return the size of the journal and the number of the newest line.
    ///
    /// It sends `GET /v1/requests/status`.
    pub fn get_journal(&self) -> Result<JournalStatus> {
        self.send("GET", "/v1/requests/status", None::<&()>, None::<&()>)
    }

    /// Return the first line that fits: an existing one, or the next new or changed one.
    ///
    /// A request fits as soon as it is received; use `outcome=responded` to wait for its response. After the timeout 408
    /// with the requests that come nearest. Which lines: all set values must fit. APIs and errors in any case, with or
    /// without `_`. `since` is the number of the last line already seen, `since_ms` a time of the broker's clock. With
    /// `topic` too, `partition` is one of that topic. How long to wait, in ms of real time.
    ///
    /// It sends `GET /v1/requests/wait`.
    pub fn wait_for_request(&self, query: &WaitForRequestQuery) -> Result<RequestView> {
        self.send("GET", "/v1/requests/wait", Some(query), None::<&()>)
    }

    /// Return one line; a request with its decoded messages and with its frames in hex.
    ///
    /// `request_hex` and `response_hex` begin with the size of the frame. They are null if the journal has not kept the
    /// frame, or if it may have secrets and the query does not ask for them. With `secrets` also the frames of APIs that
    /// may have passwords or tokens.
    ///
    /// It sends `GET /v1/requests/{number}`.
    pub fn get_request(&self, number: i64, query: &GetRequestQuery) -> Result<RequestView> {
        self.send("GET", &format!("/v1/requests/{}", number), Some(query), None::<&()>)
    }

    /// Reset the cluster to the state in which it was started.
    ///
    /// This covers topics, groups, producers, quotas, configurations, users, faults, the journal, the clock and the
    /// brokers. All connections are closed. A snapshot that was loaded with `keep` is loaded again. With new ports,
    /// clients from before get refused connections instead of reaching the cluster again; `/v1/brokers` has the
    /// addresses. The cluster must have been started with free ports.
    ///
    /// It sends `POST /v1/reset`.
    pub fn reset(&self, body: &ResetBody) -> Result<()> {
        self.send("POST", "/v1/reset", None::<&()>, Some(body))
    }

    /// Return a schema that the registry at `broker.schema.registry.url` has.
    ///
    /// The registry is asked once for each schema. If it does not answer, the status is 502.
    ///
    /// It sends `GET /v1/schemas/{schema_id}`.
    pub fn get_schema(&self, schema_id: i64) -> Result<SchemaView> {
        self.send("GET", &format!("/v1/schemas/{}", schema_id), None::<&()>, None::<&()>)
    }

    /// Search groups of all types by their ids.
    ///
    /// What to look for: every word of `search` must occur, in any case; "" finds everything. The page has at most
    /// `limit` results, from the one at `offset` on. With the `version` of a response to the same search, only what has
    /// changed since.
    ///
    /// It sends `GET /v1/search/groups`.
    pub fn search_groups(&self, query: &SearchGroupsQuery) -> Result<GroupsPage> {
        self.send("GET", "/v1/search/groups", Some(query), None::<&()>)
    }

    /// Search the journal by API, client, user, topics, groups, errors, outcome and fault rule.
    ///
    /// What to look for: every word of `search` must occur, in any case; "" finds everything. The page has at most
    /// `limit` results, from the one at `offset` on.
    ///
    /// It sends `GET /v1/search/requests`.
    pub fn search_requests(&self, query: &SearchRequestsQuery) -> Result<RequestsPage> {
        self.send("GET", "/v1/search/requests", Some(query), None::<&()>)
    }

    /// Search topics by their names.
    ///
    /// What to look for: every word of `search` must occur, in any case; "" finds everything. The page has at most
    /// `limit` results, from the one at `offset` on. With the `version` of a response to the same search, only what has
    /// changed since. As for all searches; `internal` topics, such as `__consumer_offsets`, only if it is set.
    ///
    /// It sends `GET /v1/search/topics`.
    pub fn search_topics(&self, query: &SearchTopicsQuery) -> Result<TopicsPage> {
        self.send("GET", "/v1/search/topics", Some(query), None::<&()>)
    }

    /// Return the state of the cluster as one document, which `PUT /v1/snapshot` loads.
    ///
    /// It is that of one moment. Records of committed transactions are plain records. Used-up fault rules, secrets and
    /// the records of internal topics are left out. Whether the document has the records, and whether it has all of them
    /// as stored batches. With `batches` nothing of a batch is lost: who produced it, its compression, what it is with.
    ///
    /// It sends `GET /v1/snapshot`.
    pub fn get_snapshot(&self, query: &GetSnapshotQuery) -> Result<Snapshot> {
        self.send("GET", "/v1/snapshot", Some(query), None::<&()>)
    }

    /// Reset the cluster, and load a document.
    ///
    /// Connections are closed as by a reset; requests of new ones wait until the document is loaded. The timestamps of
    /// records are kept, so retention applies to them. Fault rules begin again. If one acts at once, as one that stops a
    /// broker may, nothing is changed without `at_once`: the response names what the rules would do. With `keep` a reset
    /// loads the document again, as if the cluster had been started with it. `at_once` allows fault rules that act at
    /// once. With `cluster_id` the cluster has the id of the document, until the next reset.
    ///
    /// It sends `PUT /v1/snapshot`.
    pub fn put_snapshot(&self, body: &Snapshot, query: &PutSnapshotQuery) -> Result<()> {
        self.send("PUT", "/v1/snapshot", Some(query), Some(body))
    }

    /// List all topics with partitions, leaders and offsets.
    ///
    /// It sends `GET /v1/topics`.
    pub fn list_topics(&self) -> Result<Vec<TopicView>> {
        self.send("GET", "/v1/topics", None::<&()>, None::<&()>)
    }

    /// Create a topic; no quota is charged.
    ///
    /// It makes the checks of CreateTopics, with the same messages.
    ///
    /// It sends `POST /v1/topics`.
    pub fn create_topic(&self, body: &NewTopicBody) -> Result<TopicView> {
        self.send("POST", "/v1/topics", None::<&()>, Some(body))
    }

    /// Delete a topic with its records, whatever `delete.topic.enable` says.
    ///
    /// It sends `DELETE /v1/topics/{name}`.
    pub fn delete_topic(&self, name: &str) -> Result<()> {
        self.send(
            "DELETE",
            &format!("/v1/topics/{}", utf8_percent_encode(name, NON_ALPHANUMERIC)),
            None::<&()>,
            None::<&()>,
        )
    }

    /// Return one topic.
    ///
    /// It sends `GET /v1/topics/{name}`.
    pub fn get_topic(&self, name: &str) -> Result<TopicView> {
        self.send(
            "GET",
            &format!("/v1/topics/{}", utf8_percent_encode(name, NON_ALPHANUMERIC)),
            None::<&()>,
            None::<&()>,
        )
    }

    /// Compact a topic now, as Kafka's log cleaner would with the active segment rolled.
    ///
    /// The log need not be dirty. Records that `min.compaction.lag.ms` protects, and those behind the last stable offset,
    /// stay; a tombstone goes `delete.retention.ms` after its first compaction. The partition to compact; all without it.
    ///
    /// It sends `POST /v1/topics/{name}/compact`.
    pub fn compact_topic(&self, name: &str, query: &CompactTopicQuery) -> Result<Vec<CompactedView>> {
        self.send(
            "POST",
            &format!("/v1/topics/{}/compact", utf8_percent_encode(name, NON_ALPHANUMERIC)),
            Some(query),
            None::<&()>,
        )
    }

    /// List every key of a topic with its value and source, as DescribeConfigs does.
    ///
    /// It sends `GET /v1/topics/{name}/config`.
    pub fn list_topic_configs(&self, name: &str) -> Result<Vec<TopicConfigView>> {
        self.send(
            "GET",
            &format!("/v1/topics/{}/config", utf8_percent_encode(name, NON_ALPHANUMERIC)),
            None::<&()>,
            None::<&()>,
        )
    }

    /// Set or remove keys of a topic, all or none, as IncrementalAlterConfigs does.
    ///
    /// It sends `PATCH /v1/topics/{name}/config`.
    pub fn alter_topic_config(&self, name: &str, body: &TopicConfigBody) -> Result<Vec<TopicConfigView>> {
        self.send(
            "PATCH",
            &format!("/v1/topics/{}/config", utf8_percent_encode(name, NON_ALPHANUMERIC)),
            None::<&()>,
            Some(body),
        )
    }

    /// Append the marker of a transaction that has no records in the partition.
    ///
    /// The last offset of the log is then none of a record.
    ///
    /// It sends `POST /v1/topics/{name}/partitions/{partition}/control-records`.
    pub fn append_control_record(
        &self,
        name: &str,
        partition: i64,
        body: &ControlRecordBody,
    ) -> Result<PartitionView> {
        self.send(
            "POST",
            &format!(
                "/v1/topics/{}/partitions/{}/control-records",
                utf8_percent_encode(name, NON_ALPHANUMERIC),
                partition
            ),
            None::<&()>,
            Some(body),
        )
    }

    /// Have a follower fetch nothing more from the leader, while its broker is up.
    ///
    /// It leaves the ISR at once, and its log ends where it is. With unclean.leader.election.enable it can lead, without
    /// what it has not fetched.
    ///
    /// It sends `POST /v1/topics/{name}/partitions/{partition}/followers/{node_id}/pause`.
    pub fn pause_partition_follower(
        &self,
        name: &str,
        partition: i64,
        node_id: i64,
    ) -> Result<PartitionView> {
        self.send(
            "POST",
            &format!(
                "/v1/topics/{}/partitions/{}/followers/{}/pause",
                utf8_percent_encode(name, NON_ALPHANUMERIC),
                partition,
                node_id
            ),
            None::<&()>,
            None::<&()>,
        )
    }

    /// Have a paused follower fetch again: it catches up at once, and is in sync.
    ///
    /// It sends `POST /v1/topics/{name}/partitions/{partition}/followers/{node_id}/resume`.
    pub fn resume_partition_follower(
        &self,
        name: &str,
        partition: i64,
        node_id: i64,
    ) -> Result<PartitionView> {
        self.send(
            "POST",
            &format!(
                "/v1/topics/{}/partitions/{}/followers/{}/resume",
                utf8_percent_encode(name, NON_ALPHANUMERIC),
                partition,
                node_id
            ),
            None::<&()>,
            None::<&()>,
        )
    }

    /// Leave offsets without records at the end of a log, as compaction does.
    ///
    /// The last of them has an empty batch, the others have none.
    ///
    /// It sends `POST /v1/topics/{name}/partitions/{partition}/gap`.
    pub fn leave_partition_gap(&self, name: &str, partition: i64, body: &GapBody) -> Result<PartitionView> {
        self.send(
            "POST",
            &format!(
                "/v1/topics/{}/partitions/{}/gap",
                utf8_percent_encode(name, NON_ALPHANUMERIC),
                partition
            ),
            None::<&()>,
            Some(body),
        )
    }

    /// Move the leadership of a partition to a broker, or leave it without a leader.
    ///
    /// A broker that is no replica becomes one. The old leader returns NOT_LEADER_OR_FOLLOWER.
    ///
    /// It sends `PUT /v1/topics/{name}/partitions/{partition}/leader`.
    pub fn put_leader(&self, name: &str, partition: i64, body: &LeaderBody) -> Result<PartitionView> {
        self.send(
            "PUT",
            &format!(
                "/v1/topics/{}/partitions/{}/leader",
                utf8_percent_encode(name, NON_ALPHANUMERIC),
                partition
            ),
            None::<&()>,
            Some(body),
        )
    }

    /// Have the log of a partition lose its end, as by an unclean election.
    ///
    /// All replicas lose it. The leader stays, in a new epoch, and has the producer state of what is left. A batch is cut
    /// at the offset.
    ///
    /// It sends `POST /v1/topics/{name}/partitions/{partition}/truncate`.
    pub fn truncate_partition(
        &self,
        name: &str,
        partition: i64,
        body: &TruncateBody,
    ) -> Result<PartitionView> {
        self.send(
            "POST",
            &format!(
                "/v1/topics/{}/partitions/{}/truncate",
                utf8_percent_encode(name, NON_ALPHANUMERIC),
                partition
            ),
            None::<&()>,
            Some(body),
        )
    }

    /// Delete records from the start of the logs on; return the partitions afterwards.
    ///
    /// It makes the checks of DeleteRecords: topics that are internal or only compacted keep theirs. The records to
    /// delete: of one partition or of all, those before an offset or all.
    ///
    /// It sends `DELETE /v1/topics/{name}/records`.
    pub fn delete_topic_records(
        &self,
        name: &str,
        query: &DeleteTopicRecordsQuery,
    ) -> Result<Vec<PartitionView>> {
        self.send(
            "DELETE",
            &format!("/v1/topics/{}/records", utf8_percent_encode(name, NON_ALPHANUMERIC)),
            Some(query),
            None::<&()>,
        )
    }

    /// Return records without a consumer.
    ///
    /// The response ends after `limit` records or 16 MiB; continue at `next_offsets`. The records to return: from
    /// `offset` on, of one partition or of all. With `timestamp`, in ms since the epoch, those of each partition from the
    /// first one on that has this timestamp or a later one, and is not before `offset`. `read_committed` omits those of
    /// aborted transactions, and all from the first open transaction of a partition on.
    ///
    /// It sends `GET /v1/topics/{name}/records`.
    pub fn get_records(&self, name: &str, query: &GetRecordsQuery) -> Result<RecordsView> {
        self.send(
            "GET",
            &format!("/v1/topics/{}/records", utf8_percent_encode(name, NON_ALPHANUMERIC)),
            Some(query),
            None::<&()>,
        )
    }

    /// Store records, as a producer with acks=all does; return where they are.
    ///
    /// A missing topic is created if `auto.create.topics.enable` allows it. No quota is charged, and no fault rule fires.
    /// If one of the records is refused, none is stored.
    ///
    /// It sends `POST /v1/topics/{name}/records`.
    pub fn produce_records(&self, name: &str, body: &RecordsBody) -> Result<Vec<ProducedView>> {
        self.send(
            "POST",
            &format!("/v1/topics/{}/records", utf8_percent_encode(name, NON_ALPHANUMERIC)),
            None::<&()>,
            Some(body),
        )
    }

    /// Find the newest records over all partitions, newest first by timestamp.
    ///
    /// It reads at most 100,000 records or 64 MiB, from the ends of the logs backwards, and returns at most 16 MiB.
    /// Records of open and aborted transactions are included. In a partition the order is that of the offsets. The
    /// records to find: of one partition or of all, with a text. `contains` is text in a part of the record, `within`;
    /// upper and lower case differ. For the page after another one, `offsets` has its `next_offsets`, such as
    /// `0:17,1:20`. Partitions that are not in it have no more records.
    ///
    /// It sends `GET /v1/topics/{name}/records/newest`.
    pub fn find_newest_records(
        &self,
        name: &str,
        query: &FindNewestRecordsQuery,
    ) -> Result<FoundRecordsView> {
        self.send(
            "GET",
            &format!("/v1/topics/{}/records/newest", utf8_percent_encode(name, NON_ALPHANUMERIC)),
            Some(query),
            None::<&()>,
        )
    }

    /// Find the records from an offset or a time on, over all partitions, oldest first.
    ///
    /// What it reads and returns at most is as for the newest records. The records to find: of one partition or of all,
    /// with a text. `contains` is text in a part of the record, `within`; upper and lower case differ. For the page after
    /// another one, `offsets` has its `next_offsets`, such as `0:17,1:20`. Partitions that are not in it have no more
    /// records. As for the newest records; those from `offset` on, or from `timestamp` on. `timestamp` is in ms since the
    /// epoch: in each partition the page begins at the first record that has it or a later one, and is not before
    /// `offset`.
    ///
    /// It sends `GET /v1/topics/{name}/records/oldest`.
    pub fn find_oldest_records(
        &self,
        name: &str,
        query: &FindOldestRecordsQuery,
    ) -> Result<FoundRecordsView> {
        self.send(
            "GET",
            &format!("/v1/topics/{}/records/oldest", utf8_percent_encode(name, NON_ALPHANUMERIC)),
            Some(query),
            None::<&()>,
        )
    }

    /// Return records as soon as there are `count` of them.
    ///
    /// The topic need not exist yet. The other values of the query are those of `GET /v1/topics/{name}/records`, and the
    /// response is the same. After the timeout 408 with the number of records, and the Produce requests that come
    /// nearest. The records to return: from `offset` on, of one partition or of all. With `timestamp`, in ms since the
    /// epoch, those of each partition from the first one on that has this timestamp or a later one, and is not before
    /// `offset`. `read_committed` omits those of aborted transactions, and all from the first open transaction of a
    /// partition on. How many records there must be, from the start of the log on, and how long to wait. `timeout_ms` is
    /// in ms of real time.
    ///
    /// It sends `GET /v1/topics/{name}/records/wait`.
    pub fn wait_for_records(&self, name: &str, query: &WaitForRecordsQuery) -> Result<RecordsView> {
        self.send(
            "GET",
            &format!("/v1/topics/{}/records/wait", utf8_percent_encode(name, NON_ALPHANUMERIC)),
            Some(query),
            None::<&()>,
        )
    }

    /// List all transactional ids with their transactions.
    ///
    /// It sends `GET /v1/transactions`.
    pub fn list_transactions(&self) -> Result<Vec<TransactionView>> {
        self.send("GET", "/v1/transactions", None::<&()>, None::<&()>)
    }

    /// Remove a transactional id without a transaction, as after `transactional.id.expiration.ms`.
    ///
    /// The next request of its producer gets INVALID_PRODUCER_ID_MAPPING.
    ///
    /// It sends `DELETE /v1/transactions/{transactional_id}`.
    pub fn expire_transactional_id(&self, transactional_id: &str) -> Result<()> {
        self.send(
            "DELETE",
            &format!("/v1/transactions/{}", utf8_percent_encode(transactional_id, NON_ALPHANUMERIC)),
            None::<&()>,
            None::<&()>,
        )
    }

    /// Return one transaction.
    ///
    /// It sends `GET /v1/transactions/{transactional_id}`.
    pub fn get_transaction(&self, transactional_id: &str) -> Result<TransactionView> {
        self.send(
            "GET",
            &format!("/v1/transactions/{}", utf8_percent_encode(transactional_id, NON_ALPHANUMERIC)),
            None::<&()>,
            None::<&()>,
        )
    }

    /// Abort an ongoing transaction, as the coordinator does after its timeout.
    ///
    /// Its producer is fenced. The state is PrepareAbort until the leaders of all partitions are up.
    ///
    /// It sends `POST /v1/transactions/{transactional_id}/abort`.
    pub fn abort_transaction(&self, transactional_id: &str) -> Result<TransactionView> {
        self.send(
            "POST",
            &format!("/v1/transactions/{}/abort", utf8_percent_encode(transactional_id, NON_ALPHANUMERIC)),
            None::<&()>,
            None::<&()>,
        )
    }
}

/// A stored record. A key or value that is None is null in Kafka; `transaction` is `open`, `committed`
/// or `aborted`, and None if it was written in none.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub topic: String,
    pub partition: i64,
    pub offset: i64,
    pub timestamp: SystemTime,
    pub key: Option<Vec<u8>>,
    pub value: Option<Vec<u8>>,
    pub headers: Vec<(String, Option<Vec<u8>>)>,
    pub transaction: Option<String>,
}

impl From<RecordView> for Record {
    fn from(view: RecordView) -> Self {
        let bytes =
            |view: BytesView| BASE64_STANDARD.decode(view.base64.unwrap_or_default()).unwrap_or_default();
        Record {
            topic: String::new(),
            partition: view.partition,
            offset: view.offset,
            timestamp: UNIX_EPOCH + Duration::from_millis(view.timestamp.try_into().unwrap_or(0)),
            key: view.key.map(bytes),
            value: view.value.map(bytes),
            headers: view.headers.into_iter().map(|one| (one.key, one.value.map(bytes))).collect(),
            transaction: view.transaction,
        }
    }
}

/// A record to store. Without a partition its key decides, as in the Java client.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewRecord {
    pub value: Option<Vec<u8>>,
    pub key: Option<Vec<u8>>,
    pub headers: Vec<(String, Option<Vec<u8>>)>,
    pub partition: Option<i64>,
    pub timestamp: Option<SystemTime>,
}

impl NewRecord {
    fn stored(self, topic: &str, view: ProducedView) -> Record {
        Record {
            topic: topic.into(),
            partition: view.partition,
            offset: view.offset,
            timestamp: UNIX_EPOCH + Duration::from_millis(view.timestamp.try_into().unwrap_or(0)),
            key: self.key,
            value: self.value,
            headers: self.headers,
            transaction: Default::default(),
        }
    }
}

impl From<&NewRecord> for RecordBody {
    fn from(record: &NewRecord) -> Self {
        let bytes = |value: &Vec<u8>| json!({"base64": BASE64_STANDARD.encode(value)});
        RecordBody {
            value: record.value.as_ref().map(bytes),
            key: record.key.as_ref().map(bytes),
            headers: Some(
                record
                    .headers
                    .iter()
                    .map(|(key, value)| HeaderBody { key: key.clone(), value: value.as_ref().map(bytes) })
                    .collect(),
            ),
            partition: record.partition,
            timestamp: record.timestamp.map(|time| {
                let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
                since.as_millis().try_into().unwrap_or(i64::MAX)
            }),
        }
    }
}

/// The reason why no cluster starts.
pub(crate) const NO_PROGRAM: &str = "there is no cluster, and no program that starts one. Looked for\n- a running cluster in MOCK_KAFKA_BOOTSTRAP_SERVERS and MOCK_KAFKA_ADMIN_URL\n- a command in the options\n- a command in MOCK_KAFKA_COMMAND\n- mock-kafka, uvx, docker and podman on the PATH\nInstall it with Python 3.11 or newer: pip install path/to/mock-kafka, or uv tool install path/to/mock-kafka";

/// The settings of a cluster.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Builder {
    pub(crate) brokers: Option<u16>,
    pub(crate) config: BTreeMap<String, String>,
    pub(crate) command: Vec<String>,
    pub(crate) audit: bool,
    pub(crate) acls: bool,
    pub(crate) faults: Option<String>,
    pub(crate) snapshot: Option<String>,
    pub(crate) strict: bool,
    pub(crate) new_ports: bool,
}

impl Builder {
    /// Starts this many brokers, with the node ids 1, 2 and so on.
    pub fn brokers(mut self, count: u16) -> Self {
        self.brokers = Some(count);
        self
    }

    /// Sets a key of the brokers, such as `num.partitions` to 6.
    pub fn config(mut self, key: &str, value: impl Display) -> Self {
        self.config.insert(key.into(), value.to_string());
        self
    }

    /// Starts another program than mock-kafka. It gets the arguments of `mock-kafka` behind these.
    pub fn command<T: Into<String>>(mut self, words: impl IntoIterator<Item = T>) -> Self {
        self.command = words.into_iter().map(Into::into).collect();
        self
    }

    /// Fails a test at its end if its cluster lost, duplicated or reordered records that it has acknowledged. What an
    /// unclean election or a truncation lost is no reason.
    pub fn audit(mut self) -> Self {
        self.audit = true;
        self.config.insert("audit.enable".into(), "true".into());
        self
    }

    /// Allows clients only what access control lists allow. Users of the key `super.users` may do everything.
    pub fn acls(mut self) -> Self {
        self.acls = true;
        self.config.insert("authorizer.class.name".into(), "acl".into());
        self
    }

    /// Starts with the fault rules of a JSON file, which a reset restores; see docs/faults.md.
    pub fn faults(mut self, path: impl Into<String>) -> Self {
        self.faults = Some(path.into());
        self
    }

    /// Starts with a snapshot or a recorded world, which a reset restores: a JSON file, perhaps compressed by gzip; see
    /// docs/recorded-worlds.md.
    pub fn snapshot(mut self, path: impl Into<String>) -> Self {
        self.snapshot = Some(path.into());
        self
    }

    /// Refuses each request that the snapshot, a recording by a proxy, does not have. The error names the nearest
    /// recorded one.
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Moves the brokers to new ports before each test. Clients that a test did not close then reach no cluster of a
    /// later test.
    pub fn new_ports(mut self) -> Self {
        self.new_ports = true;
        self
    }

    /// The arguments of the program.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let mut found = Vec::new();
        found.extend(self.brokers.iter().flat_map(|one| ["--brokers".into(), one.to_string()]));
        found.extend(self.config.iter().flat_map(|one| ["-o".into(), format!("{}={}", one.0, one.1)]));
        found.extend(self.faults.iter().flat_map(|one| ["--faults".into(), one.clone()]));
        found.extend(self.snapshot.iter().flat_map(|one| ["--snapshot".into(), one.clone()]));
        found.extend(self.strict.then(|| "--strict".into()));
        found
    }
}

/// Says which requests a fault rule matches, and on which of these it fires; see docs/faults.md. It may have the
/// fields of further actions. An empty one is every request.
pub type When = FaultRule;

/// Returns an empty [`When`], to set its fields.
pub fn when() -> When {
    When::default()
}

/// Selects requests: what is set must fit.
pub type RequestFilter = ListRequestsQuery;

/// A request that the cluster received, and its outcome; or with the kind `connection` or `disconnect` a connection
/// that a fault refused or delayed, or the end of one. Times are in ms of the cluster's clock, `duration_us` is in
/// microseconds of real time. `request` and `response` are the decoded messages, with the names of Kafka's schemas.
/// `errors` has all error codes in the response, `fault` what a rule did to it. What is null or missing is 0 or
/// empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub kind: String,
    pub number: i64,
    pub received_ms: i64,
    pub broker: i64,
    pub client_host: String,
    pub connection: i64,
    pub client_id: String,
    pub user: String,
    pub listener: String,
    pub api: String,
    pub version: i64,
    pub correlation_id: i64,
    pub outcome: String,
    pub close_reason: String,
    pub reason: String,
    pub peer: String,
    pub delay_ms: i64,
    pub duration_us: i64,
    pub throttle_time_ms: i64,
    pub muted: bool,
    pub shadow_throttle_times_ms: BTreeMap<String, i64>,
    pub fault: String,
    pub denials: Vec<DenialView>,
    pub request_bytes: i64,
    pub response_bytes: i64,
    pub topics: Vec<String>,
    pub groups: Vec<String>,
    pub transactional_ids: Vec<String>,
    pub errors: Vec<String>,
    pub request: Value,
    pub response: Value,
    pub request_hex: String,
    pub response_hex: String,
}

impl From<RequestView> for Request {
    fn from(view: RequestView) -> Self {
        Request {
            kind: view.kind,
            number: view.number,
            received_ms: view.received_ms,
            broker: view.broker,
            client_host: view.client_host,
            connection: view.connection.unwrap_or_default(),
            client_id: view.client_id.unwrap_or_default(),
            user: view.user.unwrap_or_default(),
            listener: view.listener.unwrap_or_default(),
            api: view.api.unwrap_or_default(),
            version: view.version.unwrap_or_default(),
            correlation_id: view.correlation_id.unwrap_or_default(),
            outcome: view.outcome.unwrap_or_default(),
            close_reason: view.close_reason.unwrap_or_default(),
            reason: view.reason.unwrap_or_default(),
            peer: view.peer.unwrap_or_default(),
            delay_ms: view.delay_ms.unwrap_or_default(),
            duration_us: view.duration_us.unwrap_or_default(),
            throttle_time_ms: view.throttle_time_ms.unwrap_or_default(),
            muted: view.muted.unwrap_or_default(),
            shadow_throttle_times_ms: view.shadow_throttle_times_ms.unwrap_or_default(),
            fault: view.fault.unwrap_or_default(),
            denials: view.denials.unwrap_or_default(),
            request_bytes: view.request_bytes.unwrap_or_default(),
            response_bytes: view.response_bytes.unwrap_or_default(),
            topics: view.topics.unwrap_or_default(),
            groups: view.groups.unwrap_or_default(),
            transactional_ids: view.transactional_ids.unwrap_or_default(),
            errors: view.errors.unwrap_or_default(),
            request: view.request.unwrap_or_default(),
            response: view.response.unwrap_or_default(),
            request_hex: view.request_hex.unwrap_or_default(),
            response_hex: view.response_hex.unwrap_or_default(),
        }
    }
}

/// A rule of the cluster.
pub struct Fault {
    pub id: i64,
    pub rule: FaultRule,
    admin: Admin,
    timeout: Duration,
}

/// A rule that holds requests until they are released.
#[must_use = "it releases the requests when it is dropped"]
pub struct Hold(Fault);

impl std::ops::Deref for Hold {
    type Target = Fault;

    fn deref(&self) -> &Fault {
        &self.0
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let _ = self.release(); // it may be removed already, by a reset also
    }
}

impl MockKafka {
    /// Returns an error for everything that a request names, such as `NOT_ENOUGH_REPLICAS`. The request is not handled,
    /// or with `at` set to `before_response` it is.
    pub fn fail(&self, code: &str, when: When) -> Result<Fault> {
        let when = when.error(code);
        self.add_fault(when)
    }

    /// Sets fields of the response, by the names of Kafka's schemas. All others keep their values.
    pub fn respond(&self, response: Value, when: When) -> Result<Fault> {
        let when = when.response(response);
        self.add_fault(when)
    }

    /// Delays the response.
    pub fn delay(&self, duration: Duration, when: When) -> Result<Fault> {
        let when = when.delay_ms(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX));
        self.add_fault(when)
    }

    /// Closes the connection instead of handling the request.
    pub fn drop_request(&self, when: When) -> Result<Fault> {
        let when = when.drop("before_handling");
        self.add_fault(when)
    }

    /// Handles the request, and closes the connection instead of sending the response. With `drop_after_bytes` it sends
    /// this many bytes of the response first.
    pub fn drop_response(&self, when: When) -> Result<Fault> {
        let when = when.drop("before_response");
        let when = if when.drop_after_bytes.is_some() { when.drop("within_response") } else { when };
        self.add_fault(when)
    }

    /// Handles the request and never responds; with `hang` set to `before_handling` it does not handle it.
    pub fn hang(&self, when: When) -> Result<Fault> {
        let when = if when.hang.is_none() { when.hang("before_response") } else { when };
        self.add_fault(when)
    }

    /// Returns a throttle time, and mutes the connection for it unless `mute` is false.
    pub fn throttle(&self, duration: Duration, when: When) -> Result<Fault> {
        let when = when.throttle_time_ms(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX));
        self.add_fault(when)
    }

    /// Keeps requests until they are released, before they are handled, or with `hold` set to `before_response` after
    /// that. Others go on; no clock releases them.
    pub fn hold(&self, when: When) -> Result<Hold> {
        let when = if when.hold.is_none() { when.hold("before_handling") } else { when };
        Ok(Hold(self.add_fault(when)?))
    }

    /// Moves the clock of the cluster forward, and returns its new time. What becomes due happens before this returns:
    /// members time out, records expire, delayed responses are sent.
    pub fn advance(&self, duration: Duration) -> Result<SystemTime> {
        let body = AdvanceBody {
            ms: Some(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)),
            ..Default::default()
        };
        let now_ms = self.admin.advance_clock(&body)?.now_ms;
        Ok(UNIX_EPOCH + Duration::from_millis(now_ms.try_into().unwrap_or(0)))
    }

    /// Returns the time of the cluster.
    pub fn now(&self) -> Result<SystemTime> {
        let now_ms = self.admin.get_clock()?.now_ms;
        Ok(UNIX_EPOCH + Duration::from_millis(now_ms.try_into().unwrap_or(0)))
    }

    /// Has the clock of the cluster run in real time (`real`), stand still (`standing`), or run `factor` times as fast
    /// (`scaled`). The other modes have no factor.
    pub fn set_clock(&self, mode: &str, factor: Option<f64>) -> Result<()> {
        let body = ClockBody { mode: mode.into(), factor };
        self.admin.put_clock(&body).map(drop)
    }

    /// Closes the connections of a broker and refuses new ones; its leaders move to other brokers.
    pub fn stop_broker(&self, broker: i64) -> Result<()> {
        self.admin.stop_broker(broker, &StopBody::default()).map(drop)
    }

    /// Starts a broker that was stopped, isolated or fenced.
    pub fn start_broker(&self, broker: i64) -> Result<()> {
        self.admin.start_broker(broker, &StartBody::default()).map(drop)
    }

    /// Makes a broker the leader of a partition.
    pub fn move_leader(&self, topic: &str, partition: i64, broker: i64) -> Result<()> {
        let body = LeaderBody { broker: Some(broker) };
        self.admin.put_leader(topic, partition, &body).map(drop)
    }

    /// Makes a broker the coordinator of a group or a transactional id.
    pub fn move_coordinator(&self, group: &str, broker: i64) -> Result<()> {
        let body = CoordinatorBody { broker };
        self.admin.put_coordinator(group, &body)
    }

    /// Sets quotas of an entity, which has the keys `user`, `client-id` or `ip`, such as `client-id` with the name
    /// `billing`, and `producer_byte_rate` with 1000.
    pub fn quota(&self, entity: &[(&str, Option<&str>)], quotas: &[(&str, f64)]) -> Result<()> {
        let body = QuotaBody {
            entity: entity.iter().map(|(name, value)| (name.to_string(), value.map(String::from))).collect(),
            values: quotas.iter().map(|(name, value)| (name.to_string(), Some(*value))).collect(),
            ..Default::default()
        };
        self.admin.put_quotas(&body).map(drop)
    }

    /// Restores the state after the start, and closes all connections.
    pub fn reset(&self) -> Result<()> {
        self.admin.reset(&ResetBody::default())
    }

    /// Returns all transactional ids with their latest transactions.
    pub fn transactions(&self) -> Result<Vec<TransactionView>> {
        self.admin.list_transactions()
    }

    /// Compares the acknowledgements that were sent with the logs, for a cluster that was started with an audit.
    pub fn audit(&self) -> Result<AuditView> {
        self.admin.get_audit()
    }

    /// Returns the setup of the cluster with its records, which can be loaded again. It is JSON, if you store it.
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.admin.get_snapshot(&GetSnapshotQuery::default())
    }

    /// Resets the cluster and loads a snapshot.
    pub fn load_snapshot(&self, snapshot: &Snapshot) -> Result<()> {
        self.admin.put_snapshot(snapshot, &PutSnapshotQuery::default())
    }

    /// Returns all groups of every type with their members and offsets.
    pub fn groups(&self) -> Result<Vec<GroupView>> {
        self.admin.list_groups()
    }

    /// Returns the committed offsets of a group, by topic and partition. A partition without one is not there.
    pub fn committed(&self, group: &str) -> Result<BTreeMap<(String, i64), i64>> {
        let found = self
            .admin
            .list_group_offsets(group)?
            .into_iter()
            .filter_map(|one| Some(((one.topic, one.partition), one.offset?)));
        Ok(found.collect())
    }

    /// Returns how many offsets a group is behind the end of each partition that it reads.
    pub fn lag(&self, group: &str) -> Result<BTreeMap<(String, i64), i64>> {
        let found = self
            .admin
            .list_group_offsets(group)?
            .into_iter()
            .filter_map(|one| Some(((one.topic, one.partition), one.lag?)));
        Ok(found.collect())
    }

    /// Adds a rule after all others.
    pub fn add_fault(&self, rule: FaultRule) -> Result<Fault> {
        let view: FaultView = self.admin.send("POST", "/v1/faults", None::<&()>, Some(&rule))?;
        Ok(Fault { id: view.id, rule: view.rule, admin: self.admin.clone(), timeout: self.timeout })
    }

    /// Returns all rules in the order of their evaluation, with the numbers of requests on which they fired.
    pub fn faults(&self) -> Result<Vec<FaultView>> {
        self.admin.list_faults()
    }

    /// Removes all rules.
    pub fn clear_faults(&self) -> Result<()> {
        self.admin.clear_faults()
    }

    /// Creates a topic. The operation of the same name has its configuration and the replication factor.
    pub fn create_topic(&self, name: &str, partitions: i64) -> Result<TopicView> {
        let body = NewTopicBody { name: name.into(), partitions: Some(partitions), ..Default::default() };
        self.admin.create_topic(&body)
    }

    /// Returns all topics that are not internal, with their partitions, leaders and offsets.
    pub fn topics(&self) -> Result<Vec<TopicView>> {
        Ok(self.admin.list_topics()?.into_iter().filter(|one| !one.is_internal).collect())
    }

    /// Returns the requests that the cluster received since its reset and that fit, the oldest first.
    pub fn requests(&self, filter: &RequestFilter) -> Result<Vec<Request>> {
        let query = ListRequestsQuery {
            kind: filter.kind.clone().or_else(|| Some("request".into())),
            limit: filter.limit.or(Some(10000)),
            ..filter.clone()
        };
        Ok(self.admin.list_requests(&query)?.into_iter().map(Into::into).collect())
    }

    /// Returns the first request that fits, or waits for it. It may have no response yet; with the outcome `responded`
    /// it has.
    pub fn wait_for_request(&self, filter: &RequestFilter) -> Result<Request> {
        let query = WaitForRequestQuery {
            api: filter.api.clone(),
            topic: filter.topic.clone(),
            partition: filter.partition,
            group: filter.group.clone(),
            client_id: filter.client_id.clone(),
            user: filter.user.clone(),
            broker: filter.broker,
            connection: filter.connection,
            error: filter.error.clone(),
            outcome: filter.outcome.clone(),
            kind: filter.kind.clone().or_else(|| Some("request".into())),
            fault: filter.fault.clone(),
            denied: filter.denied,
            since: filter.since,
            since_ms: filter.since_ms,
            bodies: filter.bodies,
            timeout_ms: Some(i64::try_from(self.timeout.as_millis()).unwrap_or(i64::MAX)),
        };
        self.admin.wait_for_request(&query).map(Into::into)
    }

    /// Returns a group when each of its members has its final assignment. It has as many as `members`, or without a
    /// number at least one.
    pub fn wait_for_stable(&self, group: &str, members: Option<i64>) -> Result<GroupView> {
        let query = WaitForStableGroupQuery {
            members,
            timeout_ms: Some(i64::try_from(self.timeout.as_millis()).unwrap_or(i64::MAX)),
        };
        if let Some(found) = self.admin.wait_for_stable_group(group, &query)? {
            return Ok(found);
        }
        let now = match self.admin.get_group(group) {
            Ok(found) => format!("{found:?}"),
            Err(error) => error.to_string(),
        };
        Err(Error::Timeout(format!("group {group:?} was not stable in {:?}: {now}", self.timeout)))
    }

    /// Returns the records of a topic, by partition and offset. Those of open and aborted transactions are among them.
    pub fn records(&self, topic: &str) -> Result<Vec<Record>> {
        let query =
            GetRecordsQuery { limit: Some(10000), encoding: Some("base64".into()), ..Default::default() };
        let mut queries = vec![query];
        let mut found = Vec::new();
        while let Some(query) = queries.pop() {
            let page = self.admin.get_records(topic, &query)?;
            found.extend(
                page.records.into_iter().map(|view| Record { topic: topic.into(), ..Record::from(view) }),
            );
            for (name, next) in page.next_offsets {
                let partition: i64 = name.parse().expect("a number");
                queries.push(query.clone().partition(partition).offset(next));
            }
        }
        found.sort_by_key(|one| (one.partition, one.offset));
        Ok(found)
    }

    /// Stores records with their keys, headers and timestamps, as a producer with acks=all does, and returns them. Their
    /// keys decide on partitions that are not given. No quota is charged, and no fault fires. A missing topic is created,
    /// as by a producer.
    pub fn produce<T: Into<NewRecord>>(
        &self,
        topic: &str,
        records: impl IntoIterator<Item = T>,
    ) -> Result<Vec<Record>> {
        let records: Vec<NewRecord> = records.into_iter().map(Into::into).collect();
        if records.is_empty() {
            return Ok(Vec::new());
        }
        let body = RecordsBody { records: records.iter().map(RecordBody::from).collect() };
        let stored = records.into_iter().zip(self.admin.produce_records(topic, &body)?);
        Ok(stored.map(|(record, view)| record.stored(topic, view)).collect())
    }

    /// Returns all records of a topic as soon as there are at least `count`. The topic need not exist yet.
    pub fn wait_for_records(&self, topic: &str, count: i64) -> Result<Vec<Record>> {
        let query = WaitForRecordsQuery {
            count: Some(count),
            limit: Some(1),
            timeout_ms: Some(i64::try_from(self.timeout.as_millis()).unwrap_or(i64::MAX)),
            ..Default::default()
        };
        self.admin.wait_for_records(topic, &query)?;
        self.records(topic)
    }
}

impl Fault {
    /// Returns the number of requests on which the rule has fired.
    pub fn count(&self) -> Result<i64> {
        let query = WaitForFaultQuery { fired: Some(0), timeout_ms: Some(0), ..Default::default() };
        Ok(self.admin.wait_for_fault(self.id, &query)?.fired)
    }

    /// Returns the number of requests that matched, whether the rule fired or not.
    pub fn match_count(&self) -> Result<i64> {
        let query = WaitForFaultQuery { fired: Some(0), timeout_ms: Some(0), ..Default::default() };
        Ok(self.admin.wait_for_fault(self.id, &query)?.matched)
    }

    /// Says whether the rule can match the next request. It cannot before the rule in `after` has fired.
    pub fn is_armed(&self) -> Result<bool> {
        let query = WaitForFaultQuery { fired: Some(0), timeout_ms: Some(0), ..Default::default() };
        Ok(self.admin.wait_for_fault(self.id, &query)?.is_armed)
    }

    /// Says whether the rule can never fire again.
    pub fn is_used_up(&self) -> Result<bool> {
        let query = WaitForFaultQuery { fired: Some(0), timeout_ms: Some(0), ..Default::default() };
        Ok(self.admin.wait_for_fault(self.id, &query)?.is_used_up)
    }

    /// Returns when the rule has fired on `count` requests. After the timeout of the cluster it fails, with the requests
    /// that come nearest to the conditions of the rule.
    pub fn wait(&self, count: i64) -> Result<()> {
        let query = WaitForFaultQuery {
            fired: Some(count),
            timeout_ms: Some(i64::try_from(self.timeout.as_millis()).unwrap_or(i64::MAX)),
            ..Default::default()
        };
        self.admin.wait_for_fault(self.id, &query).map(drop)
    }

    /// Removes the rule. Responses that it delays stay delayed, requests that it holds go on.
    pub fn remove(&self) -> Result<()> {
        self.admin.remove_fault(self.id)
    }
}

impl Hold {
    /// Returns the number of requests that it holds.
    pub fn held_count(&self) -> Result<i64> {
        let query = WaitForFaultQuery { fired: Some(0), timeout_ms: Some(0), ..Default::default() };
        Ok(self.admin.wait_for_fault(self.id, &query)?.held)
    }

    /// Returns when the rule holds `count` requests at the same time, or fails after the timeout of the cluster.
    pub fn wait(&self, count: i64) -> Result<()> {
        let query = WaitForFaultQuery {
            held: Some(count),
            timeout_ms: Some(i64::try_from(self.timeout.as_millis()).unwrap_or(i64::MAX)),
            ..Default::default()
        };
        self.admin.wait_for_fault(self.id, &query).map(drop)
    }

    /// Has all requests go on, and the rule holds no others. What they do has happened when this returns, and their
    /// responses are sent.
    pub fn release(&self) -> Result<()> {
        self.admin.release_held(self.id, &ReleaseBody::default()).map(drop)
    }

    /// Has the oldest `count` requests go on.
    pub fn release_oldest(&self, count: i64) -> Result<()> {
        let body = ReleaseBody { count: Some(count) };
        self.admin.release_held(self.id, &body).map(drop)
    }
}
