"""The requests of a recording, to a running cluster."""

import pytest

from client.errors import SecurityError
from client.tools.session import ToolError
from proxy.recording.fetched_records import ReadBatch, read_batches
from proxy.recording.world_admin import FetchPlace, WorldAdmin, open_world_admin


def test_a_cluster_says_what_it_is(world_admin: WorldAdmin) -> None:
    (broker,) = world_admin.metadata().brokers
    assert (broker.node_id, broker.rack) == (1, "east")
    served = world_admin.api_versions()
    assert {feature.name for feature in served.finalized_features} >= {"metadata.version"}
    assert 0 in {api.api_key for api in served.api_keys}


@pytest.mark.parametrize("has_id", [True, False])
def test_batches_are_fetched_from_an_offset_on(world_admin: WorldAdmin, *, has_id: bool) -> None:
    leader = world_admin.describe_cluster().brokers[1]
    topic_id = {name: found for found, name in world_admin.topic_names().items()}["orders"]
    place = FetchPlace("orders", topic_id if has_id else None, 1, 6)
    response = world_admin.fetch(leader, place, is_committed=True)
    if not has_id:
        assert response.responses[0].partitions[0].error_code == 100
        return
    (part,) = response.responses[0].partitions
    batches = list(read_batches(bytes(part.records or b"")))
    assert isinstance(batches[-1], ReadBatch)
    assert batches[-1].records[-1].offset == 6
    assert (part.log_start_offset, part.high_watermark) == (2, 7)


def test_invalid_properties_are_errors() -> None:
    with pytest.raises(SecurityError), open_world_admin("a:1", {"security.protocol": "x"}):
        pass
    with pytest.raises(ToolError), open_world_admin("a:1", {"request.timeout.ms": "soon"}):
        pass
