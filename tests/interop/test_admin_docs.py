"""The curl lines of the documents work unchanged."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
STATUS = "\n%{http_code}"


def commands(name: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.findall(r"^\$ (curl .*)$", text, re.MULTILINE)


@pytest.fixture
def admin_address() -> Iterator[str]:
    """Return the address of the admin port of a cluster of three brokers."""
    command = [sys.executable, "-P", "-m", "broker", "serve", "--port", "0", "--brokers", "3"]
    settings = ("audit.enable=true", "authorizer.class.name=acl", "super.users=User:ANONYMOUS")
    options = [word for setting in settings for word in ("-o", setting)]
    with subprocess.Popen(
        [*command, "--admin-port", "0", "--log-level", "error", *options],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        url = process.stdout.readline().partition("=")[2].strip()
        yield url.removeprefix("http://")
        process.terminate()


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
@pytest.mark.parametrize(
    ("name", "count_min"),
    [
        ("docs/admin.md", 4),
        ("docs/containers.md", 1),
        ("docs/faults.md", 1),
        ("docs/testing.md", 4),
        ("README.md", 4),
    ],
)
def test_every_curl_line_of_the_documents_succeeds(
    name: str, count_min: int, admin_address: str, tmp_path: Path
) -> None:
    lines = commands(name)
    assert len(lines) >= count_min
    page = (ROOT / "docs/faults.md").read_text(encoding="utf-8")
    first_rules = re.findall(r"```json\n(.*?)```", page, re.DOTALL)[0]
    (tmp_path / "faults.json").write_text(first_rules)
    for line in lines:
        done = subprocess.run(
            [*("curl", "-s", "-w", STATUS), *_words(line.replace("127.0.0.1:9099", admin_address))],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
            cwd=tmp_path,
        )
        body, _, status = done.stdout.rpartition("\n")
        assert status in {"200", "201", "204"}, f"{line}: {body}"


def _words(line: str) -> list[str]:
    """Split a line like a shell; the documents use single quotes only."""
    return [quoted or bare for quoted, bare in re.findall(r"'([^']*)'|(\S+)", line)][1:]
