"""`mock-kafka explore`: run a command under schedules of faults until it fails."""

import argparse
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from time import perf_counter

from mock_kafka.broker_process import StartError
from mock_kafka.cluster import MockKafka
from mock_kafka.control import ControlError
from mock_kafka.exploration.cluster_runs import ClusterRuns
from mock_kafka.exploration.disturbances import PROFILES
from mock_kafka.exploration.finding_folder import FindingFolder, Setting
from mock_kafka.exploration.outcome import Outcome
from mock_kafka.exploration.schedule import disturbances_of, used_profiles
from mock_kafka.exploration.search import Plan, Step, Summary, drive, search

NONE_FOUND, FOUND, USAGE = 0, 1, 2
INTERRUPTED = 130
"""The status of a shell command that Ctrl-C has ended."""
TIMEOUT_S = 60.0

DESCRIPTION = """\
Run a command again and again under schedules of faults, until it fails. Each
run has an empty cluster, whose address is in MOCK_KAFKA_BOOTSTRAP_SERVERS. A
run fails if the command ends with another status than 0 or does not end, if an
acknowledged record is missing, stored twice or out of order, or if a client
goes on during a throttle. What fails is repeated, shrunk to a few fault rules,
and written to a folder.
"""
EPILOG = """\
The command also has MOCK_KAFKA_ADMIN_URL and MOCK_KAFKA_SEED. The exit status is
1 if there is a finding, 0 if there is none, and 2 if the command fails without
faults or the options are wrong.
"""


