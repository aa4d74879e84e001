"""Respond in one step to a consumer of one partition that keeps up: it gets the newest batch.

Or it waits for that batch. `read_session` and `encode_found` do the same in two steps, and all
other reads.
"""

from functools import lru_cache
from struct import Struct

from broker.fetch.session_plan import SessionPlan
from broker.responses import PARTS_BYTES_MIN
from protocol.errors import ErrorCode
from protocol.fetch import DATA
from protocol.short_fields import write_count

_FRAME_SIZE = Struct(">i").pack
_DATA = DATA.pack
_NO_ERROR = int(ErrorCode.NONE)


def has_to_wait(plan: SessionPlan) -> bool:
    """Whether a request waits that has read its only partition up to the end.

    If not, `frame_newest` or `read_session` finds out.
    """
    only = plan.only
    return (
        only is not None and plan.may_wait and only.cached.fetch_offset == only.log.log_end_offset
    )


# Hot path: inlined on purpose.
def frame_newest(plan: SessionPlan, correlation_id: bytes) -> bytes | None:
    """Note in the session of a plan what is sent, and return the frame of the response.

    None changes nothing: this is another read than that of a newest batch of usual size.
    """
    only = plan.only
    if only is None:
        return None
    cached, log, partition, head, tail, fixed_bytes = only
    offset, end_offset, start_offset = cached.fetch_offset, log.log_end_offset, log.log_start_offset
    if not start_offset <= offset < end_offset:
        return None
    batch = log.newest_from(offset)
    if batch is None:
        return None
    record_bytes = len(batch)
    is_stable = partition.producers.first_unstable_offset < 0
    if record_bytes >= PARTS_BYTES_MIN or (
        plan.params.reads_committed and (not is_stable or len(log.transaction_index))
    ):
        return None
    cached.high_watermark = end_offset
    cached.log_start_offset = start_offset
    stable_offset = end_offset if is_stable else partition.last_stable_offset
    size_field = _size_field(record_bytes, plan.is_flexible)
    return b"".join(
        (
            _FRAME_SIZE(fixed_bytes + len(size_field) + record_bytes),
            correlation_id,
            head,
            _DATA(cached.partition_index, _NO_ERROR, end_offset, stable_offset, start_offset),
            plan.middle,
            size_field,
            batch,
            tail,
        )
    )


@lru_cache(maxsize=256)
def _size_field(record_bytes: int, is_flexible: bool) -> bytes:
    """Return the size of the records before them; most batches have one of few sizes."""
    return write_count(record_bytes, is_flexible=is_flexible)
