"""AlterUserScramCredentials: one result per user, for all brokers."""

from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import call, make_cluster

_Request = messages.AlterUserScramCredentialsRequest


def test_each_user_has_one_result_and_changes_apply_to_every_broker() -> None:
    cluster = make_cluster(2, **{"sasl.users": "alice:secret"})
    request = _Request(
        deletions=[
            _Request.ScramCredentialDeletion(name="alice", mechanism=1),
            _Request.ScramCredentialDeletion(name="nobody", mechanism=1),
        ],
        upsertions=[
            _Request.ScramCredentialUpsertion(
                name="bob", mechanism=2, iterations=5000, salt=b"s", salted_password=b"salted"
            )
        ],
    )
    response = call(cluster, request, 0, broker_id=1)
    assert [(result.user, result.error_code) for result in response.results] == [
        ("alice", ErrorCode.NONE),
        ("bob", ErrorCode.NONE),
        ("nobody", ErrorCode.RESOURCE_NOT_FOUND),
    ]
    assert response.results[0].error_message is None
    assert "does not exist" in response.results[2].error_message

    describe_request = messages.DescribeUserScramCredentialsRequest(users=None)
    described = call(cluster, describe_request, 0, broker_id=2)
    assert [
        (result.user, [(info.mechanism, info.iterations) for info in result.credential_infos])
        for result in described.results
    ] == [("bob", [(2, 5000)]), ("alice", [(2, 4096)])]
