"""WriteShareGroupState on the wire."""

from typing import Any

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
            state_epoch=2,
            leader_epoch=leader_epoch,
            start_offset=-1,
            state_batches=[batch],
        )
        return int(result.error_code)

    ask_state(driver, "ReadShareGroupStateRequest", "ReadStateData", leader_epoch=3)
    assert write(3) == ErrorCode.NONE
    assert write(2) == ErrorCode.FENCED_LEADER_EPOCH
    assert write(3, last_offset=-1) == ErrorCode.INVALID_REQUEST
    state = ask_state(driver, "ReadShareGroupStateRequest", "ReadStateData", leader_epoch=3)
    assert [one.last_offset for one in state.state_batches] == [4]


def test_since_kafka_4_2_the_count_of_finished_records_is_written() -> None:
    driver = joined_driver(broker_api_versions="4.2")
    written: dict[str, Any] = {
        "state_epoch": 1,
        "leader_epoch": 0,
        "start_offset": 4,
        "state_batches": [],
    }

    result = ask_state(
        driver,
        "WriteShareGroupStateRequest",
        "WriteStateData",
        version=1,
        delivery_complete_count=3,
        **written,
    )

    assert result.error_code == ErrorCode.NONE
    summary = ask_state(
        driver, "ReadShareGroupStateSummaryRequest", "ReadStateSummaryData", version=1
    )
    assert (summary.start_offset, summary.delivery_complete_count) == (4, 3)


def test_since_kafka_4_2_an_inverted_batch_is_refused_after_everything_else() -> None:
    topic_class = messages.WriteShareGroupStateRequest.WriteStateData
    batch = topic_class.PartitionData.StateBatch(first_offset=2, last_offset=0)
    written: dict[str, Any] = {"leader_epoch": 0, "start_offset": 0, "state_batches": [batch]}
    for release, says_negative in (("4.1", False), ("4.2", True)):
        driver = joined_driver(broker_api_versions=release)
        for state_epoch, is_negative in ((-1, True), (1, False)):
            result = ask_state(
                driver,
                "WriteShareGroupStateRequest",
                "WriteStateData",
                state_epoch=state_epoch,
                **written,
            )
            assert result.error_code == ErrorCode.INVALID_REQUEST
            expected = says_negative and is_negative
            assert ("cannot be a negative number" in result.error_message) == expected
