from mock_kafka import ConfigValue, MockKafka
from scenarios.producer_ids.quick_producer import QuickProducer, Written, place_of

CONFIG: dict[str, ConfigValue] = {
    "listeners": "SASL_PLAINTEXT://:0",
    "sasl.users": "me:me",
    "broker.clock": "standing",
    # Shorter than a connection may be idle.
    "producer.id.quota.window.size.seconds": 300,
}


def test_a_batch_is_written_refused_and_written_again_when_time_has_passed() -> None:
    with MockKafka(config=CONFIG) as lab:
        lab.create_topic("t", 1)
        lab.quota(user="me", producer_ids_rate=1)
        place, now_ms = place_of(lab, "t"), lab.now_ms()
        with (
            QuickProducer(lab.bootstrap_servers, "me", now_ms) as first,
            QuickProducer(lab.bootstrap_servers, "me", now_ms) as second,
        ):
            assert first.producer_id != second.producer_id
            assert [first.write(place) for _ in range(2)] == [Written(None, 0)] * 2
            refused = second.write(place)
            assert refused == Written("THROTTLING_QUOTA_EXCEEDED", 300_000)
            lab.advance(ms=refused.throttle_time_ms)
            assert second.write(place) == Written(None, 0)
        assert [record.value for record in lab.records("t")] == [b"0", b"1", b"0"]
