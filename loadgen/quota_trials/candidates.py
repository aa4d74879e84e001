"""Quotas that can be tried: a key, a value for each user or client id, and its window."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from loadgen.quota_trials.traffic import FETCH, PRODUCE, Integers, Traffic
from quotas.client_quotas import ClientQuotas
from quotas.limits import Tags

By = Literal["user", "client-id", "user,client-id"]
PRODUCER_BYTES, CONSUMER_BYTES = "producer_byte_rate", "consumer_byte_rate"
MUTATIONS, IDS = "controller_mutation_rate", "producer_ids_rate"
KEYS = (PRODUCER_BYTES, CONSUMER_BYTES, MUTATIONS, IDS)
UNITS: Mapping[str, str] = {
    PRODUCER_BYTES: "bytes/s",
    CONSUMER_BYTES: "bytes/s",
    MUTATIONS: "partitions/s",
    IDS: "ids per window",
}
AMOUNTS: Mapping[str, str] = {
    PRODUCER_BYTES: "bytes",
    CONSUMER_BYTES: "bytes",
    MUTATIONS: "partitions",
    IDS: "producer ids",
}
"""The unit of what is over a quota."""


@dataclass(frozen=True, slots=True)
class Window:
    """How long a quota measures: `count` samples of `seconds`; one sample for producer ids."""

    seconds: int
    count: int = 1

    def __str__(self) -> str:
        return f"{self.seconds} s" if self.count == 1 else f"{self.count} x {self.seconds} s"


WINDOWS: Mapping[str, tuple[Window, ...]] = {
    PRODUCER_BYTES: (Window(1, 11), Window(1, 3), Window(1, 61)),
    CONSUMER_BYTES: (Window(1, 11), Window(1, 3), Window(1, 61)),
    MUTATIONS: (Window(1, 11), Window(1, 3), Window(1, 61)),
    IDS: (Window(3600), Window(600), Window(86_400)),
}
"""The windows that are tried; the first one is the default."""
WINDOW_KEYS: Mapping[str, tuple[str, ...]] = {
    PRODUCER_BYTES: ("quota.window.num", "quota.window.size.seconds"),
    CONSUMER_BYTES: ("quota.window.num", "quota.window.size.seconds"),
    MUTATIONS: ("controller.quota.window.num", "controller.quota.window.size.seconds"),
    IDS: ("producer.id.quota.window.size.seconds",),
}
"""The broker's configuration of the window: count and seconds, or seconds."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One quota, the same value for each user or client id."""

    key: str
    value: float
    window: Window
    by: By = "user"

    def __str__(self) -> str:
        return f"{self.key}={self.value:g} over {self.window}"

    def limits(self) -> ClientQuotas:
        """Return the quotas of a broker with this one as default quota.

        Raises:
            ValueError: the value is invalid; the message says why.
        """
        quotas = ClientQuotas()
        by = "user" if self.key == IDS else self.by
        problem = quotas.alter(
            tuple((kind, None) for kind in by.split(",")), [(self.key, self.value)]
        )
        if problem is not None:
            raise ValueError(problem)
        return quotas

    @property
    def admitted(self) -> float:
        """What a client can do in a minute, or in a day for producer ids, with a full burst."""
        if self.key == IDS:
            return self.value * (1 + 86_400 / self.window.seconds)
        samples = self.window.count - (self.key != MUTATIONS)
        return self.value * (60 + samples * self.window.seconds)


def charged(traffic: Traffic, key: str) -> Integers:
    """Return the indices of the requests that a quota charges, in the order of time."""
    if key == PRODUCER_BYTES:
        mask = (traffic.api == PRODUCE) & (traffic.size_bytes > 0)
    elif key == CONSUMER_BYTES:
        mask = (traffic.api == FETCH) & (traffic.size_bytes > 0)
    elif key == MUTATIONS:
        mask = traffic.mutations > 0
    else:
        mask = (traffic.api == PRODUCE) & (traffic.producer_id >= 0)
    return np.flatnonzero(mask)


def scopes_of(traffic: Traffic, candidate: Candidate) -> list[Tags]:
    """Return the scope of each client: those with equal tags share a counter."""
    limits = candidate.limits().limits[candidate.key]
    return [limits.scope(user, client_id or None).tags for user, client_id in traffic.clients]


def groups(rows: Integers, numbers: Integers) -> Iterable[tuple[int, Integers]]:
    """Yield each number with its rows, in their order."""
    if not len(rows):
        return []
    order = np.argsort(numbers[rows], kind="stable")
    ordered = rows[order]
    found, starts = np.unique(numbers[ordered], return_index=True)
    return zip(found.tolist(), np.split(ordered, starts[1:]), strict=True)
