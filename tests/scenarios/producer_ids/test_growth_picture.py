from pathlib import Path

from scenarios.producer_ids.growth_picture import Sample, draw


def test_a_picture_has_both_worlds_and_the_promised_line(tmp_path: Path) -> None:
    off = [Sample(hour, 100 * hour, None, None, 0.0, 100 * hour, 5_000) for hour in range(3)]
    on = [Sample(hour, 10 * hour, 10 + 10 * hour, -1.0, 36.0, 10, 500) for hour in range(3)]
    path = draw("restart-loop", "Clients that restart", off, on, tmp_path)
    assert path == tmp_path / "restart-loop.svg"
    text = path.read_text()
    # Letters are drawn as shapes; what they say stands beside them as a comment.
    for words in ("Clients that restart", "quota off", "quota on", "ids activated", "tokens left"):
        assert f"<!-- {words} -->" in text
    assert "promised" in text
