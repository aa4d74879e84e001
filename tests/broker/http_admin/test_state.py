"""Look-ups of missing resources are errors, and bytes are encoded for JSON."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.http_admin.operation import Problem
from broker.http_admin.state import bytes_for_json
from tests.broker.cluster_builder import NOW_MS
from tests.broker.http_admin.admin_server import make_admin


def test_lookups_return_existing_topics_and_partitions() -> None:
    admin = make_admin()
    topic = admin.cluster.create_topic("orders", [(1,), (2,)], {})

    assert admin.topic("orders") is topic
    assert admin.partition("orders", 1) is topic.partitions[1]
    assert admin.topic_name(topic.topic_id) == "orders"
    assert admin.topic_name(UUID(int=9**9)) is None
    assert admin.now_ms() == NOW_MS
    admin.check_broker(3)


def test_a_missing_resource_is_a_404_that_lists_the_existing_ones() -> None:
    admin = make_admin()
    admin.cluster.create_topic("orders", [(1,), (2,)], {})

    with pytest.raises(Problem, match="there are: orders") as caught:
        admin.topic("order")
    assert caught.value.status == 404
    with pytest.raises(Problem, match="0 to 1"):
        admin.partition("orders", 2)
    with pytest.raises(Problem, match="1, 2, 3"):
        admin.check_broker(4)


@given(st.text())
def test_text_is_shown_as_text_unless_base64_is_requested(text: str) -> None:
    assert bytes_for_json(text.encode()) == {"text": text}
    assert bytes_for_json(text.encode(), "base64").keys() == {"base64"}


def test_other_bytes_are_shown_in_base64_and_none_as_null() -> None:
    assert bytes_for_json(b"\xff\x00") == {"base64": "/wA="}
    assert bytes_for_json(None) is None
