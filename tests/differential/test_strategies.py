"""Generated conversations are requests that can be sent, in every version of every API."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import messages
from protocol.codec import decode_body
from proxy.diff.message_values import as_values
from tests.differential.arguments import build
from tests.differential.canonical import Names
from tests.differential.conversation import Conversation, Send
from tests.differential.search import schemas
from tests.differential.strategies import Subject, arguments, conversations

VERSIONS = {name: (low, high) for name, low, high in schemas().values()}
NAMES = Names("zq01234567-", 1_700_000_000_000)


@pytest.mark.slow
@pytest.mark.parametrize("api", sorted(VERSIONS))
@settings(max_examples=10)
@given(data=st.data())
def test_generated_arguments_can_be_encoded_in_every_version(api: str, data: st.DataObject) -> None:
    low, high = VERSIONS[api]
    request_class = messages.request_class(messages.api_key_of(api))
    for version in range(low, high + 1):
        fields = data.draw(arguments(api, version))
        request = build(request_class, version, fields, NAMES.resolve)
        body = bytes(request.encode(version=version))
        decoded = decode_body(request_class, version, memoryview(body))
        assert as_values(decoded, version) == as_values(request, version)


@settings(max_examples=30)
@given(data=st.data(), api=st.sampled_from(sorted(VERSIONS)))
def test_a_conversation_has_a_request_of_its_api(data: st.DataObject, api: str) -> None:
    conversation: Conversation = data.draw(conversations(Subject(api, VERSIONS)))
    sent = [step for step in conversation.steps if isinstance(step, Send)]
    assert api in {step.api for step in sent}
    for step in sent:
        low, high = VERSIONS[step.api]
        assert low <= step.version <= high
