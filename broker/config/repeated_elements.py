"""Warn of elements that a list has more than once: they count once (KIP-1161)."""

from collections.abc import Mapping

from broker.config.keys import ConfigKey, ListRule
from broker.config.release_keys import key_in
from broker.config.values import split_list
from broker.log import log
from protocol.releases import Release


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
