use crate::{Admin, Error, Result, VERSION};
use std::collections::BTreeMap;
use std::env;
use std::fmt::Display;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const START_TIMEOUT: Duration = Duration::from_secs(30);
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

const NO_PROGRAM: &str = "there is no cluster, and no program that starts one. Looked for
- a running cluster in MOCK_KAFKA_BOOTSTRAP_SERVERS and MOCK_KAFKA_ADMIN_URL
- a command in the options
- a command in MOCK_KAFKA_COMMAND
- mock-kafka, uvx, docker and podman on the PATH
Install it with Python 3.11 or newer: pip install path/to/mock-kafka, or uv tool install path/to/mock-kafka";

/// The settings of a cluster.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Builder {
    brokers: Option<u16>,
    config: BTreeMap<String, String>,
    command: Vec<String>,
    pub(crate) is_audited: bool,
    pub(crate) has_new_ports: bool,
}

impl Builder {
    /// Starts this many brokers, with the node ids 1, 2 and so on.
    pub fn brokers(mut self, count: u16) -> Self {
        self.brokers = Some(count);
        self
    }

    /// Sets a key of the brokers, such as `config("num.partitions", 6)`.
    pub fn config(mut self, key: &str, value: impl Display) -> Self {
        self.config.insert(key.into(), value.to_string());
        self
    }

    /// Starts another program than mock-kafka. It gets the arguments of `mock-kafka` behind these.
    pub fn command<T: Into<String>>(mut self, command: impl IntoIterator<Item = T>) -> Self {
        self.command = command.into_iter().map(Into::into).collect();
        self
    }

    /// Panics at the end of the test if the cluster lost, duplicated or reordered records that it has acknowledged. What
    /// an unclean election or a truncation lost is no reason.
    pub fn audit(mut self) -> Self {
        self.is_audited = true;
        self.config("audit.enable", true)
    }

    /// Moves the brokers to new ports before each test. Clients that a test did not close then reach no later cluster.
    pub fn new_ports(mut self) -> Self {
        self.has_new_ports = true;
        self
    }

    /// Starts the first program that is there. Returns it with its command.
    fn spawn(&self) -> Result<(Child, String)> {
        let of_environment = words_of(&variable("MOCK_KAFKA_COMMAND").unwrap_or_default());
        let explicit = if self.command.is_empty() { &of_environment } else { &self.command };
        if let Some(program) = explicit.first() {
            let started = self.run(explicit, 0);
            return started.map_err(|error| not_started(format_args!("{program}: {error}")));
        }
        let count = self.brokers.unwrap_or(1) + 1;
        let first = (0..100).find_map(|_| free_ports(count));
        let first = first.ok_or_else(|| not_started(format_args!("no {count} free ports in a row")))?;
        // Each port is mapped to the same one of this host: what brokers advertise is right then.
        let ports = format!("{first}-{}", first + (count - 1));
        let image = variable("MOCK_KAFKA_IMAGE").unwrap_or("mock-kafka".into());
        let run = format!("run --rm --interactive --publish 127.0.0.1:{ports}:{ports} {image}");
        let [uvx, docker, podman] =
            [format!("uvx mock-kafka=={VERSION}"), format!("docker {run}"), format!("podman {run}")];
        let programs = [("mock-kafka", 0), (&uvx, 0), (&docker, first), (&podman, first)];
        let mut started =
            programs.iter().filter_map(|(program, port)| self.run(&words_of(program), *port).ok());
        started.next().ok_or_else(|| Error::NotStarted(NO_PROGRAM.into()))
    }

    fn run(&self, program: &[String], port: u16) -> std::io::Result<(Child, String)> {
        let mut command = Command::new(&program[0]);
        let (admin_port, port) = (port.to_string(), (port + u16::from(port > 0)).to_string());
        command.args(&program[1..]).args(["serve", "--port", &port, "--admin-port", &admin_port]);
        command.args(["--until-stdin-closes", "--log-level", "warning"]);
        command.args(self.brokers.iter().flat_map(|count| ["--brokers".into(), count.to_string()]));
        command.args(self.config.iter().flat_map(|(key, value)| ["-o".into(), format!("{key}={value}")]));
        // These variables are for brokers that are started by hand.
        for (name, _) in env::vars().filter(|(name, _)| name.starts_with("MOCK_KAFKA_")) {
            command.env_remove(name);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok((command.spawn()?, program.join(" ")))
    }
}

fn not_started(reason: impl Display) -> Error {
    Error::NotStarted(format!("mock-kafka did not start: {reason}"))
}

/// A running cluster: a process of this crate, or that of the environment.
pub(crate) struct Cluster {
    pub bootstrap_servers: String,
    pub admin: Admin,
    pub settings: Builder,
    process: Option<Process>,
}

impl Cluster {
    /// Returns the cluster that the environment names, if it does.
    pub fn of_environment(settings: &Builder) -> Result<Option<Cluster>> {
        let (servers, url) = (variable("MOCK_KAFKA_BOOTSTRAP_SERVERS"), variable("MOCK_KAFKA_ADMIN_URL"));
        let (Some(bootstrap_servers), Some(url)) = (&servers, &url) else {
            let both = "set both MOCK_KAFKA_BOOTSTRAP_SERVERS and MOCK_KAFKA_ADMIN_URL, or none";
            return if servers == url { Ok(None) } else { Err(Error::NotStarted(both.into())) };
        };
        let cluster = Cluster::new(bootstrap_servers, url, settings.clone(), None);
        let count = cluster.admin.list_brokers()?.len();
        match settings.brokers {
            Some(brokers) if usize::from(brokers) != count => Err(Error::NotStarted(format!(
                "the cluster at {url} has {count} brokers, and the test asks for {brokers}"
            ))),
            _ => Ok(Some(cluster)),
        }
    }

