"""Bugs of quotas, connections, authentication and availability, and of our producer."""

from typing import Any

from broker.dispatch.connection import Connection
from broker.dispatch.dispatcher import Dispatcher
from broker.request import authentication, encoding
from broker.request.session import Session
from broker.server.client_protocol import ClientProtocol
from broker.server.server import Server
from client.producer import expiry
from client.producer import response_handling as responses
from client.producer.batch import NO_SEQUENCE, Batch
from client.producer.state import ProducerState
from quotas.client_rate import ClientRateQuotaManager
from quotas.metered_bucket import MeteredBucket
from quotas.producer_ids import ProducerIdQuotaManager
from quotas.sampled_rate import SampledRate
from tests.simulation.mutants.mutant import Mutant, edited
from tests.simulation.patches import Patch, wrap
from tests.simulation.provoking_worlds import QuotasWorld


def renumber_batches(patch: Patch) -> None:
    """Let a producer without a response send the batch again under new sequence numbers."""

    def forgetful(original: Any) -> Any:
        def on_no_response(state: ProducerState, batch: Batch, now_ms: int, reason: str) -> None:
            sequences = state.idempotence.of(batch)
            if sequences is not None and not batch.is_done:
                sequences.undecided.remove(batch)
                batch.base_sequence = NO_SEQUENCE
            original(state, batch, now_ms, reason)

        return on_no_response

    wrap(patch, responses, "_on_no_response", forgetful)


def report_failures_as_certain(patch: Patch) -> None:
    """Let a producer report of a batch in flight that it was not stored."""

    def lying(original: Any) -> Any:
        def fail(self: ProducerState, batch: Batch, error: Any) -> None:
            error.is_possibly_stored = False
            original(self, batch, error)

        return fail

    wrap(patch, ProducerState, "fail", lying)


def expire_late(patch: Patch) -> None:
    """Let a producer expire batches half a second late."""

    def late(original: Any) -> Any:
        return lambda state, now_ms: original(state, now_ms - 500)

    wrap(patch, expiry, "expire", late)


QUOTA_MUTANTS: tuple[Mutant, ...] = (
    edited(
        "A client becomes another user by a re-authentication.",
        "authentication",
        authentication.take_token,
        "if session.is_authenticated and principal != session.principal:",
        "if False:",
    ),
    # Quotas
    edited(
        "A token bucket below zero admits everything.",
        "mutation_quota",
        MeteredBucket.try_charge,
        "if balance < 0:",
        "if balance < -capacity * 9:",
    ),
    edited(
        "The throttle time of a refused request is half of the right one.",
        "mutation_quota",
        MeteredBucket._wait_ms,
        "-(balance // self._units[1])",
        "-(balance // self._units[1]) // 2",
    ),
    edited(
        "A refused request is charged all the same.",
        "mutation_quota",
        MeteredBucket.try_charge,
        "self._balance = balance\n",
        "self._balance = balance - cost * scale\n",
    ),
    edited(
        "An idle bucket fills beyond its burst.",
        "mutation_quota",
        MeteredBucket.try_charge,
        "if balance > capacity:",
        "if False:",
        QuotasWorld,
    ),
    edited(
        "A bucket refills for the whole time at every use.",
        "mutation_quota",
        MeteredBucket.try_charge,
        "self._refilled_ms = now_ms",
        "pass",
    ),
    edited(
        "The quota admits every producer id.",
        "producer_id_quota",
        ProducerIdQuotaManager.track,
        "if throttle_time_ms > 0:",
        "if throttle_time_ms < 0:",
    ),
    edited(
        "A known producer id is charged again.",
        "known_producer_ids",
        ProducerIdQuotaManager.track,
        "if self._cache.contains_and_refresh(user, producer_id, now_ms):",
        "if self._cache.contains_and_refresh(user, -producer_id, now_ms):",
    ),
    edited(
        "A refused producer id is remembered.",
        "producer_id_quota",
        ProducerIdQuotaManager.track,
        "if throttle_time_ms > 0:",
        "if throttle_time_ms > 0 and self._cache.add(user, producer_id, now_ms) is None:",
        QuotasWorld,
    ),
    edited(
        "Produce exceeds its quota without a throttle time.",
        "byte_rate",
        ClientRateQuotaManager.record,
        "return throttle_ms\n",
        "return 0\n",
    ),
    edited(
        "The samples of a quota are forgotten with every new one.",
        "byte_rate",
        SampledRate.throttle_time_ms,
        "total = self._older_total + self._sum",
        "total = self._sum",
        QuotasWorld,
    ),
    edited(
        "A throttled connection is served at once.",
        "muting",
        Connection._finish,
        "self._muted_until_ms = now_ms + response.throttle_time_ms",
        "self._muted_until_ms = now_ms",
    ),
    edited(
        "A request that arrives during a mute ends it.",
        "muting",
        Connection.respond,
        "self._advance(out, now_ms) if self._muted_until_ms <= now_ms else NOTHING",
        "self._end_mute() or self._advance(out, now_ms)",
    ),
    # Connections
    edited(
        "Requests behind a response that waits are handled at once.",
        "protocol",
        Connection._advance,
        "and self._pending is None",
        "",
    ),
    edited(
        "A client that disconnects leaves its request behind.",
        "memory",
        Connection.lose,
        "self._pending.cancel()",
        "pass",
    ),
    edited(
        "The server keeps closed connections.",
        "memory",
        Server.forget,
        "self._protocols.pop(protocol, None)",
        "pass",
    ),
    edited(
        "A broker that stops keeps its connections.",
        "availability",
        ClientProtocol.apply_availability,
        'self.cut("broker stopped")',
        "pass",
    ),
    edited(
        "An isolated broker handles requests.",
        "availability",
        ClientProtocol.apply_availability,
        "self.is_isolated = availability is Availability.ISOLATED",
        "self.is_isolated = False",
    ),
    edited(
        "Bytes that no request can be made of raise an exception.",
        "internal_errors",
        encoding.closed_by,
        "isinstance(error, codec.DecodeError)",
        "isinstance(error, ZeroDivisionError)",
    ),
    # Authentication
    edited(
        "A session has no end.",
        "authentication",
        Session.authenticate,
        "NEVER_MS if ends_at_ms is None else ends_at_ms",
        "NEVER_MS",
    ),
    edited(
        "A session that has ended is served on.",
        "authentication",
        Dispatcher.dispatch,
        "is_limited = session.limited_from_ms <= now_ms",
        "is_limited = session.limited_from_ms == 0",
    ),
    edited(
        "A client cannot authenticate again.",
        "authentication",
        Session.may_reauthenticate,
        "self.limited_from_ms != NEVER_MS",
        "self.limited_from_ms == 0",
    ),
    edited(
        "The end of a session does not move when a client authenticates again.",
        "authentication",
        Session.authenticate,
        "self.limited_from_ms = NEVER_MS if ends_at_ms is None else ends_at_ms",
        "self.limited_from_ms = self.limited_from_ms or NEVER_MS",
    ),
    # Our own producer
    Mutant(
        "A producer sends a batch again under new sequence numbers.", "records", renumber_batches
    ),
    Mutant(
        "A producer is sure that a batch in flight was not stored.",
        "records",
        report_failures_as_certain,
    ),
    Mutant("A producer expires batches half a second late.", "deadlines", expire_late),
)
