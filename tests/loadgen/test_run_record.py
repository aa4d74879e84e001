"""The record of a run has all that a summary needs, and no passwords."""

from pathlib import Path
from uuid import uuid4

import pytest

from client.resources import Address
from loadgen.analysis.committed_offsets import CommittedOffset
from loadgen.plan.plan_file import load_plan, parse_plan
from loadgen.plan.run_spec import PreparedTarget, Topology
from loadgen.run_record import FILE, RunRecord, read_record, run_ids
from loadgen.storage import Storage, StorageError


def record_of(run_id: str, plan_name: str = "mixed-tenants") -> RunRecord:
    topology = Topology({1: Address("h", 9092)}, 1, {"t": [1, 1]}, {"t": uuid4()}, {"t": {0: 5}})
    target = PreparedTarget(topology, {"controller.quota.window.num": 11.0}, ["producer_ids_rate"])
    return RunRecord(run_id, load_plan(plan_name), target, "h:9092", "local[2]", "then", 2)


@pytest.mark.parametrize("plan_name", ["mixed-tenants", "exactly-once", "topic-storm"])
def test_a_record_is_read_as_it_was_written_but_for_passwords(
    tmp_path: Path, plan_name: str
) -> None:
    storage = Storage(str(tmp_path))
    record = record_of("r", plan_name)
    record.offsets = [CommittedOffset("a", 0, 3)]
    record.write(storage)
    found = read_record(storage, "r")
    assert found.target == record.target
    assert found.offsets == record.offsets
    assert found.plan.quotas == record.plan.quotas
    assert [t.principal for t in found.plan.tenants] == [t.principal for t in record.plan.tenants]
    assert all(tenant.password is None for tenant in found.plan.tenants)
    assert run_ids(storage) == ["r"]


def test_no_secret_is_written(tmp_path: Path) -> None:
    record = record_of("r")
    record.plan = parse_plan(
        "duration_s: 1\ntopics: [{name: t}]\n"
        "target: {config: {sasl.users: 'a:hidden1'}, security: {sasl.password: hidden2}}\n"
        "tenants: [{name: a, user: a, password: hidden3, behaviour: steady, rate: 1, topic: t}]\n",
        "p.yaml",
    )
    record.write(Storage(str(tmp_path)))
    assert "hidden" not in (tmp_path / "results" / "run=r" / FILE).read_text()


def test_a_record_that_can_not_be_read_is_one_line(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    with pytest.raises(StorageError, match="cannot read"):
        read_record(storage, "none")
    storage.write(b"{}", "results", "run=r", FILE)
    with pytest.raises(StorageError, match="run_id"):
        read_record(storage, "r")
