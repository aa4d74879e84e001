from pathlib import Path

from scenarios.delivery_timeout.measuring import Measurement, SeenRequest
from scenarios.delivery_timeout.phases import PHASES
from scenarios.delivery_timeout.timeline import draw


def test_a_picture_has_every_client_its_requests_and_its_outcome(tmp_path: Path) -> None:
    measurements = [
        Measurement(
            "cut",
            "one",
            0,
            [1_000],
            [(0, 2_003, "out of time")],
            [SeenRequest("Produce", 1_010, 1_011), SeenRequest("Metadata", 1_020, None)],
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
