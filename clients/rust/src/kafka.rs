use crate::cluster::Cluster;
use crate::*;
use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread::{self, ThreadId};
use std::time::Duration;

const IDLE_MAX: usize = 8;
const LEND_TIMEOUT: Duration = Duration::from_secs(300);

/// The clusters that no test uses; the one that was used last is at the end.
static IDLE: Mutex<Vec<Cluster>> = Mutex::new(Vec::new());
/// The thread that uses the cluster of the environment.
static HOLDER: Mutex<Option<ThreadId>> = Mutex::new(None);
static RETURNED: Condvar = Condvar::new();

/// Returns a rule that matches every request, for `when().api("Produce").times(1)`.
pub fn when() -> When {
    When::default()
}

impl Builder {
    /// Returns a running, empty cluster that no other test uses until it is dropped.
    pub fn start(self) -> Result<MockKafka> {
        let cluster = lend(self)?;
        let mut kafka = MockKafka {
            admin: cluster.admin.clone(),
            cluster: Some(cluster),
            timeout: Duration::from_secs(10),
        };
        if !kafka.cluster().settings.has_new_ports {
            kafka.reset()?;
            return Ok(kafka);
        }
        kafka.admin.reset(&ResetBody::default().ports("new"))?;
        let brokers = kafka.admin.list_brokers()?;
        let addresses: Vec<_> = brokers.iter().map(|one| format!("{}:{}", one.host, one.port)).collect();
        kafka.cluster.as_mut().expect("a cluster").bootstrap_servers = addresses.join(",");
        Ok(kafka)
    }
}

/// Returns a cluster that no other test uses; give it back with `take_back`.
fn lend(settings: Builder) -> Result<Cluster> {
    if let Some(shared) = Cluster::of_environment(&settings)? {
        wait_for_the_shared()?;
        return Ok(shared);
    }
    let mut idle = lock(&IDLE);
    while let Some(place) = idle.iter().rposition(|cluster| cluster.settings == settings) {
        let mut cluster = idle.remove(place);
        if cluster.is_running() {
            return Ok(cluster);
        }
    }
    drop(idle);
    Cluster::start(settings)
}

fn wait_for_the_shared() -> Result<()> {
    let (this, holder) = (thread::current().id(), lock(&HOLDER));
    if *holder == Some(this) {
        let text = "this test has the cluster of the environment already, and there is one only";
        return Err(Error::NotStarted(text.into()));
    }
    let waited = RETURNED.wait_timeout_while(holder, LEND_TIMEOUT, |holder| holder.is_some());
    let (mut holder, result) = waited.unwrap_or_else(|poisoned| poisoned.into_inner());
    if result.timed_out() {
        let text = format!("another test has the cluster of the environment since {LEND_TIMEOUT:?}");
        return Err(Error::NotStarted(text));
    }
    *holder = Some(this);
    Ok(())
}

fn take_back(mut cluster: Cluster) {
    if cluster.is_running() {
        let mut idle = lock(&IDLE);
        idle.push(cluster);
        let oldest = (idle.len() > IDLE_MAX).then(|| idle.remove(0));
        drop(idle);
        drop(oldest);
    } else if lock(&HOLDER).take().is_some() {
        RETURNED.notify_one();
    }
}

/// A test that panicked with the lock has left the list as it was.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A running cluster. The next test gets it when it is dropped.
pub struct MockKafka {
    pub(crate) admin: Admin,
    pub(crate) timeout: Duration,
    cluster: Option<Cluster>,
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

    /// Restores the state after the start, and closes all connections.
    pub fn reset(&self) -> Result<()> {
        self.admin.reset(&ResetBody::default())
    }

    /// What the audit has found that the test did not ask for.
    fn findings(&self) -> Vec<String> {
        let on_purpose = ["lost_by_election", "lost_by_truncation", "changed_by_rule"];
        let found = match self.admin.get_audit() {
            Err(error) => return vec![error.to_string()],
            Ok(report) => report.findings.into_iter().filter(|one| !on_purpose.contains(&one.kind.as_str())),
        };
        found.map(|one| format!("{}: {}-{}: {}", one.kind, one.topic, one.partition, one.detail)).collect()
    }

    /// The last requests, disconnects and connections as lines.
    fn last_requests(&self) -> String {
        match self.admin.list_requests(&RequestFilter::default().limit(20).bodies(false)) {
            Err(error) => format!("\n  {error}"),
            Ok(found) if found.is_empty() => "\n  none".into(),
            Ok(found) => found.into_iter().map(|view| format!("\n  {}", Request::from(view))).collect(),
        }
    }
}

impl Drop for MockKafka {
    fn drop(&mut self) {
        let mut findings = Vec::new();
        if thread::panicking() {
            eprintln!("the last requests of mock-kafka:{}", self.last_requests());
            eprintln!("the log of mock-kafka:\n{}", self.log());
        } else if self.cluster().settings.is_audited {
            findings = self.findings();
        }
        take_back(self.cluster.take().expect("a cluster"));
        assert!(findings.is_empty(), "audit: {}", findings.join("\n"));
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let _ = self.release(); // the rule may be removed already, by a reset also
    }
}

impl Record {
    /// The value as text; what is not UTF-8 is replaced, and null is "".
    pub fn value_text(&self) -> String {
        String::from_utf8_lossy(self.value.as_deref().unwrap_or_default()).into()
    }
}

impl From<&str> for NewRecord {
    fn from(value: &str) -> Self {
        NewRecord { value: Some(value.into()), ..Default::default() }
    }
}

impl fmt::Display for Request {
    /// Writes one readable line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (client, action) = match self.kind.as_str() {
            "request" => (&self.client_id, format!("{} v{}", self.api, self.version)),
            kind => (&self.client_host, kind.into()),
        };
        let names = [&self.topics[..], &self.groups, &self.transactional_ids].concat().join(" ");
        let (errors, fault) = (self.errors.join(" "), format!("[{}]", self.fault));
        let line = format!(
            "#{} broker {} {client} {action} {names} -> {} {}{} {errors} {}",
            self.number,
            self.broker,
            self.outcome,
            self.close_reason,
            self.reason,
            fault.trim_end_matches("[]")
        );
        f.write_str(&line.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}
