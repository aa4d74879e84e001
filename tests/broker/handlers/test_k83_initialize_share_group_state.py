"""InitializeShareGroupState on the wire."""

from protocol.errors import ErrorCode
from tests.broker.share_state_driver import ask_state, joined_driver


def test_a_state_begins_at_an_offset_unless_its_epoch_is_old() -> None:
    driver = joined_driver()

    def initialize(state_epoch: int) -> int:
        result = ask_state(
            driver,
            "InitializeShareGroupStateRequest",
            "InitializeStateData",
            state_epoch=state_epoch,
            start_offset=5,
        )
        return int(result.error_code)

    assert initialize(9) == ErrorCode.NONE
    assert initialize(8) == ErrorCode.FENCED_STATE_EPOCH
    summary = ask_state(driver, "ReadShareGroupStateSummaryRequest", "ReadStateSummaryData")
    assert (summary.start_offset, summary.state_epoch) == (5, 9)
