//! The methods of a cluster.

use mock_kafka::{when, Error, MockKafka, NewRecord, NewTopicBody, RequestFilter};
use serde_json::json;
use std::io::Read;
use std::time::{Duration, UNIX_EPOCH};

/// Larger than the integers that a float has room for.
const SEED: i64 = (1 << 62) + 1;

#[test]
fn records_keep_their_bytes() {
    let kafka = MockKafka::start().unwrap();
    kafka.create_topic("orders", 2).unwrap();
    let first = NewRecord {
        partition: Some(1),
        timestamp: Some(UNIX_EPOCH + Duration::from_millis(1_700_000_000_123)),
        key: Some(vec![255, 0]),
        value: Some(vec![]),
        headers: vec![("a".into(), Some(b"b".to_vec())), ("null".into(), None)],
    };
    let second = NewRecord { partition: Some(1), ..Default::default() };
    let stored = kafka.produce("orders", [first.clone(), second]).unwrap();
    assert_eq!(kafka.records("orders").unwrap(), stored);
    assert_eq!((stored[0].timestamp, &stored[0].headers), (first.timestamp.unwrap(), &first.headers));
    assert_eq!((stored[1].partition, stored[1].offset, &stored[1].value), (1, 1, &None));
    assert_eq!(kafka.produce("orders", Vec::<&str>::new()).unwrap(), []);
}

#[test]
fn more_records_than_one_response_has() {
    let kafka = MockKafka::start().unwrap();
    kafka.create_topic("orders", 2).unwrap();
    for (partition, count) in [(0, 10_000), (1, 10_000), (1, 5)] {
        let record = NewRecord { partition: Some(partition), ..Default::default() };
        kafka.produce("orders", vec![record; count]).unwrap();
    }
    let found = kafka.records("orders").unwrap();
    assert_eq!((found.len(), found[9_999].offset, found[20_004].offset), (20_005, 9_999, 10_004));
}

#[test]
fn an_error_has_the_status_and_the_problem() {
    let kafka = MockKafka::start().unwrap();
    let error = kafka.admin().get_topic("a/b ?").unwrap_err();
    assert!(
        matches!(error, Error::Refused { status: 404, .. }) && error.to_string().contains("a/b ?"),
        "{error}"
    );
    kafka.fail("NOT_ENOUGH_REPLICAS", when().api("Produce")).unwrap();
    let Error::Refused { problem, .. } = kafka.admin().remove_fault(99).unwrap_err() else { panic!() };
    assert!(problem.detail.contains(&problem.remedy.as_ref().unwrap().effect), "{problem:?}");
}

#[test]
fn the_clock_moves() {
    let kafka = MockKafka::start().unwrap();
    kafka.set_clock("standing", None).unwrap();
    let before = kafka.now().unwrap();
    let after = kafka.advance(Duration::from_secs(5400)).unwrap();
    assert_eq!(after.duration_since(before).unwrap(), Duration::from_secs(5400));
    assert_eq!(kafka.now().unwrap(), after);
    kafka.set_clock("scaled", Some(2.5)).unwrap();
    assert_eq!(kafka.admin().get_clock().unwrap().factor, 2.5);
}

#[test]
fn faults_have_the_fields_that_were_set() {
    let kafka = MockKafka::start().unwrap();
    let produce = || when().api("Produce").topic("orders").partition(0).times(2);
    let first = kafka.fail("NOT_ENOUGH_REPLICAS", produce()).unwrap();
    kafka.respond(json!({"throttle_time_ms": 7}), produce()).unwrap();
    kafka.delay(Duration::from_millis(1500), when().api("Fetch")).unwrap();
    kafka.drop_request(produce()).unwrap();
    kafka.drop_response(produce()).unwrap();
    kafka.drop_response(when().api("Fetch").drop_after_bytes(3)).unwrap();
    kafka.hang(when().api("Fetch").seed(SEED)).unwrap();
    kafka.throttle(Duration::from_secs(1), when().mute(false)).unwrap();
    let found = kafka.faults().unwrap();
    assert_eq!(found[0].rule, produce().error("NOT_ENOUGH_REPLICAS"));
    assert_eq!(found[1].rule.response, Some(json!({"throttle_time_ms": 7})));
    assert_eq!(found[2].rule.delay_ms, Some(1500));
    let drops: Vec<_> = found[3..6].iter().map(|fault| fault.rule.drop.as_deref().unwrap()).collect();
    assert_eq!(drops, ["before_handling", "before_response", "within_response"]);
    assert_eq!((found[6].rule.hang.as_deref(), found[6].rule.seed), (Some("before_response"), Some(SEED)));
    assert_eq!((found[7].rule.throttle_time_ms, found[7].rule.mute), (Some(1000), Some(false)));
    assert_eq!((first.count().unwrap(), first.is_used_up().unwrap()), (0, false));
    first.remove().unwrap();
    assert!(first.count().unwrap_err().to_string().contains("was removed"));
    kafka.clear_faults().unwrap();
    assert!(kafka.faults().unwrap().is_empty());
}

