use crate::cluster::Cluster;
use crate::pool::{lend, take_back};
use crate::settings::Settings;
use crate::*;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const WAIT_TIMEOUT: Duration = Duration::from_secs(10);
const REQUESTS_SHOWN: i64 = 20;

/// Which requests a fault rule matches, and on which of these it fires; see docs/faults.md. It may have the fields of
/// further actions.
pub type When = FaultRule;

/// Returns a rule that matches every request, for `when().api("Produce").times(1)`.
pub fn when() -> When {
    When::default()
}

/// The settings of a cluster.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Builder(Settings);

impl Builder {
    /// Starts this many brokers, with the node ids 1, 2 and so on.
    pub fn brokers(mut self, count: u16) -> Self {
        self.0.brokers = Some(count);
        self
    }

    /// Sets a key of the brokers, such as `config("num.partitions", 6)`.
    pub fn config(mut self, key: &str, value: impl Display) -> Self {
        self.0.config.push((key.into(), value.to_string()));
        self
    }

    /// Starts another program than mock-kafka. It gets the arguments of `mock-kafka` behind these.
    pub fn command<T: Into<String>>(mut self, command: impl IntoIterator<Item = T>) -> Self {
        self.0.command = command.into_iter().map(Into::into).collect();
        self
    }

    /// Panics at the end of the test if the cluster lost, duplicated or reordered records that it has acknowledged. What
    /// an unclean election or a truncation lost is no reason.
    pub fn audit(mut self) -> Self {
        self.0.is_audited = true;
        self.config("audit.enable", true)
    }

    /// Moves the brokers to new ports before each test. Clients that a test did not close then reach no later cluster.
    pub fn new_ports(mut self) -> Self {
        self.0.has_new_ports = true;
        self
    }

    /// Returns a running, empty cluster that no other test uses until it is dropped.
    pub fn start(self) -> Result<MockKafka> {
        let cluster = lend(self.0)?;
        let mut kafka =
            MockKafka { admin: cluster.admin.clone(), cluster: Some(cluster), timeout: WAIT_TIMEOUT };
        if kafka.cluster().settings.has_new_ports {
            kafka.admin.reset(&ResetBody::default().ports("new"))?;
            let brokers = kafka.admin.list_brokers()?;
            let addresses: Vec<_> = brokers.iter().map(|one| format!("{}:{}", one.host, one.port)).collect();
            kafka.cluster.as_mut().expect("a cluster").bootstrap_servers = addresses.join(",");
        } else {
            kafka.reset()?;
        }
        Ok(kafka)
    }
}

/// A running cluster. The next test gets it when it is dropped.
pub struct MockKafka {
    admin: Admin,
    cluster: Option<Cluster>,
    timeout: Duration,
}

impl MockKafka {
    /// Returns a running, empty cluster of one broker that no other test uses until it is dropped.
    pub fn start() -> Result<MockKafka> {
        Self::builder().start()
    }

    /// Returns the settings of a cluster, to change them.
    pub fn builder() -> Builder {
        Builder::default()
    }

    fn cluster(&self) -> &Cluster {
        self.cluster.as_ref().expect("a cluster until the drop")
    }

    /// `HOST:PORT` of every broker, with commas between.
    pub fn bootstrap_servers(&self) -> &str {
        &self.cluster().bootstrap_servers
    }

    /// Every operation of the admin port.
    pub fn admin(&self) -> &Admin {
        &self.admin
    }

    /// The newest lines that the process of the cluster has logged: its warnings and errors.
    pub fn log(&self) -> String {
        self.cluster().log()
    }

