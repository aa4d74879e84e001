"""Search in several processes at once: most of the time both clusters are waited for."""

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from types import TracebackType

from tests.differential.clusters import ComparedCluster
from tests.differential.conversation import Conversation
from tests.differential.search import Pair, Report, Search
from tests.differential.strategies import Subject

_pair: Pair | None = None


def _set_up(kafka: ComparedCluster, ours: ComparedCluster) -> None:
    global _pair  # noqa: PLW0603 - one per process
    _pair = Pair(kafka, ours)


def _search(subject: Subject, known: frozenset[str], seed: int, examples: int) -> Report:
    assert _pair is not None
    return Search(_pair, subject, known).run(seed, examples)


def _examine(
    subject: Subject, known: frozenset[str], conversations: Sequence[Conversation]
) -> Report:
    assert _pair is not None
    return Search(_pair, subject, known).examine(conversations)


class Lanes:
    """Processes that search with the same two clusters."""

    def __init__(self, kafka: ComparedCluster, ours: ComparedCluster, count: int) -> None:
        self._pool = ProcessPoolExecutor(
            count,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_set_up,
            initargs=(kafka.for_other_processes(), ours.for_other_processes()),
        )

    def __enter__(self) -> "Lanes":
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._pool.shutdown(cancel_futures=True)

    def search(
        self, subject: Subject, known: frozenset[str], seed: int, examples: int
    ) -> Future[Report]:
        """Search one API from one seed; differences with a known signature are only counted."""
        return self._pool.submit(_search, subject, known, seed, examples)

    def examine(
        self, subject: Subject, known: frozenset[str], conversations: Sequence[Conversation]
    ) -> Future[Report]:
        """Play these conversations about an API."""
        return self._pool.submit(_examine, subject, known, conversations)
