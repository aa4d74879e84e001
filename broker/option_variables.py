"""Environment variables in place of options of the command line.

Names of keys are written as in the environment of Apache Kafka's container image: `_` for a dot,
`__` for an underscore, `___` for a dash.
"""

import argparse
from collections.abc import Mapping

PREFIX = "MOCK_KAFKA_"
KEY_PREFIX = "MOCK_KAFKA_CONFIG_"
"""Followed by a broker's key: `MOCK_KAFKA_CONFIG_NUM_PARTITIONS` is `num.partitions`."""

_FLAGS = {"true": True, "false": False}


def variable_of(option: str) -> str:
    """Return the variable of an option: `MOCK_KAFKA_ADMIN_PORT` of `--admin-port`."""
    return PREFIX + option.removeprefix("--").replace("-", "_").upper()


def use_variables(parser: argparse.ArgumentParser, environment: Mapping[str, str]) -> None:
    """Make the variables of its options the defaults of a parser; empty ones are ignored.

    The variable of an option that may be repeated has its values separated by commas, that of an
    option without a value is `true` or `false`. An invalid value is a usage error that names the
    variable.
    """
    for action in parser._actions:
        long_options = [option for option in action.option_strings if option.startswith("--")]
        is_flag = isinstance(action.const, bool)
        if not long_options or (action.nargs == 0 and not is_flag):
            continue
        name = variable_of(long_options[0])
        text = environment.get(name, "")
        if text:
            action.default = _default(parser, action, name, text)


def keys_in(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the broker's keys in an environment, with their values."""
    return {
        _key(name.removeprefix(KEY_PREFIX)): text
        for name, text in sorted(environment.items())
        if name.startswith(KEY_PREFIX)
    }


def _key(name: str) -> str:
    dashed = name.lower().replace("___", "-")
    return dashed.replace("__", "\0").replace("_", ".").replace("\0", "_")


def _default(
    parser: argparse.ArgumentParser, action: argparse.Action, name: str, text: str
) -> object:
    if isinstance(action.const, bool):
        if text not in _FLAGS:
            parser.error(f"{name}: {text!r} is not one of {', '.join(_FLAGS)}")
        return _FLAGS[text]
    if isinstance(action.default, list):  # of an option that may be repeated
        return [value.strip() for value in text.split(",")]
    try:
        value = action.type(text) if callable(action.type) else text
    except argparse.ArgumentTypeError as error:
        parser.error(f"{name}: {error}")
    if action.choices is not None and value not in action.choices:
        parser.error(f"{name}: {text!r} is not one of {', '.join(map(str, action.choices))}")
    return value
