"""The adapter with the releases of kafka-python before 3.0."""

from collections.abc import Iterator

import pytest

from atlas.clients import OLDER_RELEASES
from atlas.lane import Lane
from atlas.warm_up import plain
from tests.atlas.missing_clients import why_missing
from tests.atlas.plain_runs import check_plain, lost_response, refused, run

pytestmark = [pytest.mark.interop, pytest.mark.long]
_OLDEST = "kafka-python==2.0.6"


@pytest.fixture(
    scope="module", params=[name for name in OLDER_RELEASES if name.startswith("kafka-python")]
)
def lane(request: pytest.FixtureRequest) -> Iterator[Lane]:
    reason = why_missing(request.param)
    if reason is not None:
        pytest.skip(reason)
    lane = Lane(request.param)
    yield lane
    lane.close()


@pytest.mark.parametrize("workload", ["produce_each", "consume", "group", "create_topic", "admin"])
def test_a_workload_succeeds_without_faults(lane: Lane, workload: str) -> None:
    check_plain(lane, workload)


@pytest.mark.parametrize("workload", ["transaction", "process", "rebalance"])
def test_what_a_release_lacks_is_unsupported(lane: Lane, workload: str) -> None:
    if lane.client != _OLDEST:
        check_plain(lane, workload)
    else:
        assert run(lane, plain(workload)).cell == "unsupported"


def test_a_lost_response_is_harmless_for_an_idempotent_producer(lane: Lane) -> None:
    result = run(lane, lost_response(idempotent=True))
    # 2.0 has no idempotent producer, and repeats nothing: it reports an error.
    expected = ("differs", "kept") if lane.client == _OLDEST else ("as_expected", "kept")
    assert (result.cell, result.data) == expected


def test_an_error_has_the_name_and_the_class_of_the_library(lane: Lane) -> None:
    seen = run(lane, refused()).manners
    assert (seen.error, seen.reported) == ("MessageSizeTooLargeError", "fatal")
