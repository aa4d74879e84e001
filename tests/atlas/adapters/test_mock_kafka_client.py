from collections.abc import Iterator

import pytest

from atlas.lane import Lane
from tests.atlas.adapters.admin_calls import AdminCallTests
from tests.atlas.plain_runs import check_plain, lost_response, refused, run

pytestmark = pytest.mark.interop


@pytest.fixture(scope="module")
def lane() -> Iterator[Lane]:
    lane = Lane("mock-kafka-client")
    yield lane
    lane.close()


@pytest.mark.parametrize(
    "workload",
    [
        "produce",
        "produce_each",
        "produce_idle",
        "batches",
        "transaction",
        "create_topic",
        "admin",
    ],
)
def test_a_workload_succeeds_without_faults(lane: Lane, workload: str) -> None:
    check_plain(lane, workload)


def test_a_lost_response_is_harmless_for_an_idempotent_producer_only(lane: Lane) -> None:
    result = run(lane, lost_response(idempotent=True))
    assert (result.cell, result.data, result.manners.retries) == ("as_expected", "kept", 1)
    result = run(lane, lost_response(idempotent=False))
    assert (result.cell, result.data) == ("differs", "duplicated")


def test_an_error_has_the_name_and_the_class_of_the_library(lane: Lane) -> None:
    seen = run(lane, refused()).manners
    assert (seen.error, seen.reported) == ("MESSAGE_TOO_LARGE", "fatal")


class TestMockKafkaAdmin(AdminCallTests):
    client = "mock-kafka-client"
    error = ("TOPIC_ALREADY_EXISTS", "fatal")
    lacking = frozenset({"delete_records"})
