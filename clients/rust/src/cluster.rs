use crate::generated::NO_PROGRAM;
use crate::{Admin, Builder, Error, Result, VERSION};
use std::env;
use std::fmt::Display;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

impl Builder {
    /// Starts the first program that is there. Returns it with its command.
    fn spawn(&self) -> Result<(Child, String)> {
        let of_environment = words_of(&variable("MOCK_KAFKA_COMMAND").unwrap_or_default());
        let explicit = if self.command.is_empty() { &of_environment } else { &self.command };
        if let Some(program) = explicit.first() {
            return self.run(explicit, 0).map_err(|error| not_started(format_args!("{program}: {error}")));
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
        command.args(["--until-stdin-closes", "--log-level", "warning"]).args(self.arguments());
        // These variables are for brokers that are started by hand.
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("MOCK_KAFKA_"))
        {
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
    /// Nothing is written to its input. It closes with this process, also if that is killed, and ends the cluster.
    child: Option<Child>,
    /// The newest lines that the process has logged.
    pub log: Arc<Mutex<Vec<u8>>>,
}

impl Cluster {
    /// Returns the cluster that the environment names, if it does.
    pub fn of_environment(settings: &Builder) -> Result<Option<Cluster>> {
        let addresses = (variable("MOCK_KAFKA_BOOTSTRAP_SERVERS"), variable("MOCK_KAFKA_ADMIN_URL"));
        let (Some(bootstrap_servers), Some(url)) = addresses else {
            let both = "set both MOCK_KAFKA_BOOTSTRAP_SERVERS and MOCK_KAFKA_ADMIN_URL, or none";
            return if addresses == (None, None) { Ok(None) } else { Err(Error::NotStarted(both.into())) };
        };
        let admin = Admin::new(&url, settings.config.get("broker.admin.token").cloned());
        let count = admin.list_brokers()?.len();
        let brokers = settings.brokers.map_or(count, usize::from);
        if brokers != count {
            let text = format!("the cluster at {url} has {count} brokers, and the test asks for {brokers}");
            return Err(Error::NotStarted(text));
        }
        let (settings, log) = (settings.clone(), Arc::default());
        Ok(Some(Cluster { bootstrap_servers, admin, settings, child: None, log }))
    }

    pub fn start(settings: Builder) -> Result<Cluster> {
        let (mut child, command) = settings.spawn()?;
        let (output, mut errors) =
            (child.stdout.take().expect("a pipe"), child.stderr.take().expect("a pipe"));
        let (sender, lines) = channel();
        thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(std::result::Result::ok);
            // A container listens on all of its addresses. Nobody reads what is behind the first lines.
            lines.for_each(|line| drop(sender.send(line.replace("0.0.0.0:", "127.0.0.1:"))));
        });
        let log: Arc<Mutex<Vec<u8>>> = Arc::default();
        let tail = log.clone();
        let log_thread = thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = errors.read(&mut buffer) {
                let mut text = tail.lock().unwrap();
                text.extend_from_slice(&buffer[..count]);
                let excess = text.len().saturating_sub(64 << 10);
                text.drain(..excess);
            }
        });
        let (mut printed, end) = (Vec::new(), Instant::now() + Duration::from_secs(30));
        while !printed.iter().any(|line: &String| line.starts_with("admin.url=")) {
            match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => printed.push(line),
                Err(reason) => {
                    let _ = (reason == RecvTimeoutError::Timeout).then(|| child.kill());
                    let status = child.wait().map(|status| status.to_string()).unwrap_or_default();
                    let _ = log_thread.join();
                    let text = text_of(&log);
                    return Err(not_started(format_args!("{command}: {status}, {reason}\n{text}")));
                }
            }
        }
        let value = |key| printed.iter().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
        let admin = Admin::new(value("admin.url="), settings.config.get("broker.admin.token").cloned());
        let bootstrap_servers = value("bootstrap.servers=").into();
        Ok(Cluster { bootstrap_servers, admin, settings, child: Some(child), log })
    }

    /// Whether this crate has started it, and it has not ended.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.as_mut().map(Child::try_wait), Some(Ok(None)))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.child.as_mut().map(|child| child.stdin.take()));
        let end = Instant::now() + Duration::from_secs(5);
        while self.is_running() && Instant::now() < end {
            thread::sleep(Duration::from_millis(10));
        }
        // This has no effect if it has ended.
        let _ = self.child.as_mut().map(|child| child.kill().and(child.wait()));
    }
}

pub(crate) fn text_of(log: &Mutex<Vec<u8>>) -> String {
    String::from_utf8_lossy(&log.lock().unwrap()).trim().into()
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
    words.into_iter().filter(|word| !word.is_empty()).collect()
}

/// Returns the first of `count` free ports in a row.
fn free_ports(count: u16) -> Option<u16> {
    let first = TcpListener::bind("127.0.0.1:0").ok()?;
    let port = first.local_addr().ok()?.port();
    let last = port.checked_add(count - 1)?;
    let others: Vec<_> = (port + 1..=last).map(|port| TcpListener::bind(("127.0.0.1", port))).collect();
    others.iter().all(|listener| listener.is_ok()).then_some(port)
}
