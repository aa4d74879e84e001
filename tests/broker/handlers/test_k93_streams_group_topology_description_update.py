"""StreamsGroupTopologyDescriptionUpdate on the wire."""

from typing import Any

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.groups.group_cluster import GROUP
from tests.broker.handlers.streams_requests import make_cluster

_Description = messages.StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescription


def update(release: str) -> Any:
    return make_cluster(release).ask(
        ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE,
        0,
        group_id=GROUP,
        member_id="m",
        topology_epoch=0,
        topology_description=_Description(version=0, subtopologies=[], global_stores=[]),
    )


def test_there_is_no_plugin_for_descriptions() -> None:
    response = update("4.4")
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert response.error_message == (
        "The broker has no streams group topology description plugin configured."
    )
    off = update("4.1")
    assert (off.error_code, off.error_message) == (ErrorCode.UNSUPPORTED_VERSION, None)
