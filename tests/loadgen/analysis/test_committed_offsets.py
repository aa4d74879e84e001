"""The committed offsets of a tenant's group are read when its transactions have ended."""

import pytest

from client.errors import ClientError
from loadgen.analysis import committed_offsets as module
from loadgen.analysis.committed_offsets import committed_offsets
from loadgen.plan.plan_file import parse_plan
from loadgen.plan.run_spec import RunSpec
from loadgen.preparation import prepare
from mock_kafka import MockKafka

PLAN = parse_plan(
    """
duration_s: 1
topics: [{name: a, partitions: 2}, {name: b}]
tenants:
  - {name: c, behaviour: consume-transform-produce, source: a, topic: b, rate: 1,
     transaction_timeout_ms: 1}
""",
    "p.yaml",
)


def test_a_group_without_offsets_has_none(servers: str) -> None:
    found = prepare(PLAN, "none", servers, sets_quotas=False)
    assert committed_offsets(RunSpec("none", PLAN, found.topology)) == []


@pytest.mark.slow
def test_offsets_that_stay_unstable_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GIVE_UP_MS", -1000)
    with MockKafka() as kafka:
        kafka.add_fault(api="OffsetFetch", error="UNSTABLE_OFFSET_COMMIT")
        found = prepare(PLAN, "open", kafka.bootstrap_servers, sets_quotas=False)
        with pytest.raises(ClientError, match=r"offsets of group open\.c: error code 88"):
            committed_offsets(RunSpec("open", PLAN, found.topology))
