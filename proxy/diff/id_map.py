"""Which id of our broker stands for an id of the real cluster, and the other way round."""

from collections.abc import Hashable
from typing import Any

RENEWED_KINDS = frozenset({"generation", "producer_epoch"})
"""Numbers that rise: each cluster counts by itself, and the latest pair is the valid one."""


class IdMap:
    """Pairs of ids by their kind, such as `member_id`; an id without a pair stands for itself.

    `scope` is what the numbers of a kind belong to, such as the producer id of an epoch.
    """

    def __init__(self) -> None:
        self._ours: dict[tuple[str, Hashable, Any], Any] = {}
        self._real: dict[tuple[str, Hashable, Any], Any] = {}
        self._latest: dict[tuple[str, Hashable], tuple[int, int]] = {}
        self.unpaired_topics: dict[str, str] = {}
        """The real ids of topics that our broker did not have yet, by name."""

    def pair(self, kind: str, real: Any, ours: Any, scope: Hashable = "") -> None:
        """Have both ids stand for each other."""
        self._ours[kind, scope, real] = ours
        self._real[kind, scope, ours] = real
        if kind in RENEWED_KINDS:
            self._latest[kind, scope] = real, ours

    def ours(self, kind: str, real: Any, scope: Hashable = "") -> Any:
        """Return our id for one of the real cluster; without a pair the id itself.

        A number without a pair is as far from the latest real one as ours is from our latest.
        """
        found = self._ours.get((kind, scope, real))
        if found is not None:
            return found
        latest = self._latest.get((kind, scope))
        return real if latest is None else real + latest[1] - latest[0]

    def real(self, kind: str, ours: Any, scope: Hashable = "") -> Any:
        """Return the real cluster's id for one of ours; without a pair the id itself."""
        return self._real.get((kind, scope, ours), ours)

    def known_ours(self, kind: str, real: Any) -> Any:
        """Return our id for one of the real cluster, or None."""
        return self._ours.get((kind, "", real))

    def known_real(self, kind: str, ours: Any) -> Any:
        """Return the real cluster's id for one of ours, or None."""
        return self._real.get((kind, "", ours))
