"""Run Kafka's command line tools against a cluster, all of them in one JVM.

A session is a list of commands such as `topics --create --topic ~a`. Each tool gets
`--bootstrap-server`; `~` stands for a prefix, `{file:NAME}` for a file of the session.
"""

import base64
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import msgspec

from scenarios.clients.java import compile_java, java_command
from scenarios.maven import CannotRunError, fetch_jars
from tests.differential.canonical import new_prefix
from tests.differential.clusters import ComparedCluster
from tests.interop.apache_kafka import VERSION

SESSIONS = Path(__file__).with_name("tool_sessions.json")
KNOWN = Path(__file__).with_name("tool_differences.json")
_SOURCE = Path(__file__).with_name("java") / "Tools.java"
_LIMIT_MS = 40_000
_OWN_JVM_TIMEOUT_S = 120
_PACKAGE = "org.apache.kafka.tools"

TOOLS: Mapping[str, str] = {
    "acls": f"{_PACKAGE}.AclCommand",
    "broker-api-versions": f"{_PACKAGE}.BrokerApiVersionsCommand",
    "client-metrics": f"{_PACKAGE}.ClientMetricsCommand",
    "cluster": f"{_PACKAGE}.ClusterTool",
    "configs": "kafka.admin.ConfigCommand",
    "console-consumer": f"{_PACKAGE}.consumer.ConsoleConsumer",
    "console-producer": f"{_PACKAGE}.ConsoleProducer",
    "consumer-groups": f"{_PACKAGE}.consumer.group.ConsumerGroupCommand",
    "delegation-tokens": f"{_PACKAGE}.DelegationTokenCommand",
    "delete-records": f"{_PACKAGE}.DeleteRecordsCommand",
    "features": f"{_PACKAGE}.FeatureCommand",
    "get-offsets": f"{_PACKAGE}.GetOffsetShell",
    "groups": f"{_PACKAGE}.GroupsCommand",
    "leader-election": f"{_PACKAGE}.LeaderElectionCommand",
    "log-dirs": f"{_PACKAGE}.LogDirsCommand",
    "metadata-quorum": f"{_PACKAGE}.MetadataQuorumCommand",
    "reassign-partitions": f"{_PACKAGE}.reassign.ReassignPartitionsCommand",
    "share-groups": f"{_PACKAGE}.consumer.group.ShareGroupCommand",
    "streams-groups": f"{_PACKAGE}.streams.StreamsGroupCommand",
    "topics": f"{_PACKAGE}.TopicCommand",
    "transactions": f"{_PACKAGE}.TransactionsCommand",
}
"""The main classes of Kafka's scripts `kafka-NAME.sh`."""
_ENDS_ITS_JVM = frozenset({"cluster", "features"})
"""Tools that end their JVM on wrong arguments: each call gets its own."""
_AFTER_SUBCOMMAND = frozenset({"cluster"})
"""Tools whose --bootstrap-server follows the subcommand."""

_MAPPED = (
    (re.compile(r"(?<=TopicId: )[\w-]{22}"), "topic-id"),
    (re.compile(r"(?<=Cluster ID: )[\w-]{22}"), "cluster-id"),
    (re.compile(r"(?<=ClusterId: )\s*[\w-]{22}"), "cluster-id"),
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "uuid"),
    (re.compile(r"(?m)^\[?20\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d[,.]\d+\]? "), ""),
    (re.compile(r"\b1[789]\d{11}\b"), "time"),
    (re.compile(r"(?m)^\s+at .*\n|^\s+\.\.\. \d+ more\n"), ""),
    (re.compile(r"\blog-dir\b|/\S+/data\b|/tmp/\S+"), "folder"),
)


class Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One call of a tool; `input` is its standard input."""

    command: str
    input: str = ""


class Session(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Commands in order, about one subject; `files` are written before the first one."""

    about: str
    commands: tuple[Command | str, ...]
    files: dict[str, str] = {}


class Result(NamedTuple):
    """What a command did, without what differs between any two clusters."""

    status: str
    output: str
    errors: str


def sessions() -> list[Session]:
    """Return the sessions of `tool_sessions.json`."""
    return msgspec.json.decode(SESSIONS.read_bytes(), type=list[Session])


def compile_tools(folder: Path) -> tuple[Path, Path]:
    """Compile Tools.java; return the folders of its classes and of Kafka's jars.

    Raises:
        CannotRunError: there is no JDK, or nothing comes from Maven Central.
    """
    artifacts = (
        f"org.apache.kafka:kafka_2.13:{VERSION}",
        f"org.apache.kafka:kafka-tools:{VERSION}",
        "org.slf4j:slf4j-simple:1.7.36",
    )
    jars = fetch_jars(f"kafka-tools-{VERSION}", artifacts)
    if shutil.which("javac") is None:
        raise CannotRunError("the tools need a JDK: javac is not here")
    compile_java(_SOURCE, jars, folder)
    return folder, jars


