"""What an assignor is given."""

from uuid import UUID

from broker.groups.consumer.group_spec import topic_order


def test_topic_ids_are_ordered_as_javas_two_signed_numbers() -> None:
    negative = UUID(int=1 << 127)
    low_negative = UUID(int=(5 << 64) | (1 << 63))
    ordered = sorted([UUID(int=5 << 64), UUID(int=0), low_negative, negative], key=topic_order)
    assert ordered == [negative, UUID(int=0), low_negative, UUID(int=5 << 64)]
