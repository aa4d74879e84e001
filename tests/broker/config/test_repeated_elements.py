import pytest
from structlog.testing import capture_logs

from broker.config.broker_config import BrokerConfig
from broker.config.keys import ConfigError
from broker.config.repeated_elements import warn_of_repetitions
from broker.config.topic_keys import TOPIC_KEYS
from protocol.releases import Release


@pytest.mark.parametrize(
    ("text", "release", "line_count"),
    [
        ("delete, compact,delete", (4, 2), 1),
        ("delete,compact", (4, 2), 0),
        ("delete,compact,delete", (4, 1), 0),
    ],
)
def test_a_list_that_repeats_elements_is_told_from_4_2_on(
    text: str, release: Release, line_count: int
) -> None:
    with capture_logs() as lines:
        warn_of_repetitions(TOPIC_KEYS, {"cleanup.policy": text, "no.such.key": "a,a"}, release)

    assert [line["kept"] for line in lines] == [("delete", "compact")] * line_count


def test_since_kafka_4_4_a_broker_with_repeated_tags_for_racks_does_not_start() -> None:
    name = "group.streams.rack.aware.assignment.tags"
    message = f"^{name} must not contain duplicate tag keys.$"
    with pytest.raises(ConfigError, match=message):
        BrokerConfig({"broker.api.versions": "4.4", name: "zone, cluster ,zone"})
    assert BrokerConfig({"broker.api.versions": "4.4", name: "zone,cluster"})[name] == (
        "zone",
        "cluster",
    )
    assert BrokerConfig({"broker.api.versions": "4.3", name: "zone,zone"})