class ToolProcess:
    """One JVM that runs tools against one cluster."""

    def __init__(self, classes: Path, jars: Path, servers: str, folder: Path) -> None:
        self._servers = servers
        self._folder = folder
        self._class_path = f"{classes}:{jars}/*"
        self._process = subprocess.Popen(
            java_command(self._class_path, "Tools", log_level="off"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self) -> "ToolProcess":
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def run(self, session: Session, prefix: str = "") -> list[Result]:
        """Run the commands of a session."""
        prefix = prefix or new_prefix()
        for name, text in session.files.items():
            (self._folder / name).write_text(text.replace("~", prefix), encoding="utf-8")
        return [self._run(_command(each), prefix) for each in session.commands]

    def _run(self, command: Command, prefix: str) -> Result:
        tool, *arguments = shlex.split(command.command.replace("~", prefix))
        arguments = [
            re.sub(r"\{file:(\S+?)\}", lambda found: str(self._folder / found[1]), argument)
            for argument in arguments
        ]
        if "--no-server" in arguments:
            arguments.remove("--no-server")
        elif "--bootstrap-server" not in arguments:
            position = 1 if tool in _AFTER_SUBCOMMAND else 0
            arguments[position:position] = ["--bootstrap-server", self._servers]
        if tool in _ENDS_ITS_JVM:
            return self._run_alone(TOOLS[tool], arguments, prefix)
        line = [
            str(_LIMIT_MS),
            TOOLS[tool],
            base64.b64encode(command.input.replace("~", prefix).encode()).decode(),
            *arguments,
        ]
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\t".join(line) + "\n")
        self._process.stdin.flush()
        result = self._process.stdout.readline()
        assert result, f"the JVM ended: {command.command}"
        status, *encoded = result.rstrip("\n").split("\t")
        output, errors = (base64.b64decode(part).decode() for part in encoded)
        return Result(status, self._text(output, prefix), self._text(errors, prefix))

    def _run_alone(self, main_class: str, arguments: list[str], prefix: str) -> Result:
        done = subprocess.run(
            java_command(self._class_path, main_class, *arguments, log_level="off"),
            check=False,
            capture_output=True,
            text=True,
            timeout=_OWN_JVM_TIMEOUT_S,
        )
        return Result(
            str(done.returncode),
            self._text(done.stdout, prefix),
            self._text(done.stderr, prefix),
        )

    def _text(self, text: str, prefix: str) -> str:
        text = text.replace(prefix, "~")
        host, _, port = self._servers.rpartition(":")
        text = text.replace(f"{host}:{port}", "servers").replace(port, "port")
        text = text.replace(str(self._folder), "folder")
        for pattern, replacement in _MAPPED:
            text = pattern.sub(replacement, text)
        return text


def _command(given: Command | str) -> Command:
    return given if isinstance(given, Command) else Command(given)


def command_line(given: Command | str) -> str:
    """Return the command line of a command."""
    return _command(given).command


@contextmanager
def tool_processes(
    kafka: ComparedCluster, ours: ComparedCluster
) -> Iterator[tuple[ToolProcess, ToolProcess]]:
    """Run a JVM with the tools for each of both clusters.

    Raises:
        CannotRunError: there is no JDK, or nothing comes from Maven Central.
    """
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as stack:
        folder = Path(temporary)
        classes, jars = compile_tools(folder)
        processes = []
        for name, cluster in (("kafka", kafka), ("ours", ours)):
            files = folder / name
            files.mkdir()
            host, port = cluster.address(1, "PLAINTEXT")
            processes.append(
                stack.enter_context(ToolProcess(classes, jars, f"{host}:{port}", files))
            )
        yield processes[0], processes[1]


def compare_session(
    session: Session, kafka: ToolProcess, ours: ToolProcess
) -> dict[str, list[str]]:
    """Run a session with both; return the differences of each command that has any.

    The keys are the commands with their number in the session.
    """
    prefix = new_prefix()
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(process.run, session, prefix) for process in (kafka, ours)]
        kafka_results, our_results = (run.result() for run in runs)
    found: dict[str, list[str]] = {}
    for number, (command, expected, actual) in enumerate(
        zip(session.commands, kafka_results, our_results, strict=True), 1
    ):
        lines = []
        if expected.status != actual.status:
            lines.append(f"status: Kafka {expected.status}, ours {actual.status}")
        lines += differing_lines(expected.output, actual.output)
        lines += differing_lines(expected.errors, actual.errors)
        if lines:
            found[f"{number}: {command_line(command)}"] = lines
    return found


def differing_lines(kafka: str, ours: str) -> list[str]:
    """Return the lines that only one of both has, with the sign of a diff."""
    kafka_lines, our_lines = kafka.splitlines(), ours.splitlines()
    lines = [f"Kafka: {line}" for line in kafka_lines if line not in our_lines]
    lines += [f"ours:  {line}" for line in our_lines if line not in kafka_lines]
    if not lines and kafka_lines != our_lines:
        lines = ["the same lines in another order"]
    return lines


def known_differences() -> dict[str, dict[str, list[str]]]:
    """Return the differences that are kept, by session and command."""
    return msgspec.json.decode(KNOWN.read_bytes(), type=dict[str, dict[str, list[str]]])


def save_known_differences(found: Mapping[str, Mapping[str, list[str]]]) -> None:
    """Keep these differences."""
    text = msgspec.json.format(msgspec.json.encode(found), indent=1).decode()
    KNOWN.write_text(text + "\n", encoding="utf-8")
