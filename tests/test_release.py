"""A release has one version everywhere, notes, and archives that do not depend on the builder."""

import hashlib
import io
import re
import shutil
import tarfile
from pathlib import Path

import pytest

from scripts.build_backend import date_source_archive
from scripts.executable_build import version
from scripts.release_artefacts import (
    CARGO_COMMAND,
    FIRST_GO_TEST,
    FIRST_NODE_TEST,
    FIRST_RUST_TEST,
    Rehearsal,
    checksums,
    first,
    pinned,
    run,
)
from scripts.release_rehearsal import main, rehearse
from scripts.release_version import PLACES, ROOT, ReleaseError, check_version, notes

CHANGELOG = "# Changelog\n\n## Unreleased\n\n## 1.2.3 - 2026-01-01\n\n- A change.\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a folder with the files that have the version."""
    for name in (*PLACES, "clients/node/package-lock.json", "CHANGELOG.md"):
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    return tmp_path


def test_all_files_have_the_version_of_the_project(checkout: Path) -> None:
    assert check_version(checkout, None) == version()


@pytest.mark.parametrize("name", PLACES)
def test_a_file_with_another_version_is_named(checkout: Path, name: str) -> None:
    path = checkout / name
    ours = version()
    path.write_text(path.read_text(encoding="utf-8").replace(ours, "9.8.7"), encoding="utf-8")
    with pytest.raises(ReleaseError, match=f"{name} has 9.8.7, not {ours}"):
        check_version(checkout, None)


def test_a_tag_with_another_version_is_refused(checkout: Path) -> None:
    with pytest.raises(ReleaseError, match=r"the release is 9\.8\.7"):
        check_version(checkout, "9.8.7")


def test_the_notes_are_the_section_of_the_version(tmp_path: Path) -> None:
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG, encoding="utf-8")
    assert notes(tmp_path, "1.2.3") == "- A change.\n"
    for missing in (None, "1.2.4", "1.2"):
        with pytest.raises(ReleaseError, match="has no section"):
            notes(tmp_path, missing)


def test_a_source_archive_depends_on_its_contents_alone(tmp_path: Path) -> None:
    digests = set()
    for time_s, owner, names in ((1, "alice", "ab"), (2, "bob", "ba")):
        path = tmp_path / "source.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            for name in names:
                entry = tarfile.TarInfo(name)
                entry.mtime, entry.uname, entry.size = time_s, owner, 1
                archive.addfile(entry, io.BytesIO(name.encode()))
        date_source_archive(path, 1_700_000_000)
        with tarfile.open(path) as archive:
            assert [member.mtime for member in archive] == [1_700_000_000] * 2
        digests.add(hashlib.sha256(path.read_bytes()).hexdigest())
    assert len(digests) == 1


def test_pins_are_taken_with_their_hashes() -> None:
    text = pinned(ROOT / "requirements" / "dev.txt", ["pytest"])
    assert text.startswith("pytest==")
    assert "--hash=sha256:" in text
    assert "pytest-" not in text


@pytest.mark.parametrize("pattern", [FIRST_GO_TEST, FIRST_NODE_TEST, FIRST_RUST_TEST])
def test_the_quickstart_has_a_first_test_of_each_package(pattern: re.Pattern[str]) -> None:
    assert "orders" in first(pattern)
    assert len(CARGO_COMMAND.findall((ROOT / "docs" / "quickstart.md").read_text("utf-8"))) == 4


def test_checksums_are_those_that_sha256sum_checks(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one")
    target = checksums(tmp_path, [tmp_path / "a"])
    if shutil.which("sha256sum"):
        assert run(["sha256sum", "--check", target.name], tmp_path) == "a: OK\n"
    assert target.read_text() == f"{hashlib.sha256(b'one').hexdigest()}  a\n"


def test_a_part_that_fails_makes_the_rehearsal_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_self: Rehearsal) -> list[Path]:
        raise ReleaseError("planted")

    monkeypatch.setattr(Rehearsal, "site", fail)
    rehearsal = Rehearsal(tmp_path, tmp_path, None)
    assert rehearse(rehearsal, {"notes"}) is True
    assert rehearse(rehearsal, {"notes", "site"}) is False
    printed = capsys.readouterr()
    assert "site: planted" in printed.err
    assert "FAILED" in printed.out


def test_a_command_that_is_missing_or_fails_is_named(tmp_path: Path) -> None:
    for words in (["no-such-program"], ["false"]):
        with pytest.raises(ReleaseError, match=words[0]):
            run(words, tmp_path)


def test_the_wrong_version_stops_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--dry-run", "9.8.7"]) == 1
    assert "the release is 9.8.7" in capsys.readouterr().err
