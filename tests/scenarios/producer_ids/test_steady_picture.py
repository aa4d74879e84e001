from pathlib import Path

from scenarios.producer_ids.steady_picture import Layer, Timeline, draw


def test_a_picture_has_both_filters_and_what_is_called_new(tmp_path: Path) -> None:
    layers = [Layer(0, 3_600), Layer(900, 4_500)]
    used_s = list(range(0, 4_501, 300))
    path = draw(
        Timeline("the broker", layers, used_s, [0]),
        Timeline("the textbook", layers, used_s, [0, 3_600]),
        tmp_path,
    )
    assert path == tmp_path / "steady-id.svg"
    text = path.read_text()
    # Letters are drawn as shapes; what they say stands beside them as a comment.
    for words in ("the broker", "the textbook", "called new", "used, and known", "a layer"):
        assert f"<!-- {words} -->" in text
