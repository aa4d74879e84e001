"""ReadShareGroupState on the wire."""

from protocol.errors import ErrorCode
from tests.broker.share_driver import ACCEPT, RELEASE
from tests.broker.share_state_driver import ask_state, joined_driver


def test_the_batches_that_a_leader_wrote_are_read() -> None:
    driver = joined_driver()
    driver.produce(b"a", b"b", b"c")
    driver.acquire(1)
    driver.acknowledge(1, (0, 2, [RELEASE, ACCEPT, ACCEPT]))

    state = ask_state(driver, "ReadShareGroupStateRequest", "ReadStateData", leader_epoch=0)

    assert (state.error_code, state.start_offset) == (ErrorCode.NONE, 0)
    assert [
        (one.first_offset, one.last_offset, one.delivery_state, one.delivery_count)
        for one in state.state_batches
    ] == [(0, 0, 0, 1), (1, 2, 2, 1)]


def test_what_was_not_begun_is_not_read() -> None:
    driver = joined_driver()

    state = ask_state(driver, "ReadShareGroupStateRequest", "ReadStateData", group_id="other")

    assert state.error_code in {ErrorCode.INVALID_REQUEST, ErrorCode.NOT_COORDINATOR}
