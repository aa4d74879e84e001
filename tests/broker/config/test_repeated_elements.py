import pytest
from structlog.testing import capture_logs

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
