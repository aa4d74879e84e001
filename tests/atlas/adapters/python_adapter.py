"""Experiments of known outcome with the adapter of a library in Python that has all of it."""

from collections.abc import Iterator

import pytest

from atlas.lane import Lane
from tests.atlas.plain_runs import check_plain, lost_response, refused, run

WORKLOADS = (
    *("produce", "produce_each", "produce_idle", "batches", "transaction", "process"),
    *("consume", "group", "rebalance", "create_topic", "admin"),
)


class PythonAdapterTests:
    """Tests of `client`; `error` is the library's name and the class of MESSAGE_TOO_LARGE."""

    client: str
    error: tuple[str, str]

    @pytest.fixture(scope="class")
    @classmethod
    def lane(cls) -> Iterator[Lane]:
        lane = Lane(cls.client)
        yield lane
        lane.close()

    @pytest.mark.parametrize("workload", WORKLOADS)
    def test_a_workload_succeeds_without_faults(self, lane: Lane, workload: str) -> None:
        check_plain(lane, workload)

    def test_a_lost_response_is_harmless_for_an_idempotent_producer_only(self, lane: Lane) -> None:
        result = run(lane, lost_response(idempotent=True))
        assert (result.cell, result.data, result.manners.retries) == ("as_expected", "kept", 1)
        result = run(lane, lost_response(idempotent=False))
        assert (result.cell, result.data) == ("differs", "duplicated")

    def test_an_error_has_the_name_and_the_class_of_the_library(self, lane: Lane) -> None:
        seen = run(lane, refused()).manners
        assert (seen.error, seen.reported) == self.error
