"""What holds for every test: hypothesis without a clock, and our own `broker` on the path."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

import broker

REPOSITORY = Path(__file__).resolve().parent.parent

# Machines are slow at times: an example has no deadline. In CI the examples are always the same.
settings.register_profile("desk", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "desk")


def pytest_sessionstart() -> None:
    """Stop at once when somebody else's `broker` would be tested."""
    found = Path(broker.__file__ or "?").resolve()
    if not found.is_relative_to(REPOSITORY):
        pytest.exit(
            f"`import broker` found {found}, not this repository's. PyPI has a project named"
            " `broker` that takes the same folder: uninstall it, or use an environment of its own"
            " (scripts/setup makes one).",
            returncode=4,
        )
