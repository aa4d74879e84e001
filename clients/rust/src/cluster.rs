use crate::command::{serve_command, variable};
use crate::settings::Settings;
use crate::{Admin, Error, Result};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const START_TIMEOUT: Duration = Duration::from_secs(30);
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
const LOG_BYTES_MAX: usize = 64 << 10;

/// A running cluster: a process of this crate, or that of the environment.
pub(crate) struct Cluster {
    pub bootstrap_servers: String,
    pub admin: Admin,
    pub settings: Settings,
    process: Option<Process>,
}

impl Cluster {
    /// Returns the cluster that the environment names, if it does.
    pub fn of_environment(settings: &Settings) -> Result<Option<Cluster>> {
        let addresses = (variable("MOCK_KAFKA_BOOTSTRAP_SERVERS"), variable("MOCK_KAFKA_ADMIN_URL"));
        let (bootstrap_servers, url) = match addresses {
            (Some(servers), Some(url)) => (servers, url),
            (None, None) => return Ok(None),
            _ => {
                let both = "set both MOCK_KAFKA_BOOTSTRAP_SERVERS and MOCK_KAFKA_ADMIN_URL, or none";
                return Err(Error::NotStarted(both.into()));
            }
        };
        let admin = Admin::new(&url, settings.token());
        let count = admin.list_brokers()?.len();
        if settings.brokers.is_some_and(|brokers| usize::from(brokers) != count) {
            let brokers = settings.brokers.unwrap_or_default();
            let text = format!("the cluster at {url} has {count} brokers, and the test asks for {brokers}");
            return Err(Error::NotStarted(text));
        }
        Ok(Some(Cluster { bootstrap_servers, admin, settings: settings.clone(), process: None }))
    }

    pub fn start(settings: Settings) -> Result<Cluster> {
        let command = serve_command(&settings)?;
        let process = Process::start(&command)?;
        let (mut bootstrap_servers, mut url) = (String::new(), String::new());
        let end = Instant::now() + START_TIMEOUT;
        while url.is_empty() {
            let line = match process.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => line,
                Err(reason) => return Err(process.not_started(&command, reason)),
            };
            match line.split_once('=') {
                Some(("bootstrap.servers", value)) => bootstrap_servers = on_this_host(value),
                Some(("admin.url", value)) => url = on_this_host(value),
                _ => {}
            }
        }
        let admin = Admin::new(&url, settings.token());
        Ok(Cluster { bootstrap_servers, admin, settings, process: Some(process) })
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

/// Returns the addresses at which this host reaches a container that listens on all of its own.
fn on_this_host(addresses: &str) -> String {
    addresses.trim().replace("0.0.0.0:", "127.0.0.1:")
}

struct Process {
    child: Child,
    /// Nothing is written to it. It closes with this process, also if that is killed, and ends the cluster.
    input: Option<ChildStdin>,
    lines: std::sync::mpsc::Receiver<String>,
    log: Arc<Mutex<Vec<u8>>>,
    log_thread: Option<thread::JoinHandle<()>>,
}

impl Process {
    fn start(command: &[String]) -> Result<Process> {
        let mut program = Command::new(&command[0]);
        // These variables are for brokers that are started by hand.
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("MOCK_KAFKA_"))
        {
            program.env_remove(name);
        }
        let mut child = program
            .args(&command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| {
                Error::NotStarted(format!("mock-kafka did not start: {}: {error}", command[0]))
            })?;
        let (output, errors) = (child.stdout.take().expect("a pipe"), child.stderr.take().expect("a pipe"));
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(std::result::Result::ok) {
                let _ = sender.send(line); // nobody reads those behind the first ones
            }
        });
        let log = Arc::new(Mutex::new(Vec::new()));
        let tail = log.clone();
        let log_thread = Some(thread::spawn(move || keep_tail(errors, &tail)));
        Ok(Process { input: child.stdin.take(), child, lines, log, log_thread })
    }

    fn not_started(mut self, command: &[String], reason: RecvTimeoutError) -> Error {
        let reason = match reason {
            RecvTimeoutError::Timeout => format!("no address in {START_TIMEOUT:?}"),
            RecvTimeoutError::Disconnected => {
                let status =
                    self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
                self.log_thread.take().map(thread::JoinHandle::join);
                status
            }
        };
        Error::NotStarted(format!(
            "mock-kafka did not start: {}: {reason}\n{}",
            command.join(" "),
            self.log()
        ))
    }

    fn log(&self) -> String {
        String::from_utf8_lossy(&self.log.lock().unwrap()).trim().into()
    }
}

fn keep_tail(mut errors: impl Read, tail: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = errors.read(&mut buffer) {
        let mut text = tail.lock().unwrap();
        text.extend_from_slice(&buffer[..count]);
        let excess = text.len().saturating_sub(LOG_BYTES_MAX);
        text.drain(..excess);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.input.take());
        let end = Instant::now() + STOP_TIMEOUT;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < end {
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill(); // has no effect if it has ended
        let _ = self.child.wait();
    }
}
