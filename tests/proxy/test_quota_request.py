"""How a request under a quota reaches the cluster."""

from typing import Any

from broker.responses import Close, DispatchResult
from protocol import codec, messages
from protocol.api_keys import ApiKey
from proxy.quota_request import QuotaRequest
from tests.broker.cluster_builder import make_cluster, make_context

HEAD = b"head"


def list_groups(frames: list[bytes], response: DispatchResult = None) -> QuotaRequest:
    def send(frame: bytes) -> DispatchResult:
        frames.append(frame)
        return response

    context = make_context(ApiKey.LIST_GROUPS, 2)
    return QuotaRequest(context, HEAD, b"", make_cluster(1), send, send)


def answer() -> bytes:
    message = messages.ListGroupsResponse(version=2, throttle_time_ms=0, error_code=0, groups=[])
    return codec.encode_response(1, ApiKey.LIST_GROUPS, 2, message)


def test_a_request_is_passed_on_as_it_is() -> None:
    frames: list[bytes] = []
    assert list_groups(frames, b"response").pass_on() == b"response"
    assert frames == [HEAD]


def test_the_response_to_the_rest_is_changed() -> None:
    def refuse(response: Any) -> Any:
        response.error_code = 15
        return response

    frames: list[bytes] = []
    request = list_groups(frames, answer())
    result = request.send_rest(request.decoded(), refuse)
    assert frames == [HEAD]
    assert isinstance(result, bytes)
    assert codec.decode_response(result, ApiKey.LIST_GROUPS, 2).error_code == 15


def test_a_question_without_an_answer_ends_the_connection() -> None:
    request = list_groups([])
    message = messages.ListGroupsRequest(version=2)
    result = request.ask(ApiKey.LIST_GROUPS, 2, message, lambda _: b"")
    assert result == Close("no response to LIST_GROUPS")
