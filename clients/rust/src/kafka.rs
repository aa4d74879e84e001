use crate::cluster::{text_of, Cluster};
use crate::*;
use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread::{self, ThreadId};
use std::time::Duration;

const LEND_TIMEOUT: Duration = Duration::from_secs(300);

/// The clusters that no test uses; the one that was used last is at the end.
static IDLE: Mutex<Vec<Cluster>> = Mutex::new(Vec::new());
/// The thread that uses the cluster of the environment.
static HOLDER: Mutex<Option<ThreadId>> = Mutex::new(None);
static RETURNED: Condvar = Condvar::new();

impl Builder {
    /// Returns a running, empty cluster that no other test uses until it is dropped.
    pub fn start(self) -> Result<MockKafka> {
        let cluster = lend(self)?;
        let mut kafka = MockKafka {
            admin: cluster.admin.clone(),
            cluster: Some(cluster),
            timeout: Duration::from_secs(10),
        };
        let ports = kafka.cluster().settings.new_ports.then(|| "new".into());
        kafka.admin.reset(&ResetBody { ports })?;
        if kafka.cluster().settings.new_ports {
            let brokers = kafka.admin.list_brokers()?.into_iter();
            let addresses: Vec<_> = brokers.map(|one| format!("{}:{}", one.host, one.port)).collect();
            kafka.cluster.as_mut().expect("a cluster").bootstrap_servers = addresses.join(",");
        }
        Ok(kafka)
    }
}

/// Returns a cluster that no other test uses; give it back with `take_back`.
fn lend(settings: Builder) -> Result<Cluster> {
    if let Some(shared) = Cluster::of_environment(&settings)? {
        return wait_for_the_shared().map(|()| shared);
    }
    let mut idle = lock(&IDLE);
    idle.retain_mut(Cluster::is_running);
    if let Some(place) = idle.iter().rposition(|cluster| cluster.settings == settings) {
        return Ok(idle.remove(place));
    }
    drop(idle);
    Cluster::start(settings)
}

fn wait_for_the_shared() -> Result<()> {
    let this = thread::current().id();
    let is_lent = |holder: &mut Option<ThreadId>| holder.is_some_and(|thread| thread != this);
    let waited = RETURNED.wait_timeout_while(lock(&HOLDER), LEND_TIMEOUT, is_lent);
    let (mut holder, result) = waited.unwrap_or_else(|poisoned| poisoned.into_inner());
    if result.timed_out() {
        let text = format!("another test has the cluster of the environment since {LEND_TIMEOUT:?}");
        return Err(Error::NotStarted(text));
    }
    let text = "this test has the cluster of the environment already, and there is one only";
    holder.replace(this).map_or(Ok(()), |_| Err(Error::NotStarted(text.into())))
}

fn take_back(mut cluster: Cluster) {
    if cluster.is_running() {
        let mut idle = lock(&IDLE);
        idle.push(cluster);
        let oldest = (idle.len() > 8).then(|| idle.remove(0));
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
        text_of(&self.cluster().log)
    }

    /// Sets the timeout of methods that wait; it is 10 s of real time otherwise.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    /// What the audit has found that the test did not ask for.
    fn findings(&self) -> Result<Vec<String>> {
        let on_purpose = ["lost_by_election", "lost_by_truncation", "changed_by_rule"];
        let found = self.admin.get_audit()?.findings.into_iter();
        let found = found.filter(|one| !on_purpose.contains(&one.kind.as_str()));
        Ok(found
            .map(|one| format!("{}: {}-{}: {}", one.kind, one.topic, one.partition, one.detail))
            .collect())
    }

    /// The last requests, disconnects and connections as lines.
    fn last_requests(&self) -> Result<String> {
        let found = self.admin.list_requests(&RequestFilter::default().limit(20).bodies(false))?;
        Ok(found.into_iter().map(|view| format!("\n  {}", Request::from(view))).collect())
    }
}

impl Drop for MockKafka {
    fn drop(&mut self) {
        let mut findings = Vec::new();
        if thread::panicking() {
            let requests = self.last_requests().unwrap_or_else(|error| error.to_string());
            eprintln!("the last requests of mock-kafka:{requests}");
            eprintln!("the log of mock-kafka:\n{}", self.log());
        } else if self.cluster().settings.audit {
            findings = self.findings().unwrap_or_else(|error| vec![error.to_string()]);
        }
        take_back(self.cluster.take().expect("a cluster"));
        assert!(findings.is_empty(), "audit: {}", findings.join("\n"));
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
        let fault = if self.fault.is_empty() { String::new() } else { format!("[{}]", self.fault) };
        let start = format!("#{} broker {} {client} {action}", self.number, self.broker);
        let outcome = format!("-> {} {}{}", self.outcome, self.close_reason, self.reason);
        let words = [
            &[start],
            &self.topics[..],
            &self.groups,
            &self.transactional_ids,
            &[outcome],
            &self.errors,
            &[fault],
        ];
        f.write_str(&words.concat().join(" ").split_whitespace().collect::<Vec<_>>().join(" "))
    }
}
