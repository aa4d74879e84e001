"""Offsets of a group that never had a member expire by their own age."""

import pytest

from broker.groups.group import Group
from broker.groups.offset_expiry import expiry_ms
from broker.groups.results import CommittedOffset
from broker.timers import Timers

NOW_MS = 1_700_000_000_000


@pytest.mark.parametrize(
    ("expires_ms", "expected"), [(None, NOW_MS + 100), (NOW_MS + 7, NOW_MS + 7)]
)
def test_an_offset_without_members(expires_ms: int | None, expected: int) -> None:
    group = Group(
        "g", Timers(), initial_rebalance_delay_ms=0, now_ms=NOW_MS, on_metadata=lambda *_: None
    )
    committed = CommittedOffset(1, -1, "", NOW_MS, expires_ms)
    assert expiry_ms(group, "t", committed, 100) == expected
