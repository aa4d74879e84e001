"""Elements that a list has more than once: they count once with a warning (KIP-1161), or never."""

from collections.abc import Mapping

from broker.config.keys import ConfigKey, ListRule
from broker.config.release_keys import is_known, key_in
from broker.config.values import split_list
from broker.log import log
from protocol.releases import Release

TAGS = "streams.rack.aware.assignment.tags"
"""The key of a group, and behind `group.` of the broker, whose elements must differ."""


def repetition_problem(name: str, text: str) -> str | None:
    """Return why tags for assignments by rack cannot be used, in the words of Kafka, or None."""
    tags = split_list(text)
    return f"{name} must not contain duplicate tag keys." if len(set(tags)) < len(tags) else None


def broker_tags_problem(texts: Mapping[str, str], release: Release) -> str | None:
    """Return why a broker of a release cannot start with its default of these tags, or None."""
    name = f"group.{TAGS}"
    return repetition_problem(name, texts.get(name, "")) if is_known(name, release) else None


def warn_of_repetitions(
    keys: Mapping[str, ConfigKey], texts: Mapping[str, str], release: Release
) -> None:
    """Write a line for each list among valid texts that repeats elements.

    Kafka's `ConfigDef.parseValue` writes it whenever it reads a value, we when a value is set.
    """
    for name, text in texts.items():
        if name not in keys or not isinstance(key_in(keys[name], release).check, ListRule):
            continue
        given = split_list(text)
        kept = tuple(dict.fromkeys(given))
        if len(kept) < len(given):
            log.warning("duplicate values of a key are removed", key=name, given=given, kept=kept)