#[test]
fn a_wait_that_ends_says_what_there_is() {
    let mut kafka = MockKafka::start().unwrap();
    kafka.set_timeout(Duration::from_millis(10));
    kafka.produce("orders", ["coffee"]).unwrap();
    let errors = [
        kafka.wait_for_records("orders", 2).unwrap_err(),
        kafka.wait_for_records("invoices", 1).unwrap_err(),
        kafka.wait_for_request(&RequestFilter::default().api("Fetch")).unwrap_err(),
        kafka.wait_for_stable("billing", Some(1)).unwrap_err(),
        kafka.fail("INVALID_RECORD", when().api("Produce")).unwrap().wait(2).unwrap_err(),
        kafka.hold(when().api("Produce")).unwrap().wait(1).unwrap_err(),
    ];
    let expected = [
        "topic 'orders' had 1 of 2 records in 0.01 s",
        "topic 'invoices' did not exist after 0.01 s",
        "no request with api='Fetch' in 0.01 s, and no request at all",
        "group \"billing\" was not stable in 10ms",
        "fired 0 of 2 in 0.01 s, and matched 0",
        "held 0 of 1 in 0.01 s, and matched 0",
    ];
    for (error, expected) in errors.iter().zip(expected) {
        assert!(matches!(error, Error::Timeout(_)) && error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn a_snapshot_is_loaded_as_it_was() {
    let kafka = MockKafka::start().unwrap();
    kafka.produce("orders", ["coffee"]).unwrap();
    kafka.quota(&[("user", Some("alice")), ("client-id", None)], &[("producer_byte_rate", 1000.0)]).unwrap();
    kafka.delay(Duration::ZERO, when().api("Fetch").seed(SEED)).unwrap();
    let before = kafka.snapshot().unwrap();
    kafka.reset().unwrap();
    assert!(kafka.topics().unwrap().is_empty());
    kafka.load_snapshot(&before).unwrap();
    assert_eq!(kafka.snapshot().unwrap(), before);
    assert_eq!(kafka.records("orders").unwrap()[0].value_text(), "coffee");
    assert_eq!(kafka.faults().unwrap()[0].rule.seed, Some(SEED));
}

#[test]
fn brokers_stop_and_leaders_move() {
    let kafka = MockKafka::builder().brokers(3).start().unwrap();
    let topic = NewTopicBody { name: "orders".into(), ..Default::default() };
    kafka.admin().create_topic(&topic.partitions(1).replication_factor(3)).unwrap();
    let leader = || kafka.topics().unwrap()[0].partitions[0].leader;
    kafka.move_leader("orders", 0, 2).unwrap();
    assert_eq!(leader(), Some(2));
    kafka.stop_broker(2).unwrap();
    assert_ne!(leader(), Some(2));
    kafka.start_broker(2).unwrap();
    kafka.move_coordinator("billing", 2).unwrap();
}

#[test]
fn other_responses_than_json() {
    let kafka = MockKafka::start().unwrap();
    let metrics = kafka.admin().get_metrics().unwrap();
    assert!(String::from_utf8(metrics).unwrap().contains("# TYPE"));
    kafka.add_fault(when().refuse_connection(true)).unwrap();
    let _ = std::net::TcpStream::connect(kafka.bootstrap_servers());
    kafka.wait_for_request(&RequestFilter::default().kind("connection")).unwrap();
    let mut events = kafka.admin().follow_requests(&Default::default()).unwrap();
    kafka.reset().unwrap();
    let _ = std::net::TcpStream::connect(kafka.bootstrap_servers());
    let mut first = [0; 1];
    events.read_exact(&mut first).unwrap();
}
