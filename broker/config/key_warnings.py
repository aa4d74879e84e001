"""Warn of keys when they are set: of repeated elements, and of keys without an effect."""

from collections.abc import Mapping

from broker.config.broker_config import BROKER_KEYS, base_key
from broker.config.effects import (
    NEEDS_PREFIX,
    NO_OPTIONS,
    NOT_OF_A_LISTENER,
    OF_A_PLUGIN,
    Effect,
)
from broker.config.keys import ConfigError, ConfigKey
from broker.config.release_keys import is_known, key_in, release_defaults
from broker.config.repeated_elements import warn_of_repetitions
from broker.config.security_keys import LISTENER_KEYS, TOKEN_HANDLERS
from broker.config.values import parse_value
from broker.log import log
from protocol.releases import Release

_HANDLER_OF_TOKENS = ".oauthbearer.sasl.server.callback.handler.class"


def ineffective_keys(
    keys: Mapping[str, ConfigKey], texts: Mapping[str, str], release: Release
) -> dict[str, str]:
    """Return the keys among valid texts that would act in Kafka and do not here, with the reason.

    A key that is set to its default is left out, as is one that the release does not have.
    """
    effects = {name: effect_of(keys, name) for name in texts}
    return {
        name: reason
        for name, (effect, reason) in effects.items()
        if effect is Effect.MISSING and reason and _differs(keys, name, texts[name], release)
    }


def effect_of(keys: Mapping[str, ConfigKey], name: str) -> tuple[Effect, str | None]:
    """Return what a key does, which may have the prefix of a listener, and why if it does not.

    Kafka ignores a key that it does not know, and the prefix before most keys.
    """
    key = keys.get(name)
    if key is not None:
        return key.effect, key.reason
    base = base_key(name)
    if keys is not BROKER_KEYS or base is None:
        return Effect.UNSEEN, OF_A_PLUGIN
    if base.reason == NEEDS_PREFIX:
        return _effect_of_jaas(name)
    if base.effect is Effect.ACTS and base.name not in LISTENER_KEYS:
        return Effect.UNSEEN, NOT_OF_A_LISTENER
    return base.effect, base.reason


def _effect_of_jaas(name: str) -> tuple[Effect, str | None]:
    mechanism = name.split(".")[3]
    if mechanism in {"plain", "oauthbearer"}:
        return Effect.ACTS, None
    return Effect.UNSEEN, NO_OPTIONS


def _differs(keys: Mapping[str, ConfigKey], name: str, text: str, release: Release) -> bool:
    key = keys.get(name)
    if key is None:
        return not (name.endswith(_HANDLER_OF_TOKENS) and text in TOKEN_HANDLERS)
    if not is_known(name, release):
        return False
    defaults = release_defaults(release) if keys is BROKER_KEYS else {}
    try:
        return bool(parse_value(key_in(key, release), text) != defaults.get(name, key.default))
    except ConfigError:  # another broker has read it, as one of another release
        return True


def warn_of_keys(keys: Mapping[str, ConfigKey], texts: Mapping[str, str], release: Release) -> None:
    """Write a line for each valid text that repeats elements, and for each key without an effect.

    The latter are keys that Kafka would act on.
    """
    warn_of_repetitions(keys, texts, release)
    for name, reason in ineffective_keys(keys, texts, release).items():
        log.warning("a key has no effect", key=name, reason=reason)
