"""DeleteShareGroupState on the wire."""

from protocol.errors import ErrorCode
from tests.broker.share_state_driver import ask_state, joined_driver


def test_a_state_is_deleted_and_a_missing_one_is_no_error() -> None:
    driver = joined_driver()

    for _ in range(2):
        result = ask_state(driver, "DeleteShareGroupStateRequest", "DeleteStateData")
        assert result.error_code == ErrorCode.NONE

    assert driver.cluster.share.states.keys() == []
