"""A connection to our broker, as the shadow of a cluster sees it."""

from typing import Protocol

from broker.request.session import Session


class Peer(Protocol):
    """A connection whose requests are played; `ShadowConnection` is one."""

    session: Session
    fetch_offsets: dict[tuple[str, int], int]
    """From where the client has last read each partition, by topic and index."""

    def advance(self, now_ms: int) -> None:
        """Play the requests whose turn has come."""
