"""The folder of a finding: what it is, how to replay it, and what the failing run left."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from mock_kafka.exploration.disturbances import Rule
from mock_kafka.exploration.report import describe
from mock_kafka.exploration.search import Finding

FAULTS, DRAWN, FINDING = "faults.json", "drawn.json", "finding.json"
OUTPUT, JOURNAL, PCAP, REPORT = "output.txt", "requests.jsonl", "requests.pcap", "report.txt"


@dataclass(frozen=True)
class Setting:
    """What a replay needs beside the rules: the command, the cluster, and what counts as failed."""

    command: str
    brokers: int
    config: Mapping[str, str]
    timeout_s: float
    except_kinds: Sequence[str]

    def with_command(self, command: str) -> "Setting":
        """Return the same setting with another command."""
        return replace(self, command=command)


class FindingFolder:
    """A folder with one finding."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def replay_command(self) -> str:
        """The command line that repeats the finding."""
        return f"mock-kafka explore --replay {shlex.quote(str(self.path))}"

    def write(self, finding: Finding, setting: Setting) -> str:
        """Write all files; return the report.

        Raises:
            OSError: the folder can't be written.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        evidence = finding.outcome.evidence
        assert evidence is not None, "the driver keeps it for runs that fail"
        self._write_rules(FAULTS, finding.rules)
        self._write_rules(DRAWN, finding.drawn)
        described = {
            "seed": finding.seed,
            "run": finding.run,
            "kinds": sorted(finding.outcome.kinds),
            "failed": [finding.repeats.failures, finding.repeats.runs],
            "setting": asdict(setting),
        }
        self._write(FINDING, json.dumps(described, indent=2) + "\n")
        self._write(JOURNAL, "".join(json.dumps(line) + "\n" for line in evidence.journal))
        (self.path / OUTPUT).write_bytes(evidence.output)
        (self.path / PCAP).write_bytes(evidence.pcap)
        serve = f"mock-kafka serve --brokers {setting.brokers} --faults {self.path / FAULTS}"
        overrides = "".join(f" -o {shlex.quote(f'{k}={v}')}" for k, v in setting.config.items())
        report = "\n".join(
            [
                describe(finding),
                f"replay: {self.replay_command}",
                f"or, for a client in a debugger: {serve}{overrides}",
                f"{self.path} also has {OUTPUT}, {JOURNAL}, {PCAP} and {DRAWN}",
            ]
        )
        self._write(REPORT, report + "\n")
        return report

    def read(self) -> tuple[list[Rule], Setting, int]:
        """Return the rules, the setting and the seed of a finding that was written.

        Raises:
            OSError: a file is missing.
            ValueError: a file is not what `write` wrote.
        """
        try:
            rules: list[Rule] = json.loads((self.path / FAULTS).read_bytes())
            described = json.loads((self.path / FINDING).read_bytes())
            return rules, Setting(**described["setting"]), described["seed"]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{self.path}: no finding of mock-kafka explore: {error!r}") from None

    def _write_rules(self, name: str, rules: Sequence[Rule]) -> None:
        lines = ",\n".join(f"  {json.dumps(rule)}" for rule in rules)
        self._write(name, f"[\n{lines}\n]\n" if lines else "[]\n")

    def _write(self, name: str, text: str) -> None:
        (self.path / name).write_text(text, encoding="utf-8")