    /// Sets the timeout of methods that wait; it is 10 s of real time otherwise.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    pub(crate) fn timeout_ms(&self) -> i64 {
        milliseconds(self.timeout)
    }

    /// Restores the state after the start, and closes all connections.
    pub fn reset(&self) -> Result<()> {
        self.admin.reset(&ResetBody::default())
    }

    /// Moves the clock forward, and returns its new time. What becomes due happens before this returns: members time
    /// out, records expire, delayed responses are sent.
    pub fn advance(&self, duration: Duration) -> Result<SystemTime> {
        let body = AdvanceBody::default().ms(milliseconds(duration));
        Ok(time_of(self.admin.advance_clock(&body)?.now_ms))
    }

    /// The time of the cluster.
    pub fn now(&self) -> Result<SystemTime> {
        Ok(time_of(self.admin.get_clock()?.now_ms))
    }

    /// Has the clock run in real time (`real`), stand still (`standing`), or run `factor` times as fast (`scaled`).
    pub fn set_clock(&self, mode: &str, factor: Option<f64>) -> Result<()> {
        self.admin.put_clock(&ClockBody { mode: mode.into(), factor }).map(drop)
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
        self.admin.put_leader(topic, partition, &LeaderBody { broker: Some(broker) }).map(drop)
    }

    /// Makes a broker the coordinator of a group or a transactional id.
    pub fn move_coordinator(&self, group: &str, broker: i64) -> Result<()> {
        self.admin.put_coordinator(group, &CoordinatorBody { broker })
    }

    /// Sets quotas of an entity, such as `quota(&[("client-id", Some("billing"))], &[("producer_byte_rate", 1000.0)])`.
    /// The name None is the default of its type.
    pub fn quota(&self, entity: &[(&str, Option<&str>)], quotas: &[(&str, f64)]) -> Result<()> {
        let entity = entity.iter().map(|(kind, name)| (kind.to_string(), name.map(String::from)));
        let values = quotas.iter().map(|(name, value)| (name.to_string(), Some(*value)));
        let body = QuotaBody { entity: entity.collect(), values: values.collect(), shadow: None };
        self.admin.put_quotas(&body).map(drop)
    }

    /// All transactional ids with their latest transactions.
    pub fn transactions(&self) -> Result<Vec<TransactionView>> {
        self.admin.list_transactions()
    }

    /// Compares the acknowledgements that were sent with the logs, for a cluster that was started with an audit.
    pub fn audit(&self) -> Result<AuditView> {
        self.admin.get_audit()
    }

    /// The setup of the cluster with its records, for `load_snapshot`.
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.admin.get_snapshot(&GetSnapshotQuery::default())
    }

    /// Resets the cluster and loads a snapshot.
    pub fn load_snapshot(&self, snapshot: &Snapshot) -> Result<()> {
        self.admin.put_snapshot(snapshot, &PutSnapshotQuery::default())
    }

    // Groups ------------------------------------------------------------------------------------

    /// All groups of every type with their members and offsets.
    pub fn groups(&self) -> Result<Vec<GroupView>> {
        self.admin.list_groups()
    }

    /// The committed offsets of a group, by topic and partition. A partition without one is not there.
    pub fn committed(&self, group: &str) -> Result<BTreeMap<(String, i64), i64>> {
        self.offsets(group, |found| found.offset)
    }

    /// How many offsets a group is behind the end of each partition that it reads.
    pub fn lag(&self, group: &str) -> Result<BTreeMap<(String, i64), i64>> {
        self.offsets(group, |found| found.lag)
    }

    fn offsets(
        &self,
        group: &str,
        field: impl Fn(&GroupOffsetView) -> Option<i64>,
    ) -> Result<BTreeMap<(String, i64), i64>> {
        let found = self.admin.list_group_offsets(group)?;
        let known = found.into_iter().filter_map(|one| Some((field(&one)?, one)));
        Ok(known.map(|(value, one)| ((one.topic, one.partition), value)).collect())
    }

    /// Returns a group when each of its members has its final assignment. It has as many as `members`, or with None at
    /// least one.
    pub fn wait_for_stable(&self, group: &str, members: Option<i64>) -> Result<GroupView> {
        let query = WaitForStableGroupQuery { members, timeout_ms: Some(self.timeout_ms()) };
        self.admin.wait_for_stable_group(group, &query)?.ok_or_else(|| {
            let state = match self.admin.get_group(group) {
                Ok(found) => format!("it is {} with {} members", found.state, found.members.len()),
                Err(error) => error.to_string(),
            };
            Error::Timeout(format!("group {group:?} was not stable in {:?}: {state}", self.timeout))
        })
    }

    // Faults ------------------------------------------------------------------------------------

    /// Returns an error for everything that a request names, such as `NOT_ENOUGH_REPLICAS`. The request is not handled,
    /// or with `when().at("before_response")` it is.
    pub fn fail(&self, error: &str, when: When) -> Result<Fault> {
        self.add_fault(when.error(error))
    }

    /// Sets fields of the response, by the names of Kafka's schemas. All others keep their values.
    pub fn respond(&self, response: serde_json::Value, when: When) -> Result<Fault> {
        self.add_fault(when.response(response))
    }

    /// Delays the response.
    pub fn delay(&self, duration: Duration, when: When) -> Result<Fault> {
        self.add_fault(when.delay_ms(milliseconds(duration)))
    }

    /// Closes the connection instead of handling the request.
    pub fn drop_request(&self, when: When) -> Result<Fault> {
        self.add_fault(when.drop("before_handling"))
    }

    /// Handles the request, and closes the connection instead of sending the response. With `drop_after_bytes` it sends
    /// this many bytes of the response first.
    pub fn drop_response(&self, when: When) -> Result<Fault> {
        let is_cut = when.drop_after_bytes.is_some();
        self.add_fault(when.drop(if is_cut { "within_response" } else { "before_response" }))
    }

    /// Handles the request and never responds; with `when().hang("before_handling")` it does not handle it.
    pub fn hang(&self, when: When) -> Result<Fault> {
        let hang = when.hang.clone().unwrap_or("before_response".into());
        self.add_fault(when.hang(hang))
    }

    /// Holds requests until they are released, before they are handled, or with `when().hold("before_response")` after
    /// that. Others go on; no clock releases them, but the drop of what this returns does.
    pub fn hold(&self, when: When) -> Result<Hold> {
        let hold = when.hold.clone().unwrap_or("before_handling".into());
        Ok(Hold(self.add_fault(when.hold(hold))?))
    }

    /// Returns a throttle time, and mutes the connection for it unless `mute` is false.
    pub fn throttle(&self, duration: Duration, when: When) -> Result<Fault> {
        self.add_fault(when.throttle_time_ms(milliseconds(duration)))
    }

    /// Adds a rule after all others.
    pub fn add_fault(&self, rule: FaultRule) -> Result<Fault> {
        let FaultView { id, rule, .. } = self.admin.send("POST", "/v1/faults", None::<&()>, Some(&rule))?;
        Ok(Fault { id, rule, admin: self.admin.clone(), timeout: self.timeout })
    }

    /// All rules in the order of their evaluation, with the numbers of requests on which they fired.
    pub fn faults(&self) -> Result<Vec<FaultView>> {
        self.admin.list_faults()
    }

    /// Removes all rules.
    pub fn clear_faults(&self) -> Result<()> {
        self.admin.clear_faults()
    }

    /// What the audit has found that the test did not ask for.
    fn findings(&self) -> Vec<String> {
        let on_purpose = ["lost_by_election", "lost_by_truncation", "changed_by_rule"];
        match self.admin.get_audit() {
            Err(error) => vec![error.to_string()],
            Ok(report) => {
                let found = report.findings.iter().filter(|one| !on_purpose.contains(&one.kind.as_str()));
                found
                    .map(|one| format!("{}: {}-{}: {}", one.kind, one.topic, one.partition, one.detail))
                    .collect()
            }
        }
    }
}

