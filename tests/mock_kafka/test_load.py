"""`mock-kafka load` runs the load generator, or names the missing package."""

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from loadgen.options import SUBCOMMANDS
from mock_kafka import cli, load


def test_help_lists_options_and_plans(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["load", "--help"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    for word in ("--bootstrap-server", "--rate-scale", "--master", "producer-churn", "topic-storm"):
        assert word in printed


def test_each_subcommand_has_its_own_help(capsys: pytest.CaptureFixture[str]) -> None:
    for name in SUBCOMMANDS:
        with pytest.raises(SystemExit) as ended:
            load.main([name, "--help"])
        assert ended.value.code == 0
        assert capsys.readouterr().out.startswith(f"usage: mock-kafka load {name} ")


def test_help_needs_none_of_the_optional_packages() -> None:
    program = (
        "import sys\n"
        "for name in 'jinja2 matplotlib numpy pandas pyarrow pyspark rich yaml'.split():\n"
        "    sys.modules[name] = None\n"
        "from mock_kafka.cli import main\n"
        "main(['load', '--help'])\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "producer-churn" in done.stdout


@pytest.fixture
def without_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide PySpark and PyArrow, and that they are installed."""

    def version(name: str) -> str:
        if name in {"pyarrow", "pyspark"}:
            raise metadata.PackageNotFoundError(name)
        return "999"

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setitem(sys.modules, "loadgen.cli", None)
    monkeypatch.delattr("loadgen.cli", raising=False)


@pytest.mark.usefixtures("without_extras")
def test_without_pyspark_the_error_says_what_to_install(capsys: pytest.CaptureFixture[str]) -> None:
    assert load.main(["steady", "--out", "x"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert re.fullmatch(
        r"mock-kafka load needs pyarrow>=\d+ \(not installed\), pyspark\S+ \(not installed\):"
        r" pip install 'pyarrow>=\d+' 'pyspark<5,>=4.1'",
        line,
    )


TRACE = """\
{"time_us": 0, "api": "Produce", "user": "shop", "request_bytes": 1000}
{"time_us": 1000000, "api": "Produce", "user": "shop", "request_bytes": 1000}
"""


@pytest.mark.slow
def test_quotas_are_proposed_without_pyspark_for_a_trace_and_for_a_plan(tmp_path: Path) -> None:
    (tmp_path / "trace.ndjson").write_text(TRACE)
    # Another process: this one may have imported them.
    program = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in {'pandas', 'py4j', 'pyspark'}:\n"
        "            raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "from mock_kafka.cli import main\n"
        "statuses = [main(['load', 'quotas', *words]) for words in (\n"
        "    ['trace.ndjson', '--out', 'trace.html'],\n"
        "    ['steady', '--duration', '1', '--out', 'plan.html'],\n"
        ")]\n"
        "sys.exit(max(statuses))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "producer_byte_rate" in (tmp_path / "trace.json").read_text()
    assert "producer_byte_rate" in (tmp_path / "plan.json").read_text()


@pytest.mark.usefixtures("without_extras")
@pytest.mark.parametrize(
    ("subcommand", "needs_spark"), [("quotas", False), ("pack", True), ("find", True)]
)
def test_a_subcommand_names_the_packages_that_it_needs(
    subcommand: str, needs_spark: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert load.main([subcommand, "x"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "pyarrow>=18 (not installed)" in line
    assert ("pyspark" in line) is needs_spark


def test_an_unknown_plan_is_an_error_of_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: object
) -> None:
    assert cli.main(["load", "stead", "--out", f"{tmp_path}/out"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("mock-kafka load: 'stead' is neither a file nor a built-in plan")
