"""The response to a request of a fetch session in which no partition has an error."""

from collections.abc import Sequence

from broker.cluster.fetch_sessions import FetchSession
from broker.fetch.session_plan import Found, SessionPlan
from broker.responses import EncodedParts
from protocol.fetch import DATA
from protocol.short_fields import write_count

_DATA = DATA.pack
_NO_ERROR = 0


def encode_found(
    plan: SessionPlan, session: FetchSession, found: Sequence[Found]
) -> bytes | EncodedParts:
    """Note in the session what is sent, and return the body of the response."""
    if not found:
        return plan.empty
    partitions, middle, is_flexible = session.partitions, plan.middle, plan.is_flexible
    order_matters = len(partitions) > 1
    parts: list[bytes] = []
    topic = None
    topic_count = partition_count = count_at = total_bytes = 0
    for cached, target, end_offset, stable_offset, start_offset, batches, record_bytes in found:
        cached.high_watermark = end_offset
        cached.log_start_offset = start_offset
        if record_bytes and order_matters:
            key = cached.key
            partitions[key] = partitions.pop(key)
        total_bytes += record_bytes
        if len(found) == 1:
            parts.append(target.before)
        elif target.topic is not topic and target.topic != topic:
            if topic_count:
                parts[count_at] = write_count(partition_count, is_flexible=is_flexible)
                if is_flexible:
                    parts.append(b"\x00")
            parts.append(target.topic_beginning)
            count_at = len(parts)
            parts.append(b"")
            topic = target.topic
            topic_count += 1
            partition_count = 0
        partition_count += 1
        parts.append(
            _DATA(cached.partition_index, _NO_ERROR, end_offset, stable_offset, start_offset)
        )
        parts.append(middle)
        parts.append(write_count(record_bytes, is_flexible=is_flexible))
        parts += batches
        if is_flexible:
            parts.append(b"\x00")
    if topic_count:
        parts[count_at] = write_count(partition_count, is_flexible=is_flexible)
        parts[:0] = plan.header, write_count(topic_count, is_flexible=is_flexible)
    if is_flexible:
        parts.append(b"\x00\x00")  # tags of topic and response
    return EncodedParts.of(parts, total_bytes)