@dataclass
class CommandRuns:
    """Runs of a command in a shell, on one cluster."""

    kafka: MockKafka
    setting: Setting

    def __post_init__(self) -> None:
        self.runs = ClusterRuns(self.kafka, except_kinds=self.setting.except_kinds)

    def run(self, step: Step) -> Outcome:
        """Run the command once."""
        self.runs.begin(step.rules)
        environment = {
            **os.environ,
            "MOCK_KAFKA_BOOTSTRAP_SERVERS": self.kafka.bootstrap_servers,
            "MOCK_KAFKA_ADMIN_URL": self.kafka.admin_url,
            "MOCK_KAFKA_SEED": str(step.seed),
        }
        with TemporaryFile() as output:
            process = subprocess.Popen(  # noqa: S602 - the user's own command
                self.setting.command,
                shell=True,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
            try:
                status = process.wait(self.setting.timeout_s)
                kind = f"exit status {status}" if status else None
            except subprocess.TimeoutExpired:
                kind = f"no end in {self.setting.timeout_s:g} s"
            finally:
                _kill_tree(process)
            output.seek(0)
            return self.runs.end(kind, output=output.read(), has_evidence=True)


def _kill_tree(process: subprocess.Popen[bytes]) -> None:
    """Kill a shell with all that it has started; what has left its shell stays on Windows only."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        with suppress(OSError):
            subprocess.run(  # noqa: S603 - the number of our own process
                ["taskkill", "/F", "/T", "/PID", str(process.pid)],  # noqa: S607
                stderr=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                check=False,
            )
        process.terminate()
    process.wait()


class Progress:
    """Lines on standard error: one for each run if it is no terminal, else one that changes."""

    def __init__(self, runs: int) -> None:
        self._runs = runs
        self._failures = 0
        self._started_s = perf_counter()
        self._made = 0

    @property
    def made_per_minute(self) -> float:
        """Runs of all kinds per minute."""
        return self._made * 60 / max(perf_counter() - self._started_s, 1e-9)

    def note(self, step: Step, outcome: Outcome) -> None:
        """Show the run that was made."""
        self._made += 1
        has_failed = bool(outcome.kinds)
        if step.purpose == "run":
            self._failures += has_failed
            text = f"run {step.number} of {self._runs}, {self._failures} failed"
        else:
            result = "failed" if has_failed else "passed"
            text = f"{step.purpose} {step.number}, {len(step.rules)} rules: {result}"
        is_terminal = sys.stderr.isatty()
        if is_terminal:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
        elif has_failed or step.purpose != "run" or step.number % 10 == 0:
            print(text, file=sys.stderr, flush=True)

    def end(self) -> None:
        """Leave the line that changes."""
        if sys.stderr.isatty():
            print(file=sys.stderr)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of `mock-kafka explore`."""
    parser = argparse.ArgumentParser(
        prog="mock-kafka explore",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--command", metavar="LINE", help="what to run, as in a shell")
    parser.add_argument(
        "--replay", type=Path, metavar="FOLDER", help="repeat the schedule of a finding instead"
    )
    defaults = Plan()
    for name, default, summary in (
        ("seed", defaults.seed, "the first run draws from it, each later one from the next"),
        ("runs", 200, "how many schedules to draw"),
        ("rules", defaults.rules_max, "the most rules of a schedule"),
        ("repeats", defaults.repeats, "how often to repeat a schedule that failed"),
        ("shrink-runs", defaults.shrink_runs_max, "how many runs may shrink it"),
        ("findings", defaults.findings_max, "after how many different ones to stop"),
        ("brokers", 3, "brokers of the cluster"),
    ):
        parser.add_argument(
            f"--{name}", type=int, default=default, metavar="N", help=f"{summary} (%(default)s)"
        )
    parser.add_argument(
        "--profile",
        action="append",
        choices=sorted(PROFILES),
        help="what to draw; may be repeated; by default what the first run needs",
    )
    parser.add_argument(
        "-o",
        dest="config",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a key of the broker configuration; may be repeated",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=TIMEOUT_S,
        metavar="S",
        help="end a run after so many seconds (%(default)s)",
    )
    parser.add_argument(
        "--except",
        dest="except_kinds",
        action="append",
        default=[],
        metavar="KIND",
        help="a finding to ignore, such as stored_twice or requests_during_throttle",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("mock-kafka-findings"),
        metavar="FOLDER",
        help="where to write findings (%(default)s)",
    )
    return parser


def main(arguments: Sequence[str]) -> int:
    """Explore, or replay a finding; return the exit status."""
    parser = build_parser()
    options = parser.parse_args(arguments)
    if options.replay is None and options.command is None:
        parser.error("--command or --replay is missing")
    try:
        return _replay(options) if options.replay is not None else _explore(parser, options)
    except KeyboardInterrupt:
        return INTERRUPTED
    except (ControlError, OSError, StartError, ValueError) as error:
        print(f"mock-kafka explore: {error}", file=sys.stderr)
        return USAGE


def _setting(parser: argparse.ArgumentParser, options: argparse.Namespace) -> Setting:
    for entry in options.config:
        if "=" not in entry:
            parser.error(f"-o {entry}: must be KEY=VALUE")
    return Setting(
        command=options.command,
        brokers=options.brokers,
        config=dict(entry.split("=", 1) for entry in options.config),
        timeout_s=options.timeout,
        except_kinds=options.except_kinds,
    )


def _cluster(setting: Setting) -> MockKafka:
    return MockKafka(brokers=setting.brokers, config=setting.config, audit=True)


def _explore(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    setting = _setting(parser, options)
    plan = Plan(
        options.seed,
        options.runs,
        options.rules,
        options.repeats,
        options.shrink_runs,
        options.findings,
    )
    with _cluster(setting) as kafka:
        command = CommandRuns(kafka, setting)
        first = command.run(Step([], "run", 0, options.seed))
        if first.kinds:
            print(f"without faults the command fails: {first.report}", file=sys.stderr)
            if first.evidence is not None:
                sys.stderr.write(first.evidence.output.decode(errors="replace"))
            return USAGE
        seen = command.runs.seen()
        profiles = options.profile or used_profiles(seen)
        sent = ", ".join(f"{count} {api}" for api, count in sorted(seen.requests.items()))
        print(f"without faults the command passes; it sent: {sent or 'nothing'}")
        print(f"profiles: {', '.join(profiles) or 'none'}; seeds from {plan.seed}", flush=True)
        disturbances = disturbances_of(profiles)
        progress = Progress(plan.runs)

        def run(step: Step) -> Outcome:
            outcome = command.run(step)
            progress.note(step, outcome)
            return outcome

        summary = drive(search(plan, disturbances, seen), run)
        progress.end()
    for finding in summary.findings:
        folder = FindingFolder(options.out / f"seed-{finding.seed}")
        print(folder.write(finding, setting))
    print(_summary(summary, progress))
    return FOUND if summary.findings else NONE_FOUND


def _summary(summary: Summary, progress: Progress) -> str:
    findings = len(summary.findings)
    return (
        f"{summary.runs} schedules, {summary.failures} failed, {findings} finding"
        f"{'' if findings == 1 else 's'}; {progress.made_per_minute:.0f} runs per minute"
    )


def _replay(options: argparse.Namespace) -> int:
    folder = FindingFolder(options.replay)
    rules, setting, seed = folder.read()
    if options.command is not None:
        setting = setting.with_command(options.command)
    print(f"replay: {shlex.quote(setting.command)} with {len(rules)} rules", flush=True)
    with _cluster(setting) as kafka:
        command = CommandRuns(kafka, setting)
        outcomes = [command.run(Step(rules, "repeat", n + 1, seed)) for n in range(options.repeats)]
    failed = [outcome for outcome in outcomes if outcome.kinds]
    if failed:
        evidence = failed[-1].evidence
        assert evidence is not None, "runs of a command keep it"
        sys.stdout.write(evidence.output.decode(errors="replace"))
        print(failed[-1].report)
    print(f"failed {len(failed)} of {len(outcomes)}")
    return FOUND if failed else NONE_FOUND
