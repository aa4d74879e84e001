"""WriteShareGroupState on the wire."""

from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.share_state_driver import ask_state, joined_driver


def test_state_batches_are_written_unless_the_leader_is_old_or_a_batch_is_inverted() -> None:
    driver = joined_driver()
    topic_class = messages.WriteShareGroupStateRequest.WriteStateData

    def write(leader_epoch: int, last_offset: int = 4) -> int:
        batch = topic_class.PartitionData.StateBatch(
            first_offset=0, last_offset=last_offset, delivery_state=2, delivery_count=1
        )
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
    assert write(3, last_offset=-1) == ErrorCode.INVALID_REQUEST
    state = ask_state(driver, "ReadShareGroupStateRequest", "ReadStateData", leader_epoch=3)
    assert [one.last_offset for one in state.state_batches] == [4]
