"""KIP-297: values that come from files and environment variables, as `${NAME:PATH:KEY}`.

`config.providers` names providers, `config.providers.NAME.class` is the class of each, and
`config.providers.NAME.param.X` its parameters. Kafka's own three classes are here; another one is
a plug-in, which the broker cannot load.

Sources: Kafka's `AbstractConfig.resolveConfigVariables`, `ConfigTransformer`, `AllowedPaths`,
`EnvVarConfigProvider`, `FileConfigProvider`, `DirectoryConfigProvider`.
"""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from broker.config.keys import ConfigError, shortened
from broker.log import log
from protocol.properties import PropertiesError, parse_properties
from protocol.regular_expressions import full_match, regex_problem

PROVIDERS_KEY = "config.providers"
PROVIDER_PREFIX = f"{PROVIDERS_KEY}."

FILE_BYTES_MAX = 1 << 20
"""The largest file that is read; Kafka has no bound."""

_REFERENCE = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")

_Parameters = Mapping[str, str]
_Provider = Callable[[str, str], str | None]
"""Return the value of a key at a path, or None if there is none."""


def provider_names(texts: Mapping[str, str]) -> list[str]:
    """Return the names of the providers that have a class."""
    names = texts.get(PROVIDERS_KEY, "").split(",")
    return [name for name in names if f"{PROVIDER_PREFIX}{name}.class" in texts]


def resolved(texts: Mapping[str, str]) -> Mapping[str, str]:
    """Return texts by key with their references replaced, by the providers that they name.

    A reference to another provider, or to a key that a provider does not have, stays as it is.

    Raises:
        ConfigError: a provider cannot be loaded, or a file cannot be read.
    """
    names = provider_names(texts) if PROVIDERS_KEY in texts else []
    if not names:
        return texts
    providers = {name: _provider(name, texts) for name in names}

    def value_of(reference: re.Match[str]) -> str:
        provider = providers.get(reference[1])
        value = None if provider is None else provider(reference[2] or "", reference[3])
        return reference[0] if value is None else value

    return {name: _REFERENCE.sub(value_of, text) for name, text in texts.items()}


def without_providers(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the texts without the keys of providers."""
    return {name: text for name, text in texts.items() if not name.startswith(PROVIDERS_KEY)}


def _provider(name: str, texts: Mapping[str, str]) -> _Provider:
    key = f"{PROVIDER_PREFIX}{name}.class"
    prefix = f"{PROVIDER_PREFIX}{name}.param."
    make = _CLASSES.get(texts[key].removeprefix(_PACKAGE))
    if make is None or not texts[key].startswith(_PACKAGE):
        reason = "Could not load config provider class or one of its dependencies"
        raise ConfigError(
            f"Invalid value {shortened(texts[key])} for configuration {key}: {reason}"
        )
    return make(
        {key.removeprefix(prefix): text for key, text in texts.items() if key.startswith(prefix)}
    )


def _variables(parameters: _Parameters) -> _Provider:
    pattern = parameters.get("allowlist.pattern", ".*")
    problem = regex_problem(pattern)
    if problem is not None:
        raise ConfigError(f"allowlist.pattern {shortened(pattern)}: {problem}")

    def value_of(path: str, key: str) -> str | None:
        if path:
            raise ConfigError(
                f"Path is not supported for EnvVarConfigProvider, invalid value '{shortened(path)}'"
            )
        return os.environ.get(key) if full_match(pattern, key) else None

    return value_of


def _properties_of_files(parameters: _Parameters) -> _Provider:
    allowed = _allowed_paths(parameters)
    read: dict[str, dict[str, str]] = {}

    def value_of(path: str, key: str) -> str | None:
        if path not in read:
            file = _permitted(path, allowed)
            problem = f"Could not read properties from file {shortened(path)}"
            try:
                read[path] = {} if file is None else parse_properties(_text_of(file, problem))
            except PropertiesError as error:
                raise ConfigError(f"{problem}: {error}") from error
        return read[path].get(key)

    return value_of


def _files_of_directories(parameters: _Parameters) -> _Provider:
    allowed = _allowed_paths(parameters)

    def value_of(path: str, key: str) -> str | None:
        directory = _permitted(path, allowed)
        if directory is None:
            return None
        if not directory.is_dir():
            log.warning("a path of a config provider is not a directory", path=path)
            return None
        file = directory / key
        if not key or file.parent != directory or not file.is_file():
            return None
        return _text_of(file, f"Could not read file {file} for property {key}")

    return value_of


_PACKAGE = "org.apache.kafka.common.config.provider."
_CLASSES: Mapping[str, Callable[[_Parameters], _Provider]] = {
    "EnvVarConfigProvider": _variables,
    "FileConfigProvider": _properties_of_files,
    "DirectoryConfigProvider": _files_of_directories,
}


def _text_of(file: Path, problem: str) -> str:
    try:
        if not file.is_file() or file.stat().st_size > FILE_BYTES_MAX:
            raise ConfigError(problem)
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(problem) from error


def _allowed_paths(parameters: _Parameters) -> list[Path] | None:
    """Return the paths below which a provider may read, or None if it may read everything."""
    text = parameters.get("allowed.paths", "")
    if not text:
        return None
    allowed = []
    for name in text.split(","):
        path = Path(os.path.normpath(name))
        if not path.is_absolute():
            raise ConfigError(f"Path {shortened(str(path))} is not absolute")
        if not path.exists():
            raise ConfigError(f"Path {shortened(str(path))} does not exist")
        allowed.append(path.resolve())
    return allowed


def _permitted(path: str, allowed: list[Path] | None) -> Path | None:
    """Return a path if a provider may read there, with its links followed, or None."""
    if not path:
        return None
    if allowed is None:
        return Path(path)
    real = Path(path).resolve()
    if real.exists() and any(real.is_relative_to(parent) for parent in allowed):
        return real
    log.warning("a config provider may not read a path", path=path)
    return None
