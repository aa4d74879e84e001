"""One field in which our broker may differ from Apache Kafka."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class AllowedDifference:
    """A field of an API's response; `*` stands for any text in both names.

    `kind` limits it to entries that are `missing`, `extra` or in another `order`, or to a
    `connection` on which only one of both responds. `kafka` limits it to this answer of Kafka,
    `kafka_text` to texts of Kafka with this pattern, `place` to entries with these keys, `request`
    to requests whose arguments it accepts, `brokers_min` to clusters of at least so many brokers,
    `releases` to comparisons with these.
    """

    api: str
    path: str
    reason: str
    kind: str = ""
    kafka: Any = field(default=None, hash=False)
    kafka_text: str = ""
    place: str = "*"
    request: Callable[[Mapping[str, Any]], bool] | None = None
    brokers_min: int = 1
    releases: tuple[str, ...] = ()