impl Drop for MockKafka {
    fn drop(&mut self) {
        let mut findings = Vec::new();
        if std::thread::panicking() {
            let query = RequestFilter::default().limit(REQUESTS_SHOWN).bodies(false);
            eprintln!("the last requests of mock-kafka:{}", self.lines_of(&query));
            if !self.log().is_empty() {
                eprintln!("the log of mock-kafka:\n{}", self.log());
            }
        } else if self.cluster().settings.is_audited {
            findings = self.findings();
        }
        take_back(self.cluster.take().expect("a cluster"));
        assert!(findings.is_empty(), "audit: {}", findings.join("\n"));
    }
}

/// A rule of the cluster.
pub struct Fault {
    pub id: i64,
    pub rule: FaultRule,
    admin: Admin,
    timeout: Duration,
}

impl Fault {
    /// The number of requests on which the rule has fired.
    pub fn count(&self) -> Result<i64> {
        Ok(self.now()?.fired)
    }

    /// The number of requests that matched, whether the rule fired or not.
    pub fn match_count(&self) -> Result<i64> {
        Ok(self.now()?.matched)
    }

    /// Whether the rule can match the next request. It cannot before the rule in `after` has fired.
    pub fn is_armed(&self) -> Result<bool> {
        Ok(self.now()?.is_armed)
    }

    /// Whether the rule can never fire again.
    pub fn is_used_up(&self) -> Result<bool> {
        Ok(self.now()?.is_used_up)
    }

    /// Returns when the rule has fired on `count` requests. After the timeout of the cluster it fails, with the requests
    /// that come nearest to the conditions of the rule.
    pub fn wait(&self, count: i64) -> Result<()> {
        self.wait_until(WaitForFaultQuery::default().fired(count))
    }

    fn wait_until(&self, query: WaitForFaultQuery) -> Result<()> {
        self.admin.wait_for_fault(self.id, &query.timeout_ms(milliseconds(self.timeout))).map(drop)
    }

    /// Removes the rule. Responses that it delays stay delayed, requests that it holds go on.
    pub fn remove(&self) -> Result<()> {
        self.admin.remove_fault(self.id)
    }

    fn now(&self) -> Result<FaultView> {
        let found = self.admin.list_faults()?.into_iter().find(|fault| fault.id == self.id);
        let text = format!("rule {} was removed, or the cluster was reset", self.id);
        found.ok_or(Error::NoResponse(text))
    }
}

/// A rule that holds requests until they are released. When it is dropped, all are.
#[must_use = "it releases the requests when it is dropped"]
pub struct Hold(Fault);

impl std::ops::Deref for Hold {
    type Target = Fault;

    fn deref(&self) -> &Fault {
        &self.0
    }
}

impl Hold {
    /// The number of requests that it holds.
    pub fn held_count(&self) -> Result<i64> {
        Ok(self.now()?.held)
    }

    /// Returns when the rule holds `count` requests at the same time, or fails after the timeout of the cluster.
    pub fn wait(&self, count: i64) -> Result<()> {
        self.wait_until(WaitForFaultQuery::default().held(count))
    }

    /// Has all requests go on, and the rule holds no others. What they do has happened when this returns, and their
    /// responses are sent.
    pub fn release(&self) -> Result<()> {
        self.admin.release_held(self.id, &ReleaseBody::default()).map(drop)
    }

    /// Has the oldest `count` requests go on.
    pub fn release_oldest(&self, count: i64) -> Result<()> {
        self.admin.release_held(self.id, &ReleaseBody::default().count(count)).map(drop)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let _ = self.release(); // the rule may be removed already, by a reset also
    }
}

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

pub(crate) fn time_of(ms: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(ms.try_into().unwrap_or(0))
}
