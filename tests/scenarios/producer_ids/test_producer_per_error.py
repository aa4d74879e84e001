import pytest

from scenarios.producer_ids.growth import Size, broken_promises, live_through
from scenarios.producer_ids.producer_per_error import STORY


@pytest.mark.interop
def test_every_error_is_a_new_id_until_the_quota_says_no() -> None:
    off, on = live_through(STORY, Size(hours=1, tries=9, quota=10, records=20))
    # Every third request fails by a fault.
    assert off.other_errors == on.other_errors == off.tried // 3
    assert off.refused == 0
    assert off.samples[-1].ids > 20
    assert on.refused > 0
    assert on.samples[-1].ids == on.samples[-1].promised == 20
    assert [
        broken_promise
        for broken_promise in broken_promises(off, on)
        if "slower" not in broken_promise
    ] == []
