from pathlib import Path

from scenarios.producer_ids.cascade_picture import Stage, draw


def test_a_picture_has_every_stage(tmp_path: Path) -> None:
    off = [Stage("before", {1: 100, 2: 150}), Stage("broker 1 fails", {1: None, 2: 250})]
    on = [Stage("before", {1: 80, 2: 80})]
    path = draw(off, on, 200, tmp_path)
    assert path == tmp_path / "cascade.svg"
    text = path.read_text()
    for words in (
        "before",
        "broker 1 fails",
        "quota on",
        "250",
        "Brokers for 200 producer ids each",
    ):
        assert f"<!-- {words} -->" in text or words in text
