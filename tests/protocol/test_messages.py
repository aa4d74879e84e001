"""Messages are found by API key, with the ranges of Kafka's schemas."""

import pytest

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.messages import is_flexible, request_class, response_class, schema_versions


def test_a_request_and_its_response_have_the_same_key() -> None:
    for api_key in ApiKey:
        assert request_class(api_key).API_KEY == response_class(api_key).API_KEY == api_key
        assert (request_class(api_key).type, response_class(api_key).type) == (
            "request",
            "response",
        )


@pytest.mark.parametrize(
    ("api_key", "versions", "first_flexible"),
    [
        (ApiKey.PRODUCE, (3, 13), 9),
        (ApiKey.FETCH, (4, 18), 12),
        (ApiKey.METADATA, (0, 13), 9),
        (ApiKey.CREATE_TOPICS, (2, 7), 5),
        (ApiKey.OFFSET_DELETE, (0, 0), None),
    ],
)
def test_version_ranges_and_flexible_versions_are_those_of_kafka(
    api_key: ApiKey, versions: tuple[int, int], first_flexible: int | None
) -> None:
    assert schema_versions(api_key) == versions
    flexible = [v for v in range(versions[0], versions[1] + 1) if is_flexible(api_key, v)]
    assert (flexible[0] if flexible else None) == first_flexible


def test_every_key_has_messages_which_can_be_imported_by_their_names() -> None:
    for api_key in ApiKey:
        for message_class in (request_class(api_key), response_class(api_key)):
            assert getattr(messages, message_class.__name__) is message_class
            assert message_class.__name__ in messages.MESSAGE_NAMES
            assert message_class.__name__ == message_class.name


def test_every_exported_name_exists() -> None:
    assert [name for name in messages.MESSAGE_NAMES if not hasattr(messages, name)] == []


def test_an_api_without_messages_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        request_class(7)  # type: ignore[arg-type]
