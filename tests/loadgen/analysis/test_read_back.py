"""Read back the batches that were written since the start of the run."""

from dataclasses import replace

import pyarrow as pa
import pytest

from client.errors import ClientError
from loadgen.analysis.read_back import ARROW_SCHEMA, partition_batches
from loadgen.plan.run_spec import RunSpec
from loadgen.preparation import prepare
from tests.loadgen.runs import of_api, plan_of, run

FIELDS = ("topic", "partition", "base_offset", "producer_id", "epoch", "sequence", "event_id")


@pytest.mark.slow
def test_each_batch_is_read_with_its_producer_and_event(servers: str) -> None:
    plan = plan_of("[{name: a, behaviour: steady, topic: t, clients: 8, rate: 200, records: 3}]")
    before = prepare(plan, "r", servers, sets_quotas=False)
    sent = {tuple(row[field] for field in FIELDS) for row in of_api(run(plan, servers), "Produce")}
    spec = RunSpec("r", plan, before.topology)
    topic = plan.topics[0].name
    batches = [batch for index in range(4) for batch in partition_batches(spec, topic, index)]
    assert all(batch.schema == ARROW_SCHEMA for batch in batches)
    found = pa.Table.from_batches(batches).to_pylist()
    assert {tuple(row[field] for field in FIELDS) for row in found} == sent
    assert {row["records"] for row in found} == {3}
    # A later run does not see them.
    after = RunSpec("r", plan, prepare(plan, "r", servers, sets_quotas=False).topology)
    assert [list(partition_batches(after, topic, index)) for index in range(4)] == [[]] * 4


def test_a_partition_that_cannot_be_read_is_reported(servers: str) -> None:
    plan = plan_of("[{name: a, behaviour: steady, topic: t, rate: 1}]")
    topology = prepare(plan, "r", servers, sets_quotas=False).topology
    topic = plan.topics[0].name
    beyond = replace(topology, start_offsets={topic: {0: 1000}})
    with pytest.raises(ClientError, match=f"{topic}-0: error code 1"):
        list(partition_batches(RunSpec("r", plan, beyond), topic, 0))
