"""The producer without I/O: records, times and responses in; connections, requests and outcomes out.

    core = ProducerCore(ProducerSettings(), bootstrap=[Address("127.0.0.1", 9092)], random=random)
    delivery = core.send(record, now_ms)
    while True:
        poll = core.poll(now_ms)    # do poll.actions; call again at poll.next_ms, or sooner
        core.on_connected / on_disconnect / on_response as things happen, and poll after each

It keeps KIP-91's promise: a record's outcome is known at the first `poll` at or after
`delivery_timeout_ms` from the creation of its batch, whatever state the batch is in. `expiry.py`
says in which; `sending.py` what goes out next; `answers.py` what a response means.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from client.errors import ClientError
from client.producer import expiry
from client.producer import response_handling as responses
from client.producer import sender as sending
from client.producer.actions import Action, Disconnect, Response
from client.producer.batch import Record
from client.producer.delivery import Delivery, Outcome
from client.producer.settings import ProducerSettings
from client.producer.state import ProducerState
from client.resources import Address


class Poll(NamedTuple):
    """What to do now, in this order, and when to poll again at the latest (None: when told so)."""

    actions: list[Action]
    next_ms: int | None


class ProducerCore:
    """One producer. Times are those of one clock that never goes back."""

    def __init__(
        self,
        settings: ProducerSettings,
        *,
        bootstrap: Sequence[Address],
        random: Callable[[], float],
    ) -> None:
        """Nothing happens yet.

        Args:
            settings: checked already.
            bootstrap: brokers to ask first, in this order.
            random: floats in [0, 1), for jitter and keyless records.
        """
        self._state = ProducerState(settings, bootstrap, random)

    @property
    def bytes_reserved(self) -> int:
        """Memory taken by records without an outcome, or in requests without a response."""
        return self._state.accumulator.bytes_reserved

    @property
    def window(self) -> int | None:
        """How many sequence numbers of a partition may be in flight (KIP-758); None: no bound."""
        return self._state.idempotence.window

    @property
    def broker_window(self) -> int | None:
        """KIP-758's window as the broker told it; None when it told none."""
        return self._state.idempotence.broker_window

    def send(
        self, record: Record, now_ms: int, callback: Callable[[Outcome], None] | None = None
    ) -> Delivery:
        """Take a record; its outcome comes with a later call, by `callback` and in the result.

        Raises:
            BufferFullError: no memory; `bytes_reserved` gets smaller when something is settled.
            RecordTooLargeError: it can't be sent in these settings.
        """
        bytes_reserved = self._state.accumulator.reserve(record)
        delivery = Delivery(callback)
        self._state.accumulator.add(record, delivery, now_ms, bytes_reserved, self._state.metadata)
        return delivery

    def flush(self, now_ms: int) -> None:
        """What waits now doesn't linger any longer."""
        self._state.accumulator.force_complete(now_ms)

    def poll(self, now_ms: int) -> Poll:
        """Settle what is due, and say what to do now."""
        state = self._state
        expiry.expire(state, now_ms)
        actions: list[Action] = []
        for node_id in state.nodes.overdue(now_ms):
            actions.append(Disconnect(node_id))
            responses.on_disconnect(state, node_id, now_ms, "request timed out")
        responses.close_gaps(state)
        actions += sending.next_actions(state, now_ms)
        state.polled_ms = now_ms
        return Poll(actions, sending.next_ms(state, now_ms))

    def on_connected(self, node_id: int) -> None:
        """The connection is open."""
        self._state.nodes.connected(node_id)

    def on_disconnect(self, node_id: int, now_ms: int, reason: str = "disconnected") -> None:
        """The connection broke, or could not be opened."""
        responses.on_disconnect(self._state, node_id, now_ms, reason)

    def on_response(self, node_id: int, response: Response, now_ms: int) -> None:
        """The oldest request on this connection was answered."""
        responses.on_response(self._state, node_id, response, now_ms)

    def fail_all(self, error: ClientError) -> None:
        """Fail every record without an outcome: the producer is closed, or not let in."""
        responses.fail_all(self._state, error)