    fn new(bootstrap_servers: &str, url: &str, settings: Builder, process: Option<Process>) -> Cluster {
        let admin = Admin::new(url, settings.config.get("broker.admin.token").cloned());
        Cluster { bootstrap_servers: bootstrap_servers.into(), admin, settings, process }
    }

    pub fn start(settings: Builder) -> Result<Cluster> {
        let (mut child, command) = settings.spawn()?;
        let (output, errors) = (child.stdout.take().expect("a pipe"), child.stderr.take().expect("a pipe"));
        let mut process = Process { child, log: Default::default() };
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(std::result::Result::ok) {
                let _ = sender.send(line); // nobody reads those behind the first ones
            }
        });
        let tail = process.log.clone();
        let log_thread = thread::spawn(move || keep_tail(errors, &tail));
        let mut printed = BTreeMap::new();
        let end = Instant::now() + START_TIMEOUT;
        while !printed.contains_key("admin.url") {
            let reason = match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    // A container listens on all of its addresses.
                    let line = line.replace("0.0.0.0:", "127.0.0.1:");
                    printed.extend(
                        line.split_once('=').map(|(key, value)| (key.to_string(), value.to_string())),
                    );
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => format!("no address in {START_TIMEOUT:?}"),
                Err(RecvTimeoutError::Disconnected) => {
                    let _ = log_thread.join();
                    process.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string())
                }
            };
            return Err(not_started(format_args!("{command}: {reason}\n{}", process.log())));
        }
        let servers = printed.remove("bootstrap.servers").unwrap_or_default();
        Ok(Cluster::new(&servers, &printed["admin.url"], settings, Some(process)))
    }

    /// Whether this crate has started it, and it has not ended.
    pub fn is_running(&mut self) -> bool {
        self.process.as_mut().is_some_and(|process| matches!(process.child.try_wait(), Ok(None)))
    }

    /// The newest lines that the process has logged.
    pub fn log(&self) -> String {
        self.process.as_ref().map(Process::log).unwrap_or_default()
    }
}

/// Nothing is written to the input of the process. It closes with this one, also if that is killed, and ends the cluster.
struct Process {
    child: Child,
    log: Arc<Mutex<Vec<u8>>>,
}

impl Process {
    fn log(&self) -> String {
        String::from_utf8_lossy(&self.log.lock().unwrap()).trim().into()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let end = Instant::now() + STOP_TIMEOUT;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < end {
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill(); // has no effect if it has ended
        let _ = self.child.wait();
    }
}

/// Keeps the last 64 KiB.
fn keep_tail(mut errors: impl Read, tail: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = errors.read(&mut buffer) {
        let mut text = tail.lock().unwrap();
        text.extend_from_slice(&buffer[..count]);
        let excess = text.len().saturating_sub(64 << 10);
        text.drain(..excess);
    }
}

/// Returns the variable, unless it is empty.
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// Splits a command as a shell does: at spaces outside of quotes.
fn words_of(command: &str) -> Vec<String> {
    let (mut words, mut quote) = (vec![String::new()], None);
    for letter in command.chars() {
        match quote {
            Some(open) if open == letter => quote = None,
            None if letter == '"' || letter == '\'' => quote = Some(letter),
            None if letter.is_whitespace() => words.push(String::new()),
            _ => words.last_mut().expect("a word").push(letter),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns the first of `count` free ports in a row.
fn free_ports(count: u16) -> Option<u16> {
    let first = TcpListener::bind("127.0.0.1:0").ok()?;
    let port = first.local_addr().ok()?.port();
    let last = port.checked_add(count - 1)?;
    let others: Vec<_> = (port + 1..=last).map(|port| TcpListener::bind(("127.0.0.1", port))).collect();
    others.iter().all(|listener| listener.is_ok()).then_some(port)
}
