"""AddRaftVoter: voters are fixed."""

from typing import Any
from uuid import UUID

import pytest

from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import CLUSTER_ID, call, make_cluster

DIRECTORY_ID = UUID(int=7)


def ask(
    cluster_id: str | None = None,
    voter_id: int = 1,
    directory_id: UUID = DIRECTORY_ID,
    listener_names: tuple[str, ...] = ("CONTROLLER",),
    version: int = 0,
    *,
    ack_when_committed: bool = True,
) -> Any:
    request = messages.AddRaftVoterRequest(
        version=version,
        cluster_id=cluster_id,
        voter_id=voter_id,
        voter_directory_id=directory_id,
        timeout_ms=1000,
        listeners=[
            messages.AddRaftVoterRequest.Listener(name=name, host="localhost", port=9)
            for name in listener_names
        ],
        ack_when_committed=ack_when_committed,
    )
    return call(make_cluster(1), request, version)


@pytest.mark.parametrize("cluster_id", [None, CLUSTER_ID])
def test_a_valid_request_is_not_supported(cluster_id: str | None) -> None:
    response = ask(cluster_id)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert response.error_message == (
        "Cluster doesn't support adding voter because the kraft.version feature is 0"
    )


@pytest.mark.parametrize("ack_when_committed", [True, False])
def test_version_1_is_refused_before_or_after_the_commit(*, ack_when_committed: bool) -> None:
    assert ask(version=1, ack_when_committed=ack_when_committed).to_dict() == ask().to_dict()


def test_another_cluster_is_refused() -> None:
    assert ask("other").error_code == ErrorCode.INCONSISTENT_CLUSTER_ID


@pytest.mark.parametrize(("voter_id", "directory_id"), [(-1, DIRECTORY_ID), (1, UUID(int=0))])
def test_a_voter_needs_an_id_and_a_directory_id(voter_id: int, directory_id: UUID) -> None:
    response = ask(voter_id=voter_id, directory_id=directory_id)
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert response.error_message == "Add voter request didn't include a valid voter"


def test_a_voter_needs_an_address_of_the_controllers_listener() -> None:
    response = ask(listener_names=("other",))
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert response.error_message == (
        "Add voter request didn't include the endpoint"
        " (Endpoints(endpoints={ListenerName(OTHER)=localhost/<unresolved>:9})) for the default"
        " listener ListenerName(CONTROLLER)"
    )
    assert ask(listener_names=("controller",)).error_code == ErrorCode.UNSUPPORTED_VERSION
