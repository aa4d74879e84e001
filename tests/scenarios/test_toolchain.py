from pathlib import Path

import pytest

from scenarios import maven
from scenarios.maven import CannotRunError
from scenarios.toolchain import cached_folder, digest, run_tool


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(maven, "CACHE", tmp_path / "cache")
    return tmp_path / "cache"


def test_a_tool_that_is_missing_or_fails_says_so(tmp_path: Path) -> None:
    with pytest.raises(CannotRunError, match="no-such-compiler is not here"):
        run_tool("no-such-compiler", [], tmp_path)
    with pytest.raises(CannotRunError, match="sh failed: no proxy"):
        run_tool("sh", ["-c", "echo no proxy >&2; exit 1"], tmp_path)
    run_tool("sh", ["-c", "echo built > program"], tmp_path)
    assert (tmp_path / "program").read_text() == "built\n"


def test_a_folder_is_filled_once(cache: Path) -> None:
    calls = []

    def fill(folder: Path) -> None:
        calls.append(folder)
        (folder / "program").write_text("built")

    for _ in range(2):
        assert (cached_folder("program-1", fill) / "program").read_text() == "built"
    assert len(calls) == 1
    assert [path.name for path in cache.iterdir()] == ["program-1"], "nothing else stays"


def test_what_fails_is_not_kept(cache: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise CannotRunError("no proxy")

    with pytest.raises(CannotRunError, match="no proxy"):
        cached_folder("program-1", fail)
    assert list(cache.iterdir()) == []


def test_the_faster_of_two_processes_wins(cache: Path) -> None:
    def fill(folder: Path) -> None:
        (folder / "program").write_text("slow")
        (cache / "program-1").mkdir()
        (cache / "program-1" / "program").write_text("fast")

    assert (cached_folder("program-1", fill) / "program").read_text() == "fast"


def test_a_digest_depends_on_names_and_contents(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("1")
    two.write_text("2")
    first = digest([one, two])
    assert digest([two, one]) == first
    two.write_text("3")
    assert digest([one, two]) != first
    assert len({digest([one]), digest([two]), first}) == 3
