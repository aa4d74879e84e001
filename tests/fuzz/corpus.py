"""The corpus: a line for each frame, with the API's name, the version and the frame in hex.

`python -m tests.fuzz.corpus` writes the frames of all APIs and versions from the schemas. Frames
that once broke something are added by hand below, under the heading of their file.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from struct import error as StructError
from typing import Any, NamedTuple

from broker.routes import ROUTES
from protocol.api_keys import ApiKey
from protocol.messages import API_NAMES, api_key_of
from tests.batches import CODECS, make_batch
from tests.broker.connection_driver import request_frame
from tests.broker.faults.requests import sample_message
from tests.produce_requests import produce_request

CORPUS_FILE = Path(__file__).with_name("corpus.txt")
FOUND = "# Frames that once broke something"


class CorpusFrame(NamedTuple):
    """A request with its size prefix."""

    api_key: ApiKey
    version: int
    data: bytes

    def line(self) -> str:
        """Return it as a line of the corpus."""
        return f"{API_NAMES[self.api_key]} {self.version} {self.data.hex()}"


def read_corpus() -> list[CorpusFrame]:
    """Return all frames of the file."""
    frames = []
    for line in CORPUS_FILE.read_text(encoding="ascii").splitlines():
        if line and not line.startswith("#"):
            name, version, digits = line.split()
            frames.append(CorpusFrame(api_key_of(name), int(version), bytes.fromhex(digits)))
    return frames


def schema_frames() -> list[CorpusFrame]:
    """Return a frame of each API and version that the broker serves, from the schemas."""
    frames = [
        CorpusFrame(
            route.api_key,
            version,
            request_frame(sample_message(route.api_key, version), version, 1),
        )
        for route in ROUTES.values()
        for version in range(route.version_min, route.version_max + 1)
    ]
    return [*frames, *batch_frames()]


def batch_frames() -> list[CorpusFrame]:
    """Return Produce requests with record batches, of each codec and of an idempotent producer."""
    batches = [make_batch(b"one", None, b"three", codec=codec) for codec in CODECS]
    batches.append(make_batch(b"one", producer_id=1, producer_epoch=0, base_sequence=0))
    return [
        CorpusFrame(
            ApiKey.PRODUCE,
            version,
            request_frame(produce_request([(0, batch)], version=version), version, 1),
        )
        for version in (3, 9, 12)
        for batch in batches
    ]


def frames_with_nulls() -> Iterator[CorpusFrame]:
    """Yield a frame of each API and version for each text, array and entry that is null in it."""
    for route in ROUTES.values():
        for version in range(route.version_min, route.version_max + 1):
            count = sum(1 for _ in _nullable(sample_message(route.api_key, version)))
            for number in range(count):
                message = sample_message(route.api_key, version)
                next(islice(_nullable(message), number, None))()
                with suppress(TypeError, ValueError, AttributeError, StructError):  # no such bytes
                    yield CorpusFrame(route.api_key, version, request_frame(message, version, 1))


def _nullable(message: Any) -> Iterator[Callable[[], None]]:
    """Yield functions, each of which makes one value of a message null."""
    for name in message.fields:
        value = getattr(message, name)
        if isinstance(value, str | bytes | list):
            yield partial(setattr, message, name, None)
        for index, entry in enumerate(value if isinstance(value, list) else ()):
            without = [*value[:index], None, *value[index + 1 :]]
            yield partial(setattr, message, name, without)
            if hasattr(entry, "fields"):
                yield from _nullable(entry)


def write_corpus() -> None:
    """Write the frames of the schemas, and keep those that were found."""
    text = CORPUS_FILE.read_text(encoding="ascii") if CORPUS_FILE.exists() else ""
    found = text.partition(FOUND)[2]
    lines = "".join(f"{frame.line()}\n" for frame in schema_frames())
    header = (
        "# Written by `python -m tests.fuzz.corpus`: API, version, frame with its size in hex\n"
    )
    CORPUS_FILE.write_text(f"{header}{lines}{FOUND}{found or chr(10)}", encoding="ascii")


if __name__ == "__main__":
    write_corpus()
