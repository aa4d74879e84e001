"""DeleteShareGroupOffsets on the wire."""

from typing import Any

from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.interleaving import once, run_with_pauses
from tests.broker.share_driver import GROUP, TOPIC, ShareDriver


def delete(driver: ShareDriver, *topics: str, group_id: str = GROUP) -> Any:
    request_class: Any = messages.DeleteShareGroupOffsetsRequest
    topic_class = request_class.DeleteShareGroupOffsetsRequestTopic
    request = request_class(
        group_id=group_id, topics=[topic_class(topic_name=name) for name in topics]
    )
    return driver.ask(request, 0, broker_id=driver.coordinator_id)


def test_the_offsets_of_an_empty_group_are_deleted() -> None:
    driver = ShareDriver()
    driver.join(1)
    assert delete(driver, TOPIC).error_code == ErrorCode.NON_EMPTY_GROUP
    driver.heartbeat(1, -1)

    deleted, missing = delete(driver, TOPIC, "missing").responses
    (again,) = delete(driver, TOPIC).responses

    assert (deleted.error_code, deleted.topic_id) == (0, driver.topic.topic_id)
    assert missing.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (again.error_code, again.error_message) == (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "There is no offset information to delete.",
    )


def test_topics_of_a_group_whose_offsets_were_altered_in_vain_have_results() -> None:
    driver = ShareDriver()
    request_class: Any = messages.AlterShareGroupOffsetsRequest
    topic_class = request_class.AlterShareGroupOffsetsRequestTopic
    request = request_class(group_id=GROUP, topics=[topic_class(topic_name=TOPIC, partitions=[])])
    driver.ask(request, 0, broker_id=driver.coordinator_id)

    results = delete(driver, TOPIC, "missing").responses

    assert [result.error_code for result in results] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 2


def test_errors_of_the_group() -> None:
    driver = ShareDriver()

    assert delete(driver, TOPIC).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert delete(driver, TOPIC, group_id="").error_code == ErrorCode.INVALID_GROUP_ID
    assert delete(driver, group_id="").error_code == ErrorCode.INVALID_GROUP_ID
    off = delete(ShareDriver(cluster_features="share.version=0"), TOPIC)
    assert off.error_code == ErrorCode.UNSUPPORTED_VERSION


def test_before_kafka_4_2_the_group_is_not_looked_at_without_topics() -> None:
    driver = ShareDriver(broker_api_versions="4.1")
    for group_id in ("missing", ""):
        response = delete(driver, group_id=group_id)
        assert (response.error_code, response.responses) == (ErrorCode.NONE, [])


def test_a_group_that_gets_members_during_a_pause_keeps_its_state() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.heartbeat(1, -1)

    response = run_with_pauses(lambda: delete(driver, TOPIC), once(lambda: driver.join(2)))

    assert [topic.error_code for topic in response.responses] == [ErrorCode.NON_EMPTY_GROUP]


def test_since_kafka_4_2_the_group_is_looked_at_without_topics() -> None:
    request = messages.DeleteShareGroupOffsetsRequest(group_id="missing", topics=[])
    codes = {}
    for release in ("4.1", "4.2"):
        driver = ShareDriver(broker_api_versions=release)
        codes[release] = driver.ask(request, 0).error_code

    assert codes == {"4.1": ErrorCode.NONE, "4.2": ErrorCode.GROUP_ID_NOT_FOUND}
