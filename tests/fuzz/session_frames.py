"""Requests that continue fetch sessions: their session ids and epochs are those of the broker."""

import random
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import decode_response
from tests.broker.connection_driver import request_frame

TOPICS = ("t", "u", "missing", "")
_VERSIONS = range(7, 19)
_TOPIC_ID_VERSION_MIN = 13
_Topic = messages.FetchRequest.FetchTopic
_Forgotten = messages.FetchRequest.ForgottenTopic


class SessionFrames:
    """Makes Fetch requests, and takes their responses."""

    def __init__(self, chooser: random.Random, topic_ids: Sequence[UUID]) -> None:
        """Some topics have none of the `topic_ids`; one id is zero."""
        self._random = chooser
        self._topic_ids = (*topic_ids, UUID(int=77), UUID(int=0))
        self._version = 13
        self.session_id = 0
        """The session that the next request continues; 0 without one."""
        self._epoch = 0

    def next(self) -> bytes:
        """Return a frame: mostly of the session, else one that opens or ends a session."""
        chance = self._random.random()
        if self.session_id == 0 or chance < 0.1:
            self._version = self._random.choice(_VERSIONS)
            self.session_id, self._epoch = self.session_id * (chance < 0.05), 0
        epoch = self._epoch if chance < 0.9 else self._random.choice((-1, self._epoch + 1))
        return request_frame(self._request(epoch), self._version, 1)

    def take(self, frame: bytes) -> None:
        """Take the response frame, with its size, of the last request."""
        response = decode_response(frame, ApiKey.FETCH, self._version)
        if response.error_code == 0 and response.session_id != 0:
            self._epoch = self._epoch + 1 if response.session_id == self.session_id else 1
            self.session_id = response.session_id
        elif response.error_code != -1:  # after UNKNOWN_SERVER_ERROR the session stays
            self.session_id = 0

    def _request(self, epoch: int) -> Any:
        version = self._version
        topics = [
            _Topic(
                version=version,
                **self._topic(),
                partitions=[self._partition() for _ in range(self._random.randrange(3))],
            )
            for _ in range(self._random.randrange(4))
        ]
        forgotten = [
            _Forgotten(version=version, **self._topic(), partitions=[self._random.randrange(3)])
            for _ in range(max(0, self._random.randrange(-2, 3)))
        ]
        return messages.FetchRequest(
            version=version,
            max_wait_ms=0,
            min_bytes=self._random.choice((0, 1)),
            max_bytes=self._random.choice((0, 1000, 1 << 20)),
            isolation_level=self._random.choice((0, 1)),
            session_id=self.session_id,
            session_epoch=epoch,
            topics=topics,
            forgotten_topics_data=forgotten,
            rack_id=self._random.choice(("", "", "r")),
        )

    def _topic(self) -> dict[str, Any]:
        if self._version >= _TOPIC_ID_VERSION_MIN:
            return {"topic_id": self._random.choice(self._topic_ids)}
        return {"topic": self._random.choice(TOPICS)}

    def _partition(self) -> Any:
        return _Topic.FetchPartition(
            version=self._version,
            partition=self._random.choice((0, 1, 2, -1)),
            current_leader_epoch=self._random.choice((-1, 0, 1)),
            fetch_offset=self._random.choice((0, 1, 2, -1)),
            last_fetched_epoch=self._random.choice((-1, -1, 0)),
            log_start_offset=-1,
            partition_max_bytes=self._random.choice((0, 1000)),
        )
