"""ReadShareGroupStateSummary on the wire."""

from protocol.errors import ErrorCode
from tests.broker.share_state_driver import ask_state, joined_driver


def test_a_summary_has_the_start_offset_or_minus_one() -> None:
    driver = joined_driver()
    driver.produce(b"a")
    driver.acquire(1)
    driver.acknowledge(1, (0, 0, [1]))

    def summary(partition: int = 0) -> tuple[int, int, int]:
        result = ask_state(
            driver, "ReadShareGroupStateSummaryRequest", "ReadStateSummaryData", partition=partition
        )
        return result.error_code, result.start_offset, result.state_epoch

    # The state has the offset at the time of the write; the leader moves it with the next one.
    assert summary() == (ErrorCode.NONE, 0, 2)
    driver.cluster.share.states.forget_all()
    assert summary() == (ErrorCode.NONE, -1, 0)
    assert summary(partition=7)[0] in {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_COORDINATOR,
    }


def test_a_summary_has_the_count_of_finished_records_since_kafka_4_2() -> None:
    for release, count in (("4.1", -1), ("4.2", 2)):
        driver = joined_driver(broker_api_versions=release)
        driver.produce(b"a", b"b", b"c")
        driver.acquire(1)
        driver.acknowledge(1, (1, 2, [1]))

        summary = ask_state(
            driver, "ReadShareGroupStateSummaryRequest", "ReadStateSummaryData", version=1
        )

        assert summary.delivery_complete_count == count
