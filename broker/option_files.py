"""Read the files that options of the command line name."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from broker.config.broker_config import BrokerConfig
from broker.config.config_providers import provider_names
from broker.config.keys import ConfigError
from protocol.environment import EnvironmentVariableError, resolve_all
from protocol.pacing import may_pause
from protocol.properties import PropertiesError, parse_properties

if TYPE_CHECKING:  # imported for files of rules and snapshots
    from broker.faults import FaultRule
    from broker.http_admin.snapshot_start import FirstSnapshot

NO_DEFAULTS: Mapping[str, str] = MappingProxyType({})


def read_config(
    path: Path | None,
    overrides: Sequence[str],
    defaults: Mapping[str, str] = NO_DEFAULTS,
) -> BrokerConfig:
    """Return the configuration of a properties file and `KEY=VALUE` arguments; the latter win.

    `defaults` are the values of keys that neither has.

    `${env:NAME}` in a value is an environment variable, unless `config.providers` names a provider
    `env`, which then replaces it.

    Raises:
        ConfigError: the file can't be read, a key is unknown, a value is invalid, or a variable is
            not set.
    """
    values = dict(defaults)
    if path is not None:
        try:
            values |= parse_properties(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise ConfigError(f"cannot read {path}: {error}") from error
        except PropertiesError as error:
            raise ConfigError(f"{path}: {error}") from error
    for word in overrides:
        key, separator, value = word.partition("=")
        if not separator or not key.strip():
            raise ConfigError(f"-o {word}: expected KEY=VALUE")
        values[key.strip()] = value.strip()
    try:
        if "env" not in provider_names(values):
            values = resolve_all(values, os.environ)
        return BrokerConfig.from_overrides(values)
    except EnvironmentVariableError as error:
        raise ConfigError(str(error)) from error


@may_pause
def read_faults(path: Path | None) -> "tuple[FaultRule, ...]":
    """Return the fault rules of a JSON file; none if there is no file.

    Raises:
        ConfigError: the file can't be read, or a rule is invalid.
    """
    if path is None:
        return ()
    from broker.faults import rules_from_json  # noqa: PLC0415 - see ADR 24

    try:
        return tuple(rules_from_json(json.loads(path.read_bytes())))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:  # of JSON and of rules
        raise ConfigError(f"{path}: {error}") from error


@may_pause
def read_snapshot(path: Path | None, *, is_strict: bool = False) -> "FirstSnapshot | None":
    """Return the snapshot of a JSON file, which gzip may have compressed; None without a file.

    Raises:
        ConfigError: the file can't be read, or is not a valid document.
    """
    if path is None:
        return None
    from broker.http_admin import snapshot_start  # noqa: PLC0415 - see ADR 24

    return snapshot_start.read_snapshot(path, is_strict=is_strict)
