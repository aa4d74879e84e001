"""Change the records in a response to Fetch, while the log stays right."""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from broker.faults.record_changes import UnchangeableError, changed_batch, choice_of
from broker.faults.stored_changes import Selected
from broker.request.context import RequestContext
from protocol import codec
from protocol.api_keys import ApiKey
from protocol.records import whole_batches

TOPIC_ID_VERSION_MIN = 13


def with_changed_records(
    context: RequestContext,
    frame: bytes,
    selected: Sequence[Selected],
    topic_name: Callable[[UUID], str | None],
) -> tuple[bytes, set[int]]:
    """Return a response frame with changed records, and the ids of the rules that did it.

    In each partition that a rule is for, it changes the first batch that can be changed.
    """
    response = codec.decode_response(frame, ApiKey.FETCH, context.api_version)
    done: set[int] = set()
    for topic in response.responses:
        has_id = context.api_version >= TOPIC_ID_VERSION_MIN
        name = topic_name(topic.topic_id) if has_id else topic.topic
        for part in topic.partitions:
            for one in selected:
                if not part.records or not one.has(name or "", part.partition_index):
                    continue
                changed = _changed(bytes(part.records), one)
                if changed is not None:
                    part.records = changed
                    done.add(one.match.state.rule_id)
    if not done:
        return frame, done
    version: Any = context.api_version
    return codec.encode_response(context.correlation_id, ApiKey.FETCH, version, response), done


def _changed(records: bytes, one: Selected) -> bytes | None:
    choice = choice_of(one.match.rule.trigger.seed, one.match.number)
    for _header, start, end in whole_batches(records):
        try:
            batch = changed_batch(records[start:end], one.action, choice)
        except UnchangeableError:
            continue
        return records[:start] + batch + records[end:]
    return None
