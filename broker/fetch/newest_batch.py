"""Respond in one step to a consumer of one partition that keeps up: it gets the newest batch.

Or it waits for that batch. `read_session` and `encode_found` do the same in two steps, and all
other reads.
"""

from broker.fetch.session_plan import SessionPlan
from broker.responses import PARTS_BYTES_MIN
from protocol.errors import ErrorCode
from protocol.fetch import DATA
from protocol.short_fields import write_count

_DATA = DATA.pack
_NO_ERROR = int(ErrorCode.NONE)
_TAGS = b"\x00\x00\x00"
"""No tagged fields of partition, topic and response."""


def has_to_wait(plan: SessionPlan) -> bool:
    """Whether a request waits that has read its only partition up to the end.

    If not, `encode_newest` or `read_session` finds out.
    """
    only = plan.only
    return only is not None and plan.may_wait and only[0].fetch_offset == only[1].log.log_end_offset


# Hot path: inlined on purpose.
def encode_newest(plan: SessionPlan) -> bytes | None:
    """Note in the session of a plan what is sent, and return the body of the response.

    None changes nothing: this is another read than that of a newest batch of usual size.
    """
    only = plan.only
    if only is None:
        return None
    cached, target = only
    log = target.log
    offset, end_offset, start_offset = cached.fetch_offset, log.log_end_offset, log.log_start_offset
    if not start_offset <= offset < end_offset:
        return None
    batch = log.newest_from(offset)
    if batch is None:
        return None
    record_bytes = len(batch)
    stable_offset = target.partition.last_stable_offset
    if record_bytes >= PARTS_BYTES_MIN or (
        plan.params.reads_committed and (stable_offset != end_offset or len(log.transaction_index))
    ):
        return None
    cached.high_watermark = end_offset
    cached.log_start_offset = start_offset
    is_flexible = plan.is_flexible
    return b"".join(
        (
            target.before,
            _DATA(cached.partition_index, _NO_ERROR, end_offset, stable_offset, start_offset),
            plan.middle,
            write_count(record_bytes, is_flexible=is_flexible),
            batch,
            _TAGS if is_flexible else b"",
        )
    )
