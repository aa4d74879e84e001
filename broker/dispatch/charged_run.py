"""The run of the connections of a principal while quotas of clients are set."""

from broker.dispatch.produce_charge import ProduceCharge
from broker.dispatch.shared_run import SharedRun
from broker.produce.batch_layout import IsKnownProducer
from broker.request.client_charge import TIME_MAX_NS
from protocol.framing import SIZE_BYTES


class ChargedRun:
    """A shared run whose requests are charged to the rates of a principal."""

    __slots__ = ("__weakref__", "charge", "run")

    def __init__(self, run: SharedRun, charge: ProduceCharge) -> None:
        self.run = run
        self.charge = charge

    # Hot path: `ProduceCharge`, inlined on purpose.
    def respond_at_once(self, data: bytes, now_ms: int) -> bytes | None:
        """Handle a read as `SharedRun.respond_at_once`, and charge it.

        Requests of producers whose ids a quota counts are left to `AccountedRun`.
        """
        run, charge = self.run, self.charge
        cluster = run.cluster
        if (
            run.journal.is_enabled
            or run.can_free
            or run.produce_version != cluster.produce_version
            or run.acknowledgements.is_enabled
            or run.faults.is_enabled
        ):
            return None
        rate, time_rate, size_bytes = charge.rate, charge.time_rate, len(data) - SIZE_BYTES
        if rate is not None and (now_ms >= rate.ends_ms or size_bytes > rate.left):
            return None
        started_ns = 0
        if time_rate is not None:
            if now_ms >= time_rate.ends_ms or time_rate.left < TIME_MAX_NS or not run.shape.acks:
                return None  # no quota throttles for the time of requests without responses
            started_ns = run.now_ns()
        response = run.respond_to_one(cluster, data, now_ms, charge.is_known_producer)
        if response is None:
            return None
        if rate is not None:
            rate.record(size_bytes, now_ms)
        if time_rate is not None:
            time_rate.record(run.now_ns() - started_ns, now_ms)
        return response

    def append(
        self,
        data: bytes,
        now_ms: int,
        responses: list[bytes],
        is_known_producer: IsKnownProducer | None = None,
    ) -> int:
        """Handle requests as `RequestRun.append`, and charge quotas, which allow all of `data`.

        `is_known_producer` is that of a connection with a gate.
        """
        run, charge = self.run, self.charge
        is_known_producer = is_known_producer or charge.is_known_producer
        if charge.rate is None and charge.time_rate is None:
            return run.append(run.cluster, data, now_ms, responses, is_known_producer)
        if not run.shape.acks:
            return 0  # their number is unknown, and with it that of their sizes
        started_ns = run.now_ns()
        end = run.append(run.cluster, data, now_ms, responses, is_known_producer)
        if end:
            # All values of one time count as their sum.
            charge.record(end - len(responses) * SIZE_BYTES, now_ms)
            charge.record_time(run.now_ns() - started_ns, now_ms)
        return end
