import pytest

from atlas.lane import Lane
from tests.atlas.adapters.python_adapter import PythonAdapterTests
from tests.atlas.plain_runs import check_plain

pytestmark = pytest.mark.interop


class TestConfluentKafka(PythonAdapterTests):
    client = "confluent-kafka"
    error = ("MSG_SIZE_TOO_LARGE", "unknown")

    def test_a_share_group_reads_and_acknowledges(self, lane: Lane) -> None:
        check_plain(lane, "share")
