"""Groups as a coordinator loads them from the records of their log.

Source: Kafka's `GroupCoordinatorShard.replay` and `GroupMetadataManager.onLoaded`.
"""

from broker.groups.any_group import AnyGroup
from broker.groups.classic_loading import fill_loaded
from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.loading import load_consumer_group
from broker.groups.group import Group
from broker.groups.group_table import GroupTable
from broker.groups.loaded_records import LoadedRecords
from broker.groups.modern_rules import GetModernRules
from broker.timers import Timers
from protocol import coordinator_records as schema
from protocol.pacing import may_pause


@may_pause
def load_group(
    table: GroupTable,
    group_id: str,
    records: LoadedRecords,
    rules: GetModernRules,
    timers: Timers,
    now_ms: int,
) -> None:
    """Have a group that commits offsets be what its records say; what it committed stays.

    Without a record it is there only if it has offsets. The sessions of its members begin now.
    """
    classic = records.value(schema.GroupMetadataKey)
    table.restart(group_id, now_ms, is_left=classic is not None)
    known = table.get(group_id)
    if classic is not None and isinstance(known, Group):
        fill_loaded(known, classic, timers, now_ms)
        return
    group: AnyGroup
    # A group has no epoch before a member subscribes to a topic.
    if records.has_any(schema.ConsumerGroupMetadataKey, schema.ConsumerGroupMemberMetadataKey):
        group = ConsumerGroup(group_id, None if known is None else known.offsets, rules)
        load_consumer_group(group, records)
    elif records.has_any(schema.StreamsGroupMetadataKey, schema.StreamsGroupMemberMetadataKey):
        from broker.groups.streams.group import StreamsGroup  # noqa: PLC0415 - see ADR 24
        from broker.groups.streams.loading import load_streams_group  # noqa: PLC0415

        group = StreamsGroup(group_id, None if known is None else known.offsets, rules)
        load_streams_group(group, records)
    else:
        return
    table.put(group, now_ms)
    table.unload(group_id, now_ms)
