"""`open_admin` with a running cluster."""

import subprocess
import sys

import pytest

from client import Admin, NewPartitions, NewTopic, open_admin
from client.errors import ThrottlingQuotaExceededError, UnreachableError
from mock_kafka import MockKafka


@pytest.mark.slow
def test_topics_are_created_and_extended_and_a_quota_error_is_returned() -> None:
    with (
        MockKafka() as kafka,
        open_admin(kafka.bootstrap_servers, client_id="me", default_api_timeout_ms=2_000) as admin,
    ):
        assert isinstance(admin, Admin)
        assert admin.create_topics([NewTopic("orders", partition_count=2)]) == {"orders": None}
        assert admin.create_partitions({"orders": NewPartitions(3)}) == {"orders": None}
        assert [len(topic.partitions) for topic in kafka.topics()] == [3]
        assert {request.client_id for request in kafka.requests(api="CreateTopics")} == {"me"}

        kafka.quota(user="ANONYMOUS", controller_mutation_rate=0.001)
        large = [NewTopic("large", partition_count=50)]
        assert admin.create_topics(large) == {"large": None}
        refused = admin.create_topics([NewTopic("more", partition_count=1)])["more"]
        assert isinstance(refused, ThrottlingQuotaExceededError)
        assert refused.throttle_time_ms > 0


def test_an_unreachable_broker_is_reported_within_the_timeout() -> None:
    with (
        open_admin("127.0.0.1:1", default_api_timeout_ms=50) as admin,
        pytest.raises(UnreachableError),
    ):
        admin.list_topics()
    with pytest.raises(ValueError, match="is not HOST:PORT"), open_admin("nowhere:x"):
        pass


def test_the_admin_client_loads_no_asyncio_and_unknown_names_fail_to_import() -> None:
    program = "import sys; from client import Admin, NewTopic; print('asyncio' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "False"
    with pytest.raises(ImportError):
        from client import Consumer  # type: ignore[attr-defined]  # noqa: F401, PLC0415
