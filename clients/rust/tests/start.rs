//! How a cluster is found, started, shared and ended.
//!
//! Tests that change the environment run in another process: this one, with the name of a case in a variable.

use mock_kafka::{when, Error, MockKafka, SavedOffset};
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use std::{env, fs, thread};

const CASE: &str = "MOCK_KAFKA_TEST_CASE";

/// Prepares one of the tests that only run as a case, in another process.
fn case(name: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args([name, "--exact", "--nocapture", "--ignored"]).env(CASE, name);
    command
}

fn text(output: Output) -> String {
    String::from_utf8_lossy(&output.stdout).to_string() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn a_test_has_an_empty_cluster_that_was_used_before() {
    let mut urls = Vec::new();
    for _ in 0..2 {
        let kafka = MockKafka::builder().config("num.partitions", 3).start().unwrap();
        assert!(kafka.topics().unwrap().is_empty());
        kafka.produce("orders", ["coffee"]).unwrap();
        assert_eq!(kafka.topics().unwrap()[0].partitions.len(), 3);
        urls.push(kafka.admin().url().to_string());
    }
    assert_eq!(urls[0], urls[1]);
}

#[test]
fn tests_that_run_at_the_same_time_have_a_cluster_each() {
    let tests = ["a", "b", "c"].map(|name| {
        thread::spawn(move || {
            let kafka = MockKafka::start().unwrap();
            for _ in 0..20 {
                kafka.produce("orders", [name]).unwrap();
            }
            let records = kafka.wait_for_records("orders", 20).unwrap();
            assert!(records.iter().all(|record| record.value_text() == name));
            assert_eq!(records.len(), 20);
        })
    });
    for test in tests {
        test.join().unwrap();
    }
}

#[test]
fn a_test_with_new_ports_leaves_its_clients_behind() {
    let mut addresses = Vec::new();
    for _ in 0..2 {
        let kafka = MockKafka::builder().new_ports().brokers(2).start().unwrap();
        let servers = kafka.bootstrap_servers();
        assert!(servers.split(',').all(|address| TcpStream::connect(address).is_ok()));
        addresses.push(servers.to_string());
    }
    assert_ne!(addresses[0], addresses[1]);
}

#[test]
fn a_cluster_that_does_not_start_says_why() {
    let error = MockKafka::builder().config("num.partition", 2).start().err().unwrap();
    assert!(matches!(error, Error::NotStarted(_)));
    let text = error.to_string();
    assert_eq!(format!("{error:?}"), text);
    assert!(text.contains("num.partitions") && text.contains("exit status: 1"), "{text}");
    let error = MockKafka::builder().command(["/no/such/program"]).start().err().unwrap();
    assert!(error.to_string().contains("/no/such/program: No such file"), "{error}");
}

#[test]
fn without_a_program_the_error_says_what_is_missing() {
    let output = case("start").env("PATH", "").env_remove("MOCK_KAFKA_COMMAND").output().unwrap();
    let output = text(output);
    for expected in ["MOCK_KAFKA_BOOTSTRAP_SERVERS", "MOCK_KAFKA_COMMAND", "uvx", "podman", "pip install"] {
        assert!(output.contains(expected), "no {expected} in {output}");
    }
    let output = text(case("start").env("MOCK_KAFKA_ADMIN_URL", "http://127.0.0.1:1").output().unwrap());
    assert!(output.contains("set both"), "{output}");
}

#[test]
#[ignore = "a case of other tests"]
fn start() {
    let kafka = MockKafka::builder().brokers(2).start().unwrap();
    kafka.produce("orders", ["coffee"]).unwrap();
    let servers = kafka.bootstrap_servers();
    assert!(servers.split(',').all(|address| TcpStream::connect(address).is_ok()));
}

#[cfg(unix)]
#[test]
fn a_command_of_the_environment_has_words_and_quotes() {
    let command = format!("  'env'  VARIABLE=\"b c\" '{}'", program());
    let output =
        text(case("start").env("PATH", "/usr/bin:/bin").env("MOCK_KAFKA_COMMAND", command).output().unwrap());
    assert!(output.contains("1 passed"), "{output}");
}

/// Returns the path of the program that tests start.
fn program() -> String {
    env::var("MOCK_KAFKA_COMMAND").unwrap_or_else(|_| {
        let output = Command::new("sh").args(["-c", "command -v mock-kafka"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().into()
    })
}

#[cfg(unix)]
#[test]
fn the_program_is_found_by_other_means() {
    use std::os::unix::fs::{symlink, PermissionsExt};
    let image =
        "env MOCK_KAFKA_HOST=0.0.0.0 MOCK_KAFKA_ADVERTISED_HOST=localhost MOCK_KAFKA_ADMIN_HOST=0.0.0.0";
    let engine = format!("while [ \"$1\" != an-image ]; do shift; done; shift; exec {image}");
    let uvx = format!("[ \"$1\" = mock-kafka=={} ] || exit 3; shift; exec", mock_kafka::VERSION);
    for (name, script) in [("uvx", &uvx), ("docker", &engine), ("podman", &engine)] {
        let folder = env::temp_dir().join(format!("mock-kafka-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script} {} \"$@\"\n", program())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        symlink("/usr/bin/env", folder.join("env")).unwrap();
        let mut command = case("start");
        command.env("PATH", &folder).env_remove("MOCK_KAFKA_COMMAND").env("MOCK_KAFKA_IMAGE", "an-image");
        let output = command.output().unwrap();
        let is_success = output.status.success();
        fs::remove_dir_all(&folder).unwrap();
        assert!(is_success, "{name}: {}", text(output));
    }
}

#[test]
fn tests_share_the_cluster_of_the_environment() {
    let kafka = MockKafka::builder().brokers(2).start().unwrap();
    let shared = |name| {
        let mut command = case(name);
        command.env("MOCK_KAFKA_BOOTSTRAP_SERVERS", kafka.bootstrap_servers());
        command.env("MOCK_KAFKA_ADMIN_URL", kafka.admin().url());
        text(command.env("PATH", "").env_remove("MOCK_KAFKA_COMMAND").output().unwrap())
    };
    let output = shared("use_one_cluster_in_turn");
    assert!(output.contains("1 passed"), "{output}");
    assert!(kafka.now().is_ok(), "the tests have stopped the cluster");
}

#[test]
#[ignore = "a case of other tests"]
fn use_one_cluster_in_turn() {
    tests_that_run_at_the_same_time_have_a_cluster_each();
    let error = MockKafka::builder().brokers(3).start().err().unwrap();
    assert!(error.to_string().contains("has 2 brokers, and the test asks for 3"), "{error}");
    let _kafka = MockKafka::start().unwrap();
    let error = MockKafka::start().err().unwrap();
    assert!(error.to_string().contains("has the cluster of the environment already"), "{error}");
}

#[test]
#[ignore = "a case of other tests"]
fn panic() {
    let kafka = MockKafka::start().unwrap();
    kafka.add_fault(when().refuse_connection(true).times(1)).unwrap();
    let connection = TcpStream::connect(kafka.bootstrap_servers());
    connection.unwrap().read_exact(&mut [0]).unwrap_err();
    kafka.create_topic("a/b", 1).unwrap();
}

#[test]
fn a_test_that_panics_prints_its_requests() {
    let output = text(case("panic").output().unwrap());
    for expected in ["INVALID_TOPIC_EXCEPTION", "the last requests of mock-kafka:\n  #1", "refused"] {
        assert!(output.contains(expected), "no {expected} in {output}");
    }
}

#[test]
#[ignore = "a case of other tests"]
fn wait() {
    let kafka = MockKafka::start().unwrap();
    println!("address={}", kafka.bootstrap_servers());
    thread::sleep(Duration::from_secs(600));
}

#[test]
fn a_killed_test_leaves_no_cluster_behind() {
    let mut process = case("wait").stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let address =
        lines.map_while(Result::ok).find_map(|line| Some(line.split_once("address=")?.1.to_string()));
    let mut connection = TcpStream::connect(address.as_ref().unwrap()).unwrap();
    connection.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    process.kill().unwrap();
    process.wait().unwrap();
    let read = connection.read(&mut [0]);
    assert!(!matches!(&read, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock), "it still runs");
    assert!(TcpStream::connect(address.unwrap()).is_err(), "the cluster still listens");
}

#[test]
#[ignore = "a case of other tests"]
fn commit_beyond_the_end() {
    let kafka = MockKafka::builder().audit().start().unwrap();
    kafka.create_topic("orders", 1).unwrap();
    let mut snapshot = kafka.snapshot().unwrap();
    let offset =
        SavedOffset { group: "billing".into(), topic: "orders".into(), offset: 100, ..Default::default() };
    snapshot.offsets.get_or_insert_default().push(offset);
    kafka.load_snapshot(&snapshot).unwrap();
    println!("lag {:?}", kafka.lag("billing").unwrap());
}

#[test]
fn a_test_with_an_audit_panics_for_its_findings() {
    let output = text(case("commit_beyond_the_end").output().unwrap());
    assert!(output.contains("audit: offset_beyond_log_end: orders-0: group 'billing'"), "{output}");
    assert!(output.contains("1 failed"), "{output}");
}
