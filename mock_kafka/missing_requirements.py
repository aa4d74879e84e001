"""Which packages the broker or a command needs and this environment does not have.

The fixture and its methods need the standard library only. So `pip install --no-deps` of the wheel
is enough beside a broker in another environment. Some commands need packages of an extra.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ADVICE = (
    "install mock-kafka in a separate environment, for example with `uv tool install` or"
    " `pipx install`; its `mock-kafka` is found on the PATH, or in MOCK_KAFKA_COMMAND"
)

NOT_INSTALLED = "not installed"
_OURS = "mock-kafka"
_REQUIREMENT = re.compile(
    r'([\w.-]+)(?:\[([\w,-]*)\])?([<>=!~\d.,]*)(?:; extra == [\'"]([\w-]+)[\'"])?'
)
"""Name, extras, versions, and the extra that it is for. Those with other markers are optional."""
_LOWER_BOUND = re.compile(r">=([\d.]+)")


def missing_requirements(extra: str = "") -> list[str]:
    """Return a phrase for each requirement that is missing or too old; none if they are unknown.

    Args:
        extra: count the packages of this extra, and not those of the broker.
    """
    return [f"{requirement} ({what})" for requirement, what in _missing(extra)]


def explanation(extra: str = "") -> str:
    """Return what is missing here and what to do, as one line, or "" if nothing is missing.

    Args:
        extra: as for `missing_requirements`; the line begins with the first package.
    """
    missing = ", ".join(missing_requirements(extra))
    if not missing:
        return ""
    if not extra:
        return f"the broker needs {missing}: {ADVICE}"
    found = list(_missing(extra))
    elsewhere = (
        f"install mock-kafka with its extra `{extra}` in a separate environment, for example with"
        " `uv tool install` or `pipx install`, and call its `mock-kafka`"
    )
    if any(what != NOT_INSTALLED for _, what in found):  # a client that somebody tests, perhaps
        return f"{missing}: to keep what is installed, {elsewhere}"
    if _is_externally_managed():
        return f"{missing}: nothing can be installed in this Python; {elsewhere}"
    words = " ".join(f"'{requirement}'" for requirement, _ in found)
    return f"{missing}: pip install {words}"


def _is_externally_managed() -> bool:
    """Return whether pip refuses to install here (PEP 668), as in our program of one file."""
    import sysconfig  # noqa: PLC0415 - for an error

    marker = Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
    return sys.prefix == sys.base_prefix and marker.exists()


def _missing(extra: str) -> Iterator[tuple[str, str]]:
    """Yield each requirement that this environment does not satisfy, and what is installed."""
    from importlib import metadata  # noqa: PLC0415 - a slow import that few need

    try:
        declared = metadata.requires(_OURS) or []
    except metadata.PackageNotFoundError:
        return
    for match in filter(None, map(_REQUIREMENT.fullmatch, declared)):
        name, extras, versions, of_extra = match.groups("")
        if of_extra != extra:
            continue
        if name == _OURS:
            for included in extras.split(","):
                yield from _missing(included)
            continue
        try:
            installed = metadata.version(name)
        except metadata.PackageNotFoundError:
            yield f"{name}{versions}", NOT_INSTALLED
        else:
            bound = _LOWER_BOUND.search(versions)
            if bound and _numbers(installed) < _numbers(bound[1]):
                yield f"{name}{versions}", f"{installed} is installed"


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version.partition("+")[0])]
