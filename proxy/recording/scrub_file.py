"""The YAML file of `--scrub`: which parts of which records are dropped, hashed or replaced."""

import secrets
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from loadgen.plan.yaml_reader import FieldPath, YamlDocument, suggestion
from protocol.environment import EnvironmentVariableError, resolve_environment
from protocol.regular_expressions import replaced
from proxy.recording.json_path import Change, JsonPath
from proxy.recording.keyed_hash import KeyedHash
from proxy.recording.scrubbing import (
    Drop,
    Hash,
    JsonScrubber,
    Keep,
    RecordScrubber,
    Replace,
    Scrubber,
    Scrubbing,
    keep,
    remove,
)

WORDS = ("keep", "drop", "hash")
_KEY_BYTES = 32


class _Topic(msgspec.Struct, forbid_unknown_fields=True):
    """An entry of the file; a rule is a word or a mapping."""

    match: str
    key: Any = "hash"
    value: Any = "hash"
    headers: dict[str, Any] = {}


class _File(msgspec.Struct, forbid_unknown_fields=True):
    topics: list[_Topic]
    hash_key: str | None = None


def scrubbing_of(text: str, source: str, environment: Mapping[str, str]) -> Scrubbing:
    """Return the rules of a file with this text; `source` names it in errors.

    Without `hash_key` the hashes have a random key, so those of two recordings differ.

    Raises:
        CommandError: it is no YAML, or a field is invalid; the message names file, line and field.
    """
    document = YamlDocument(text, source, "the rules")
    return _Reader(document, document.convert(_File), environment).read()


class _Reader:
    """Checks the parts of a file, and makes rules of them."""

    def __init__(self, document: YamlDocument, file: _File, environment: Mapping[str, str]) -> None:
        self._document = document
        self._file = file
        self._hash = Hash(KeyedHash(self._hash_key(environment)))

    def read(self) -> Scrubbing:
        """Return the rules."""
        globs = [topic.match for topic in self._file.topics]
        for number, glob in enumerate(globs):
            earlier = next((other for other in globs[:number] if fnmatchcase(glob, other)), None)
            if earlier is not None:
                reason = f"{glob} is never used: {earlier} before it fits the same topics"
                self._document.refuse(("topics", number, "match"), reason)
        return Scrubbing(
            [
                (topic.match, self._of_topic(topic, ("topics", number)))
                for number, topic in enumerate(self._file.topics)
            ]
        )

    def _hash_key(self, environment: Mapping[str, str]) -> bytes:
        given = self._file.hash_key
        if given is None:
            return secrets.token_bytes(_KEY_BYTES)
        if "${env:" not in given:
            reason = "the key is a secret and must not be in the file: write ${env:NAME}"
            self._document.refuse(("hash_key",), reason)
        try:
            key = resolve_environment(given, environment)
        except EnvironmentVariableError as error:
            self._document.refuse(("hash_key",), str(error))
        if not key:
            self._document.refuse(("hash_key",), f"{given} is empty")
        return key.encode()

    def _of_topic(self, topic: _Topic, path: FieldPath) -> RecordScrubber:
        return RecordScrubber(
            self._rule(topic.key, (*path, "key")),
            self._rule(topic.value, (*path, "value")),
            [
                (glob, self._rule(rule, (*path, "headers", glob)))
                for glob, rule in topic.headers.items()
            ],
        )

    def _rule(self, rule: Any, path: FieldPath) -> Scrubber:
        if not isinstance(rule, dict):
            by_word: dict[str, Scrubber] = {"keep": Keep(), "drop": Drop(), "hash": self._hash}
            return by_word[self._word(rule, path)]
        if "json" not in rule:
            return self._replace(rule, path)
        self._refuse_unknown(rule, ("json", "otherwise"), path)
        paths = rule["json"]
        if not isinstance(paths, dict):
            self._document.refuse((*path, "json"), "expected paths, such as $.customer.email: hash")
        return JsonScrubber(
            [
                (self._json_path(text, (*path, "json")), self._change(paths[text], path, text))
                for text in paths
            ],
            self._rule(rule.get("otherwise", "hash"), (*path, "otherwise")),
        )

    def _json_path(self, text: Any, path: FieldPath) -> JsonPath:
        try:
            return JsonPath(str(text))
        except ValueError as error:
            self._document.refuse((*path, text), str(error))

    def _change(self, rule: Any, path: FieldPath, text: str) -> Change:
        place = (*path, "json", text)
        if isinstance(rule, dict):
            return self._replace(rule, place).change
        return {"keep": keep, "drop": remove, "hash": self._hash.change}[self._word(rule, place)]

    def _replace(self, rule: dict[str, Any], path: FieldPath) -> Replace:
        self._refuse_unknown(rule, ("replace", "with"), path)
        if "replace" not in rule:
            self._document.refuse(path, "expected replace, or json")
        expression, replacement = str(rule["replace"]), str(rule.get("with", ""))
        try:
            replaced(expression, replacement, "")
        except ValueError as error:
            self._document.refuse((*path, "replace"), str(error))
        return Replace(expression, replacement, self._hash.keyed_hash)

    def _word(self, rule: Any, path: FieldPath) -> str:
        if rule not in WORDS:
            self._document.refuse(path, f"{rule!r} is unknown{suggestion(str(rule), WORDS)}")
        word: str = rule
        return word

    def _refuse_unknown(
        self, rule: Mapping[str, Any], known: tuple[str, ...], path: FieldPath
    ) -> None:
        for name in rule:
            if name not in known:
                self._document.refuse((*path, name), f"unknown field{suggestion(str(name), known)}")
