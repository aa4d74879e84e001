"""Scrub records: drop, hash or replace parts of keys, values and headers before they are kept.

A `Scrubber` is a rule for bytes; a `RecordScrubber` has those of one topic. `scrub_file` reads
them from a file.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Protocol

from protocol.records import Record
from protocol.regular_expressions import replaced
from proxy.recording.json_path import REMOVED, Change, JsonPath
from proxy.recording.keyed_hash import KeyedHash


class Scrubber(Protocol):
    """A rule for a key, a value or the value of a header."""

    def scrub(self, data: bytes) -> bytes | None:
        """Return what may be kept of the bytes; None for nothing."""


class Keep:
    """Keeps all."""

    def scrub(self, data: bytes) -> bytes | None:
        """Return the bytes as they are."""
        return data


class Drop:
    """Keeps nothing."""

    def scrub(self, data: bytes) -> bytes | None:
        """Return None."""
        return None


@dataclass(frozen=True, slots=True)
class Hash:
    """Keeps a hash."""

    keyed_hash: KeyedHash

    def scrub(self, data: bytes) -> bytes | None:
        """Return the hash of the bytes."""
        return self.keyed_hash.of_bytes(data)

    def change(self, value: Any) -> Any:
        """Return a value of JSON with hashes in it."""
        return self.keyed_hash.of_json(value)


@dataclass(frozen=True, slots=True)
class Replace:
    r"""Replaces what a regular expression of RE2 finds in a text; other bytes are hashed.

    The replacement may name groups of the expression: `\1`.
    """

    expression: str
    replacement: str
    keyed_hash: KeyedHash

    def scrub(self, data: bytes) -> bytes | None:
        """Return the text in UTF-8."""
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return self.keyed_hash.of_bytes(data)
        return self._replaced(text).encode()

    def change(self, value: Any) -> Any:
        """Return a value of JSON with replacements in its strings, and in the text of its numbers.

        A number in which something is found becomes a string.
        """
        match value:
            case None | bool():
                return value
            case str():
                return self._replaced(value)
            case int() | float():
                text = json.dumps(value)
                changed = self._replaced(text)
                return value if changed == text else changed
            case dict():
                return {name: self.change(member) for name, member in value.items()}
            case _:
                return [self.change(element) for element in value]

    def _replaced(self, text: str) -> str:
        # RE2 takes text that is valid UTF-8; JSON may escape halves of surrogate pairs.
        valid = text.encode("utf-8", "replace").decode()
        return replaced(self.expression, self.replacement, valid)


@dataclass(frozen=True, slots=True)
class JsonScrubber:
    """Changes values at paths of a JSON document, in the order of the paths.

    Bytes that are no JSON, such as Avro, are for `otherwise`.
    """

    changes: Sequence[tuple[JsonPath, Change]]
    otherwise: Scrubber

    def scrub(self, data: bytes) -> bytes | None:
        """Return the document as compact JSON, also if nothing was selected.

        So of a name that an object has twice, only the member that readers use is kept.
        """
        try:
            document = json.loads(data)
            for path, change in self.changes:
                document = path.change(document, change)
                if document is REMOVED:
                    return None
            return _encoded(document)
        except (ValueError, RecursionError):
            return self.otherwise.scrub(data)


def remove(_value: Any) -> Any:
    """Return the change that removes a value of JSON."""
    return REMOVED


def keep(value: Any) -> Any:
    """Return a value of JSON as it is."""
    return value


def _encoded(document: Any) -> bytes:
    try:
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can write
        return json.dumps(document, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True)
class RecordScrubber:
    """The rules of the records of a topic; `headers` are pairs of a glob and a rule."""

    key: Scrubber
    value: Scrubber
    headers: Sequence[tuple[str, Scrubber]]

    def scrub(self, record: Record) -> Record:
        """Return what may be kept of a record.

        A dropped key is null and a dropped value empty, so that it is no tombstone. A dropped
        header is not there, and so is one that no glob fits. Nulls stay.
        """
        return record._replace(
            key=None if record.key is None else self.key.scrub(record.key),
            value=None if record.value is None else self.value.scrub(record.value) or b"",
            headers=tuple(self._headers(record)),
        )

    def _headers(self, record: Record) -> Iterator[tuple[str, bytes | None]]:
        for name, data in record.headers:
            scrubber = self._of_header(name)
            kept = None if scrubber is None else scrubber.scrub(data or b"")
            if kept is not None:
                yield name, None if data is None else kept

    def _of_header(self, name: str) -> Scrubber | None:
        return next((found for glob, found in self.headers if fnmatchcase(name, glob)), None)


@dataclass(frozen=True, slots=True)
class Scrubbing:
    """The rules of topics: pairs of a glob and a rule, of which the first that fits counts."""

    topics: Sequence[tuple[str, RecordScrubber]]

    def of_topic(self, name: str) -> RecordScrubber | None:
        """Return the rules of a topic; None if there are none: none of its records may be kept."""
        return next((found for glob, found in self.topics if fnmatchcase(name, glob)), None)


UNSCRUBBED = Scrubbing([("*", RecordScrubber(Keep(), Keep(), [("*", Keep())]))])
"""Keeps all."""
NO_RECORDS = Scrubbing([])
"""Keeps no records."""
