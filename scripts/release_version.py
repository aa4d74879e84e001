"""The version of a release in all files that have it, and its notes from CHANGELOG.md."""

import json
import re
from pathlib import Path

from scripts.executable_build import version

ROOT = Path(__file__).resolve().parent.parent
PLACES = {
    "clients/go/mockkafka/types_generated.go": r'const Version = "(.+)"',
    "clients/java/README.md": r"mock-kafka</artifactId>\s*<version>(.+)</version>",
    "clients/java/pom.xml": r"mock-kafka-parent</artifactId>\s*<version>(.+)</version>",
    "clients/java/mock-kafka/pom.xml": r"mock-kafka-parent</artifactId>\s*<version>(.+)</version>",
    "clients/java/mock-kafka-testcontainers/pom.xml": (
        r"mock-kafka-parent</artifactId>\s*<version>(.+)</version>"
    ),
    "clients/node/package.json": r'^  "version": "(.+)"',
    "clients/openapi.json": r'^  "version": "(.+)"',
    "clients/rust/Cargo.toml": r'^version = "(.+?)"',
    "docs/containers.md": r"mock-kafka-([0-9.]+)-linux-x86_64",
    "docs/quickstart.md": r"mock[-_]kafka-([0-9]+\.[0-9]+\.[0-9]+)",
    "docs/testing.md": r"mock[-_]kafka-([0-9]+\.[0-9]+\.[0-9]+)",
    "examples/go/go.mod": r"clients/go v(.+)",
    "examples/java/pom.xml": r"mock-kafka</artifactId>\s*<version>(.+)</version>",
    "scripts/launcher/Cargo.toml": r'^version = "(.+?)"',
}
"""The version of pyproject.toml elsewhere: a file, and what is around its version."""
SEMANTIC = re.compile(r"\d+\.\d+\.\d+")
UNRELEASED = "Unreleased"


class ReleaseError(Exception):
    """A part of the release is not as it should be; the message says what."""


def check_version(root: Path, expected: str | None) -> str:
    """Return the version of a checkout.

    Args:
        root: the checkout.
        expected: the version of the tag, which needs its section in CHANGELOG.md; None accepts the
            section of what is not released.

    Raises:
        ReleaseError: a file has another version, or the section is missing.
    """
    ours = version()
    problems = []
    if not SEMANTIC.fullmatch(ours) or expected not in {None, ours}:
        problems.append(f"pyproject.toml has {ours}, and the release is {expected}")
    for name, pattern in PLACES.items():
        text = (root / name).read_text(encoding="utf-8")
        found = set(re.findall(pattern, text, re.MULTILINE))
        if found != {ours}:
            problems.append(f"{name} has {', '.join(sorted(found)) or 'no version'}, not {ours}")
    lock = json.loads((root / "clients/node/package-lock.json").read_text(encoding="utf-8"))
    if {lock["version"], lock["packages"][""]["version"]} != {ours}:
        problems.append(f"clients/node/package-lock.json has {lock['version']}, not {ours}")
    if problems:
        raise ReleaseError("\n".join(problems))
    notes(root, expected)
    return ours


def notes(root: Path, released: str | None) -> str:
    """Return the section of a version in CHANGELOG.md, without its heading; None is what is next.

    Raises:
        ReleaseError: there is no such section, or nothing is in it.
    """
    title = released or UNRELEASED
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    for section in sections:
        heading, _, body = section.partition("\n")
        if heading.strip("[] ").split(" ")[0].rstrip("]") == title and body.strip():
            return f"{body.strip()}\n"
    raise ReleaseError(f"CHANGELOG.md has no section `## {title}` with changes")
