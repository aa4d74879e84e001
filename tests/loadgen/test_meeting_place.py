"""The workers of one host start together."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from loadgen.meeting_place import MeetingPlace, meet


def test_each_worker_gets_the_messages_of_all() -> None:
    with MeetingPlace(3) as place, ThreadPoolExecutor(3) as pool:
        calls = [pool.submit(meet, place.address, 3, str(number)) for number in range(3)]
        found = [call.result() for call in calls]
    assert found[0] == found[1] == found[2]
    assert sorted(found[0]) == ["0", "1", "2"]


def test_a_worker_that_waits_when_the_place_closes_gets_an_error() -> None:
    with ThreadPoolExecutor(1) as pool:
        with MeetingPlace(2) as place:
            call = pool.submit(meet, place.address, 2, "0")
            while place.arrived < 1:
                pass
        with pytest.raises(ConnectionResetError):
            call.result()
