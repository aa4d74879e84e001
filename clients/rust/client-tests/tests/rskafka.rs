use mock_kafka::{json, when, MockKafka, RequestFilter};
use rskafka::client::partition::{Compression, OffsetAt, PartitionClient, UnknownTopicHandling};
use rskafka::client::ClientBuilder;
use rskafka::record::Record;
use std::collections::BTreeMap;
use std::time::Duration;

/// Returns a client of the first partition of the topic `orders`.
async fn orders(kafka: &MockKafka) -> PartitionClient {
    let servers = kafka.bootstrap_servers().split(',').map(String::from).collect();
    let client = ClientBuilder::new(servers).client_id("shop").build().await.unwrap();
    client.partition_client("orders", 0, UnknownTopicHandling::Retry).await.unwrap()
}

fn record(value: &str) -> Record {
    let timestamp = chrono::DateTime::from_timestamp(1_700_000_000, 0).unwrap();
    Record { key: None, value: Some(value.into()), headers: BTreeMap::new(), timestamp }
}

#[tokio::test]
async fn a_consumer_reads_what_a_producer_sent() {
    let kafka = MockKafka::builder().brokers(3).audit().start().unwrap();
    kafka.create_topic("orders", 1).unwrap();
    let orders = orders(&kafka).await;
    orders.produce(vec![record("coffee"), record("tea")], Compression::NoCompression).await.unwrap();
    let offset = orders.get_offset(OffsetAt::Earliest).await.unwrap();
    let (found, high_watermark) = orders.fetch_records(offset, 1..1_000_000, 1_000).await.unwrap();
    assert_eq!((found.len(), high_watermark), (2, 2));
    assert_eq!(found[1].record.value.as_deref(), Some(b"tea".as_slice()));
    let stored = kafka.records("orders").unwrap();
    assert_eq!(stored.iter().map(|one| one.value_text()).collect::<Vec<_>>(), ["coffee", "tea"]);
    assert_eq!(kafka.audit().unwrap().covered, 1);
}

#[tokio::test]
async fn a_refused_request_is_sent_again() {
    let kafka = MockKafka::start().unwrap();
    kafka.create_topic("orders", 1).unwrap();
    let orders = orders(&kafka).await;
    let refused = kafka.fail("NOT_LEADER_OR_FOLLOWER", when().api("Produce").times(1)).unwrap();
    orders.produce(vec![record("coffee")], Compression::NoCompression).await.unwrap();
    assert_eq!((refused.count().unwrap(), refused.is_used_up().unwrap()), (1, true));
    let requests = kafka.requests(&RequestFilter::default().api("Produce").client_id("shop")).unwrap();
    assert_eq!((requests.len(), &requests[0].errors), (2, &vec!["NOT_LEADER_OR_FOLLOWER".to_string()]));
    assert_eq!(kafka.records("orders").unwrap().len(), 1);
}

/// rskafka has no idempotent producer: what it sends again is stored again.
#[tokio::test]
async fn a_lost_acknowledgement_stores_the_record_twice() {
    let kafka = MockKafka::start().unwrap();
    kafka.create_topic("orders", 1).unwrap();
    let orders = orders(&kafka).await;
    let lost = kafka.drop_response(when().api("Produce").times(1)).unwrap();
    orders.produce(vec![record("coffee")], Compression::NoCompression).await.unwrap();
    assert_eq!(lost.count().unwrap(), 1);
    assert_eq!(kafka.records("orders").unwrap().len(), 2);
}

#[tokio::test]
async fn a_delayed_response_waits_for_the_clock() {
    let kafka = MockKafka::start().unwrap();
    kafka.create_topic("orders", 1).unwrap();
    let orders = orders(&kafka).await;
    kafka.set_clock("standing", None).unwrap();
    kafka.delay(Duration::from_secs(3600), when().api("Produce").times(1)).unwrap();
    let sent =
        tokio::spawn(async move { orders.produce(vec![record("coffee")], Compression::NoCompression).await });
    tokio::task::yield_now().await;
    let (sent, kafka) = tokio::task::spawn_blocking(move || {
        let request = kafka.wait_for_request(&RequestFilter::default().api("Produce")).unwrap();
        assert_eq!(request.outcome, "waiting");
        kafka.advance(Duration::from_secs(3600)).unwrap();
        (sent, kafka)
    })
    .await
    .unwrap();
    sent.await.unwrap().unwrap();
    kafka.wait_for_request(&RequestFilter::default().api("Produce").outcome("responded")).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_request_goes_on_when_it_is_released() {
    let kafka = MockKafka::start().unwrap();
    kafka.create_topic("orders", 1).unwrap();
    let orders = orders(&kafka).await;
    let conditions = json!({"topic_data[].partition_data[].records.batches[].record_count": {"min": 2}});
    let held = kafka.hold(when().api("Produce").r#where(conditions).hold("before_response")).unwrap();
    orders.produce(vec![record("coffee")], Compression::NoCompression).await.unwrap();
    let both = vec![record("tea"), record("juice")];
    let sent = tokio::spawn(async move { orders.produce(both, Compression::NoCompression).await });
    held.wait(1).unwrap();
    kafka.advance(Duration::from_secs(20)).unwrap();
    assert_eq!((held.held_count().unwrap(), held.match_count().unwrap()), (1, 1));
    assert_eq!(kafka.records("orders").unwrap().len(), 3);
    assert!(!sent.is_finished());
    held.release_oldest(1).unwrap();
    assert_eq!(sent.await.unwrap().unwrap(), [1, 2]);
    assert!(held.is_armed().unwrap());
    drop(held);
    assert!(kafka.faults().unwrap()[0].is_used_up);
}

#[tokio::test]
async fn a_strict_cluster_refuses_what_was_not_recorded() {
    let recorded = json!({"api": "Fetch", "version": 4, "user": "User:ANONYMOUS", "topics": ["orders"]});
    let world = json!({"topics": [{"name": "orders", "partitions": [{}]}], "requests": [recorded]});
    let files = [("world", world), ("faults", json!([{"api": "Heartbeat", "delay_ms": 1}]))];
    let [world, faults] = files.map(|(name, text)| {
        let path = format!("{}/strict-{name}.json", env!("CARGO_TARGET_TMPDIR"));
        std::fs::write(&path, text.to_string()).unwrap();
        path
    });
    let kafka = MockKafka::builder().snapshot(world).strict().faults(faults).acls().start().unwrap();
    let servers = vec![kafka.bootstrap_servers().into()];
    let client = ClientBuilder::new(servers).build().await.unwrap();
    let created = client.controller_client().unwrap().create_topic("payments", 1, 1, 1000).await;
    assert!(created.is_err());
    let request = kafka.wait_for_request(&RequestFilter::default().api("Metadata")).unwrap();
    assert!(request.fault.contains("not recorded: Metadata"), "{}", request.fault);
    assert!(request.fault.contains("The nearest one is Fetch v4"), "{}", request.fault);
    assert_eq!(kafka.topics().unwrap()[0].name, "orders");
    assert_eq!(kafka.faults().unwrap().len(), 1);
}
