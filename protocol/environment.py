"""Values of a configuration that come from environment variables, as `${env:NAME}`.

A password in the environment is in no command line, which other users of the machine can read, and
in no file. Kafka has the same syntax with `config.providers=env`.

Sources: `EnvVarConfigProvider`, `ConfigTransformer`.
"""

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$\{env:([^}]*)\}")


class EnvironmentVariableError(ValueError):
    """A variable is not set; the message is one line that names it."""


def resolve_environment(text: str, environment: Mapping[str, str]) -> str:
    """Return `text` with each `${env:NAME}` replaced by the variable's value.

    Raises:
        EnvironmentVariableError: the environment has no such variable.
    """

    def value_of(reference: re.Match[str]) -> str:
        name = reference[1]
        if name not in environment:
            raise EnvironmentVariableError(f"{reference[0]}: there is no such variable")
        return environment[name]

    return _REFERENCE.sub(value_of, text)


def resolve_all(values: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the values with their references replaced.

    Raises:
        EnvironmentVariableError: the environment lacks a variable; the message names the key, too.
    """
    resolved = {}
    for key, value in values.items():
        try:
            resolved[key] = resolve_environment(value, environment)
        except EnvironmentVariableError as error:
            raise EnvironmentVariableError(f"{key}={error}") from None
    return resolved
