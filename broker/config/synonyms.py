"""Keys of a broker that set the same: in other units, or with the prefix of a listener.

Source: Kafka's `DynamicBrokerConfig.brokerConfigSynonyms`.
"""

import re
from collections.abc import Mapping

LISTENER_KEY = re.compile(r"listener\.name\.[^.]*\.(.*)")
"""`listener.name.LISTENER.KEY`: a key for one listener."""

MECHANISM_KEYS = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)
"""Keys that may have the prefix of a SASL mechanism after that of a listener."""

_UNITS: tuple[tuple[str, ...], ...] = (
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
)
"""Keys for the same setting in different units; the first one that is set wins."""


def synonym_names(name: str, *, of_listeners: bool = True) -> tuple[str, ...]:
    """Return the keys that set the same as a broker's key, in order of precedence.

    `log.flush.scheduler.interval.ms` is a default of `log.flush.interval.ms`, not the reverse. A
    key of a listener falls back to the one without the listener and without a SASL mechanism.
    Source: Kafka's `DynamicBrokerConfig.brokerConfigSynonyms`.
    """
    if name == "log.flush.interval.ms":
        return (name, "log.flush.scheduler.interval.ms")
    match = LISTENER_KEY.fullmatch(name) if of_listeners else None
    if match is not None:
        ends = (key for key in MECHANISM_KEYS if match[1].endswith(key))
        return (name, next(ends, match[1]))
    return next((group for group in _UNITS if name in group), (name,))


def combine_layers(*layers: Mapping[str, str]) -> dict[str, str]:
    """Return the texts by key of several layers, the lowest first.

    A key removes its synonyms of lower layers: `log.retention.ms` at run time is stronger than
    `log.retention.hours` of the start. Source: Kafka's `DynamicBrokerConfig.overrideProps`.
    """
    combined: dict[str, str] = {}
    for layer in layers:
        for name in layer:
            for synonym in synonym_names(name, of_listeners=False):
                if synonym not in layer:
                    combined.pop(synonym, None)
        combined.update(layer)
    return combined
