"""The methods for quotas, of a cluster; tests/mock_kafka/test_methods.py has those with clients."""

from mock_kafka import DEFAULT, MockKafka


def test_a_quota_is_set_changed_and_removed() -> None:
    with MockKafka() as kafka:
        kafka.quota(user="alice", producer_byte_rate=1024)
        kafka.quota(user=DEFAULT, producer_ids_rate=2)
        (alice, default) = kafka.control.ask("GET", "/v1/quotas")
        assert (alice["entity"], default["entity"]) == ({"user": "alice"}, {"user": None})
        kafka.quota(user="alice", producer_byte_rate=None)
        assert len(kafka.control.ask("GET", "/v1/quotas")) == 1
        assert kafka.shadow_report() == []
