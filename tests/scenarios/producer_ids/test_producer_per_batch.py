import pytest

from scenarios.producer_ids.growth import Size, broken_promises, live_through
from scenarios.producer_ids.producer_per_batch import STORY


@pytest.mark.interop
def test_every_batch_is_a_new_id_until_the_quota_says_no() -> None:
    off, on = live_through(STORY, Size(hours=1, tries=4, quota=12, records=20))
    assert off.samples[-1].ids == off.tried == 13 * 4 + 2
    assert (off.refused, off.throttle_ms) == (0, 0)
    assert on.samples[-1].ids == on.samples[-1].promised == 24
    assert on.refused == on.tried - 24
    assert on.throttle_ms > 0
    assert [
        broken_promise
        for broken_promise in broken_promises(off, on)
        if "slower" not in broken_promise
    ] == []
