from pathlib import Path

from mock_kafka.scenarios.delivery_timeout.measuring import Measurement
from mock_kafka.scenarios.delivery_timeout.phases import PHASES
from mock_kafka.scenarios.delivery_timeout.timeline import draw


def request(api: str, received_ms: int, duration_us: int | None) -> dict[str, object]:
    return {"api": api, "received_ms": received_ms, "duration_us": duration_us}


def test_a_picture_has_every_client_its_requests_and_its_outcome(tmp_path: Path) -> None:
    measurements = [
        Measurement(
            "cut",
            "one",
            0,
            [1_000],
            [(0, 2_003, "out of time")],
            [request("Produce", 1_010, 300), request("Metadata", 1_020, None)],
        ),
        Measurement("cut", "two", 0, [1_000], []),
        Measurement("cut", "three", problem="not installed"),
    ]
    path = draw(PHASES[4], measurements, 1_000, tmp_path)
    assert path == tmp_path / "delivery-timeout-cut.svg"
    # Letters are drawn as shapes; what they say stands beside them as a comment.
    text = path.read_text()
    for words in (
        "one",
        "two",
        "three",
        "1003 ms  out of time",
        "no outcome of 1 of 1 records",
    ):
        assert f"<!-- {words} -->" in text
