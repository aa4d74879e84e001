use crate::settings::Settings;
use crate::{Error, Result, VERSION};
use std::env;
use std::net::TcpListener;
use std::path::Path;

const NO_PROGRAM: &str = "there is no cluster, and no program that starts one. Looked for
- a running cluster in MOCK_KAFKA_BOOTSTRAP_SERVERS and MOCK_KAFKA_ADMIN_URL
- a command in the options
- a command in MOCK_KAFKA_COMMAND
- mock-kafka, uvx, docker and podman on the PATH
Install it with Python 3.11 or newer: pip install path/to/mock-kafka, or uv tool install path/to/mock-kafka";

/// Returns the variable, unless it is empty.
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns the command that starts a cluster, by the first program that is there.
pub(crate) fn serve_command(settings: &Settings) -> Result<Vec<String>> {
    if !settings.command.is_empty() {
        return Ok(with_arguments(settings.command.clone(), settings, 0, 0));
    }
    let words = words_of(&variable("MOCK_KAFKA_COMMAND").unwrap_or_default());
    if !words.is_empty() {
        return Ok(with_arguments(words, settings, 0, 0));
    }
    if is_on_path("mock-kafka") {
        return Ok(with_arguments(vec!["mock-kafka".into()], settings, 0, 0));
    }
    if is_on_path("uvx") {
        return Ok(with_arguments(vec!["uvx".into(), format!("mock-kafka=={VERSION}")], settings, 0, 0));
    }
    match ["docker", "podman"].into_iter().find(|engine| is_on_path(engine)) {
        Some(engine) => container_command(engine, settings),
        None => Err(Error::NotStarted(NO_PROGRAM.into())),
    }
}

/// Splits a command as a shell does: at spaces outside of quotes.
fn words_of(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in command.chars() {
        if quote == Some(letter) {
            quote = None;
        } else if quote.is_none() && (letter == '"' || letter == '\'') {
            quote = Some(letter);
            word.get_or_insert_default();
        } else if quote.is_none() && letter.is_whitespace() {
            words.extend(word.take());
        } else {
            word.get_or_insert_default().push(letter);
        }
    }
    words.extend(word);
    words
}

fn is_on_path(program: &str) -> bool {
    let folders = env::var_os("PATH").unwrap_or_default();
    let mut files = env::split_paths(&folders).map(|folder| folder.join(program));
    files.any(|file| is_executable(&file) || is_executable(&file.with_extension("exe")))
}

#[cfg(unix)]
fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(file: &Path) -> bool {
    file.is_file()
}

fn with_arguments(mut command: Vec<String>, settings: &Settings, port: u16, admin_port: u16) -> Vec<String> {
    let (port, admin_port) = (port.to_string(), admin_port.to_string());
    let arguments = ["serve", "--port", &port, "--admin-port", &admin_port, "--until-stdin-closes"];
    command.extend(arguments.map(String::from));
    command.extend(["--log-level", "warning"].map(String::from));
    if let Some(brokers) = settings.brokers {
        command.extend(["--brokers".into(), brokers.to_string()]);
    }
    for (key, value) in &settings.config {
        command.extend(["-o".into(), format!("{key}={value}")]);
    }
    command
}

/// Maps each port to the same one of this host: what brokers advertise is right then.
fn container_command(engine: &str, settings: &Settings) -> Result<Vec<String>> {
    let image = variable("MOCK_KAFKA_IMAGE").unwrap_or("mock-kafka".into());
    let count = settings.brokers.unwrap_or(1) + 1;
    let first = (0..100)
        .find_map(|_| free_ports(count))
        .ok_or_else(|| Error::NotStarted(format!("there are no {count} free ports in a row")))?;
    let mut command: Vec<String> = [engine, "run", "--rm", "--interactive"].map(String::from).into();
    for port in first..first + count {
        command.extend(["--publish".into(), format!("127.0.0.1:{port}:{port}")]);
    }
    command.push(image);
    Ok(with_arguments(command, settings, first + 1, first))
}

/// Returns the first of `count` free ports in a row.
fn free_ports(count: u16) -> Option<u16> {
    let first = TcpListener::bind("127.0.0.1:0").ok()?;
    let port = first.local_addr().ok()?.port();
    let last = port.checked_add(count - 1)?;
    let others: Vec<_> = (port + 1..=last).map(|port| TcpListener::bind(("127.0.0.1", port))).collect();
    others.iter().all(|listener| listener.is_ok()).then_some(port)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_command_has_words_and_quotes() {
        let words = super::words_of(" '/opt/my programs/mock-kafka'  --a=\"b c\" '' ");
        assert_eq!(words, ["/opt/my programs/mock-kafka", "--a=b c", ""]);
    }
}
