"""The JAAS configuration of a listener: the users of PLAIN, and options of OAUTHBEARER.

Sources: Kafka's `JaasConfig`, `JaasContext.loadServerContext` and `PlainServerCallbackHandler`.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType

from broker.config.broker_config import BrokerConfig
from broker.config.keys import ConfigError
from broker.config.listener_values import started_texts

_TOKEN = re.compile(
    r"""\s+|//[^\n]*|/\*.*?\*/|(?P<sign>[=;])|(?P<word>[\w.$-]+)"""
    r"""|"(?P<double>(?:[^"\\\n]|\\.)*)"|'(?P<single>(?:[^'\\\n]|\\.)*)'""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v"}
_FLAGS = frozenset({"REQUIRED", "REQUISITE", "SUFFICIENT", "OPTIONAL"})
_USER = "user_"
_PLAIN = "plain"
_KEY = "sasl.jaas.config"
_NOBODY: Mapping[str, str] = MappingProxyType({})


def plain_users(
    config: BrokerConfig, listener_name: str, broker_id: int | None = None
) -> Mapping[str, str]:
    """Return the passwords by name that the JAAS configuration of a listener has for PLAIN.

    Without `broker_id` it is the configuration of all brokers.

    Raises:
        ConfigError: the configuration is malformed; the message has no part of it.
    """
    text = _text_of(config, listener_name, _PLAIN, broker_id)
    return _NOBODY if text is None else _users(text)


def options_of(
    config: BrokerConfig, listener_name: str, mechanism: str, broker_id: int | None = None
) -> Mapping[str, str]:
    """Return the options of the login module of a listener's mechanism, such as `oauthbearer`.

    Raises:
        ConfigError: the configuration is malformed; the message has no part of it.
    """
    text = _text_of(config, listener_name, mechanism, broker_id)
    return _NOBODY if text is None else _options(mechanism, text)


def _text_of(
    config: BrokerConfig, listener_name: str, mechanism: str, broker_id: int | None
) -> str | None:
    return started_texts(config, listener_name, broker_id).get(f"{mechanism}.{_KEY}")


def _options(mechanism: str, text: str) -> Mapping[str, str]:
    try:
        return read_jaas(text)
    except ValueError as error:
        raise ConfigError(f"{mechanism}.{_KEY}: {error}") from None


@lru_cache(maxsize=16)
def _users(text: str) -> Mapping[str, str]:
    users = {
        name.removeprefix(_USER): password
        for name, password in _options(_PLAIN, text).items()
        if name.startswith(_USER)
    }
    return MappingProxyType(users)


def read_jaas(text: str) -> dict[str, str]:
    """Return the options of the only login module of a JAAS configuration.

    Raises:
        ValueError: it is malformed, in the words of Kafka.
    """
    tokens = _tokens(text)
    if next(tokens, None) is None:
        raise ValueError("Login module not specified in JAAS config")
    flag = next(tokens, None)
    if flag is None:
        raise ValueError("Login module control flag not specified in JAAS config")
    if flag.upper() not in _FLAGS:
        raise ValueError("Invalid login module control flag in JAAS config")
    options: dict[str, str] = {}
    for key in tokens:
        if key == ";":
            break
        if next(tokens, None) != "=" or (value := next(tokens, ";")) == ";":
            raise ValueError(f"Value not specified for key '{key}' in JAAS config")
        options[key] = value.removeprefix("\0")
    else:
        raise ValueError("JAAS config entry not terminated by semi-colon")
    if next(tokens, None) is not None:
        raise ValueError("JAAS config property contains several login modules, should be 1 module")
    return options


def _tokens(text: str) -> Iterator[str]:
    """Yield words and signs; a quoted text begins with a NUL character."""
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise ValueError("a character does not belong to a JAAS config")
        position = found.end()
        quoted = found["double"] if found["double"] is not None else found["single"]
        if quoted is not None:
            yield "\0" + _ESCAPE.sub(lambda e: _ESCAPES.get(e[1], e[1]), quoted)
        elif found["sign"] or found["word"]:
            yield found["sign"] or found["word"]
