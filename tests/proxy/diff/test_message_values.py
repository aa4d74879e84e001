"""Fields of messages as plain values."""

from uuid import UUID

from protocol import messages
from proxy.diff.message_values import as_values, batches_of, text_or_hex


def test_fields_of_the_version_are_plain_values() -> None:
    topic = messages.MetadataRequest.MetadataRequestTopic(topic_id=UUID(int=1), name="t")
    values = as_values(messages.MetadataRequest(version=12, topics=[topic]), 12)
    assert values["topics"] == [{"topic_id": str(UUID(int=1)), "name": "t"}]
    assert "include_cluster_authorized_operations" not in values


def test_bytes_are_text_or_hex() -> None:
    assert (text_or_hex(b"a"), text_or_hex(b"\xff")) == ("a", {"hex": "ff"})
    assert batches_of(b"abc") == [{"incomplete_bytes": 3}]
