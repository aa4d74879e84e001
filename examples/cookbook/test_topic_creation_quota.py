"""Quota for topic creation (KIP-599): a client over its quota is refused until tokens return."""

from contextlib import closing

import pytest
from kafka import KafkaAdminClient
from kafka.errors import ThrottlingQuotaExceededError

from mock_kafka import DEFAULT


def test_topics_are_created_again_when_tokens_have_returned(mock_kafka):
    mock_kafka.set_clock("standing")
    mock_kafka.quota(user=DEFAULT, controller_mutation_rate=1)
    servers = mock_kafka.bootstrap_servers
    with closing(KafkaAdminClient(bootstrap_servers=servers)) as admin:
        admin.create_topics({"first": {"num_partitions": 15, "replication_factor": 1}})
        with pytest.raises(ThrottlingQuotaExceededError):
            admin.create_topics({"second": {"num_partitions": 1, "replication_factor": 1}})
    mock_kafka.advance(seconds=60)
    with closing(KafkaAdminClient(bootstrap_servers=servers)) as admin:
        admin.create_topics({"second": {"num_partitions": 1, "replication_factor": 1}})
    assert {topic.name for topic in mock_kafka.topics()} == {"first", "second"}
