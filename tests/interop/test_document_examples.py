"""The examples and commands of the documents work unchanged, and print what the documents show.

Every page of docs/ has a section `Try it` with one block. A Python block is a test module. In a
console block each line after `$ ` is a command, and the lines below are its output, in which `...`
stands for anything. `mock-kafka serve ... &` runs until the end of the block, on free ports instead
of those shown.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parent.parent.parent
PAGES = [f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))]
COMPLETE_EXAMPLES = ["README.md", "docs/audit.md", "docs/testing.md"]
"""Documents of which all Python blocks are tests."""
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SECTION = re.compile(r"^## (.*)\n", re.MULTILINE)
_COMMAND = re.compile(r"^\$ (.*(?:\\\n.*)*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_ADDRESS = re.compile(r"127\.0\.0\.1:\d+")
_OF_A_CHECKOUT = re.compile(r"^\$ .*(?:\.venv|broker|scripts|tests)/", re.MULTILINE)
_TIMEOUT_S = 60
STATUS = "\n%{http_code}"


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks_to_try(name: str) -> list[tuple[str, str]]:
    """Return the blocks in the section `Try it` of a page, each with its language."""
    _, *parts = _SECTION.split(text_of(name))
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    return _BLOCK.findall(sections.get("Try it", ""))


def pages_to_try(language: str) -> list[str]:
    return [name for name in PAGES if [found for found, _ in blocks_to_try(name)] == [language]]


@pytest.mark.parametrize("name", PAGES)
def test_every_page_begins_or_ends_with_a_block_to_try(name: str) -> None:
    headings = _SECTION.findall(text_of(name))
    assert "Try it" in {headings[0], headings[-1]}
    [(language, block)] = blocks_to_try(name)
    assert language in {"python", "console"}
    if language == "console":
        commands = _COMMAND.findall(block)
        assert "".join(f"$ {command}\n{output}" for command, output in commands) == block
        assert re.search(r"\w", "".join(output for _, output in commands))


# Python ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", sorted({*COMPLETE_EXAMPLES, *pages_to_try("python")}), ids=lambda name: name
)
def test_python_examples_pass(name: str, pytester: pytest.Pytester) -> None:
    found = _BLOCK.findall(text_of(name)) if name in COMPLETE_EXAMPLES else blocks_to_try(name)
    examples = [block for language, block in found if language == "python"]
    test_count = 0
    for number, example in enumerate(examples):
        pytester.makepyfile(**{f"test_example_{number}": example})
        test_count += len(re.findall(r"^(?:async )?def test_", example, re.MULTILINE))
    assert test_count >= len(examples) >= 1
    pytester.runpytest_subprocess("--strict-markers").assert_outcomes(passed=test_count)


# Commands --------------------------------------------------------------------------------------


class Shell:
    """Runs the commands of a block, with free ports in place of those that the block names.

    `home` is a folder for the settings of curl.
    """

    def __init__(self, folder: Path, home: Path) -> None:
        (home / ".curlrc").write_text("silent\n")  # no progress, as in a terminal
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._folder = folder
        self._environment = {**os.environ, "PATH": path, "COLUMNS": "120", "CURL_HOME": str(home)}
        self._actual: dict[str, str] = {}
        """Addresses by those in the document."""

    def run(self, command: str) -> str:
        """Run a command that ends, and return its output, with the addresses of the document."""
        done = subprocess.run(
            ["bash", "-c", _replaced(command, self._actual)],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,  # a page may show what an error looks like
        )
        return self._shown(done.stdout)

    @contextmanager
    def serving(self, command: str, shown: str) -> Iterator[str]:
        """Run `mock-kafka serve`; give as many lines of its output as the document shows."""
        assert "mock-kafka serve" in command
        free = re.sub(r"(--(?:admin-)?port) \d+", r"\1 0", command)
        assert free.count("port 0") == 2, "a broker of a test needs --port and --admin-port"
        with subprocess.Popen(
            ["bash", "-c", free],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            assert process.stdout is not None
            try:
                printed = "".join(process.stdout.readline() for _ in shown.splitlines())
                pairs = zip(_ADDRESS.findall(shown), _ADDRESS.findall(printed), strict=True)
                self._actual.update(pairs)
                url = re.search(r"^admin\.url=(.*)$", printed, re.MULTILINE)
                assert url, printed
                self._environment["MOCK_KAFKA_ADMIN_URL"] = url[1]  # the default has another port
                yield self._shown(printed)
            finally:
                os.killpg(process.pid, signal.SIGTERM)

    def _shown(self, output: str) -> str:
        return _replaced(output, {actual: address for address, actual in self._actual.items()})


def _replaced(text: str, addresses: dict[str, str]) -> str:
    return _ADDRESS.sub(lambda found: addresses.get(found[0], found[0]), text)


def fits(output: str, shown: str) -> bool:
    """Return whether an output is what a document shows; `...` stands for anything."""
    lines = [line.rstrip() for line in shown.rstrip().splitlines()]
    pattern = re.escape("\n".join(lines)).replace(re.escape("..."), ".*")
    printed = "\n".join(line.rstrip() for line in output.rstrip().splitlines())
    return re.fullmatch(pattern, printed, re.DOTALL) is not None


def test_the_output_of_a_command_is_compared() -> None:
    assert fits('{"a":1,"b":2}', '{"a":1,...}\n')
    assert not fits('{"a":1,"b":2}', '{"a":2,...}\n')
    assert not fits("one\ntwo\n", "one\n")


@pytest.mark.parametrize("name", pages_to_try("console"), ids=lambda name: name)
def test_commands_to_try_print_what_the_page_shows(name: str, tmp_path: Path) -> None:
    [(_, block)] = blocks_to_try(name)
    shell = Shell(ROOT if _OF_A_CHECKOUT.search(block) else tmp_path, tmp_path)
    with ExitStack() as clusters:
        for command, shown in _COMMAND.findall(block):
            if command.endswith(" &"):
                serving = shell.serving(command.removesuffix(" &"), shown)
                output = clusters.enter_context(serving)
            else:
                output = shell.run(command)
            assert fits(output, shown), f"{command}\n{output}"


# The curl lines of the documents ----------------------------------------------------------------


def curl_lines(name: str) -> list[str]:
    return re.findall(r"^\$ (curl .*)$", text_of(name), re.MULTILINE)


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
    lines = curl_lines(name)
    assert len(lines) >= count_min
    first_rules = re.findall(r"```json\n(.*?)```", text_of("docs/faults.md"), re.DOTALL)[0]
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
        # A wait ends without what it waits for, since nothing else happens here.
        expected = {"200", "201", "204"} | ({"408"} if "/wait?" in line else set())
        assert status in expected, f"{line}: {body}"


def _words(line: str) -> list[str]:
    """Split a line like a shell; the documents use single quotes only."""
    return [quoted or bare for quoted, bare in re.findall(r"'([^']*)'|(\S+)", line)][1:]
