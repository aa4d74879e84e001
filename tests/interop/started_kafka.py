"""Apache Kafka, of one broker or several, for the length of a block."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

import pytest

from scenarios.maven import CannotRunError


class Startable(Protocol):
    """What `ApacheKafka` and `ApacheCluster` have in common."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


_Kafka = TypeVar("_Kafka", bound=Startable)


@contextmanager
def started(kafka: _Kafka) -> Iterator[_Kafka]:
    """Run it until the block ends; skip the test without java, mvn or Maven Central."""
    try:
        kafka.start()
        yield kafka
    except CannotRunError as error:
        pytest.skip(str(error))
    finally:
        kafka.stop()
