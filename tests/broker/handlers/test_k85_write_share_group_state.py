"""WriteShareGroupState on the wire."""

from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.share_state_driver import ask_state, joined_driver


def test_state_batches_are_written_unless_the_leader_is_old() -> None:
    driver = joined_driver()
    topic_class = messages.WriteShareGroupStateRequest.WriteStateData
    batch = topic_class.PartitionData.StateBatch(
        first_offset=0, last_offset=4, delivery_state=2, delivery_count=1
    )

    def write(leader_epoch: int) -> int:
        result = ask_state(
            driver,
            "WriteShareGroupStateRequest",
            "WriteStateData",
            state_epoch=-1,
            leader_epoch=leader_epoch,
            start_offset=-1,
            state_batches=[batch],
        )
        return int(result.error_code)

    assert write(3) == ErrorCode.NONE
    assert write(2) == ErrorCode.FENCED_LEADER_EPOCH
    state = ask_state(driver, "ReadShareGroupStateRequest", "ReadStateData", leader_epoch=3)
    assert [one.last_offset for one in state.state_batches] == [4]
