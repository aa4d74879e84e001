"""Connections to our broker, as the shadow of a cluster sees them."""

from typing import Protocol

from broker.request.session import Session


class Peer(Protocol):
    """A connection whose requests are played; `ShadowConnection` is one."""

    session: Session
    fetch_offsets: dict[tuple[str, int], int]
    """From where the client has last read each partition, by topic and index."""

    def advance(self, now_ms: int) -> None:
        """Play the requests whose turn has come."""


class LeaderPeer:
    """A connection to the leader of a partition, with the rights of a client's session."""

    connection_id = -1
    client_host = "127.0.0.1"

    def __init__(self, leader_id: int, session: Session) -> None:
        self.broker_id = leader_id
        self.session = session
