"""Which packages the broker needs and this environment does not have.

The fixture and its methods need the standard library only. So `pip install --no-deps` of the wheel
is enough beside a broker in another environment.
"""

import re

ADVICE = (
    "install mock-kafka in a separate environment, for example with `uv tool install` or"
    " `pipx install`; its `mock-kafka` is found on the PATH, or in MOCK_KAFKA_COMMAND"
)

_LOWER_BOUND = re.compile(r"([\w.-]+)(?:\[[\w,-]*\])?>=([\d.]+)")
"""A requirement without a marker; those with one are for extras, or optional."""


def missing_requirements() -> list[str]:
    """Return a phrase for each requirement that is missing or too old; none if they are unknown."""
    from importlib import metadata  # noqa: PLC0415 - a slow import that few need

    try:
        declared = metadata.requires("mock-kafka") or []
    except metadata.PackageNotFoundError:
        return []
    missing = []
    for match in filter(None, map(_LOWER_BOUND.fullmatch, declared)):
        name, bound = match.groups()
        try:
            installed = metadata.version(name)
        except metadata.PackageNotFoundError:
            missing.append(f"{name}>={bound} (not installed)")
        else:
            if _numbers(installed) < _numbers(bound):
                missing.append(f"{name}>={bound} ({installed} is installed)")
    return missing


def explanation() -> str:
    """Return what is missing here and what to do, as one line, or "" if nothing is missing."""
    missing = missing_requirements()
    return f"the broker needs {', '.join(missing)}: {ADVICE}" if missing else ""


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version.partition("+")[0])]
