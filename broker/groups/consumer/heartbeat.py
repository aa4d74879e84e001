"""Handle a ConsumerGroupHeartbeat: a member joins, reports, or leaves.

The checks come first and change nothing. Then the member is updated, the group gets a new epoch
if subscriptions or topics have changed, a new epoch gets a target assignment, and the member
moves towards its target. Source: Kafka's `GroupMetadataManager.consumerGroupHeartbeat`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from broker.errors import Refusal
from broker.groups.consumer.assignment import NO_PARTITIONS, Assignment, is_subset, with_epoch
from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.group_spec import Assignor
from broker.groups.consumer.member import STATIC_LEAVE_EPOCH, ConsumerMember
from broker.groups.consumer.regexes import ResolvedRegex, matching
from broker.groups.consumer.requests import ConsumerHeartbeat
from broker.groups.consumer.topics import TopicSource
from broker.groups.modern_group import check_instance, unknown_member, unreleased_instance
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced
from protocol.regular_expressions import regex_problem

REGEX_REFRESH_INTERVAL_MIN_MS = 10_000
"""Time between two resolutions of a group's expressions; fixed in Kafka, too."""


def check_request(request: ConsumerHeartbeat, assignors: Mapping[str, Assignor]) -> Refusal | None:
    """Return why a heartbeat is invalid whatever the group is, or None."""
    epoch = request.member_epoch
    if (request.must_have_id or epoch > 0 or epoch == -1) and not request.member_id.strip():
        return _invalid("MemberId can't be empty.")
    for name, text in (
        ("GroupId", request.group_id),
        ("InstanceId", request.group_instance_id),
        ("RackId", request.rack_id),
    ):
        if text is not None and not text.strip():
            return _invalid(f"{name} can't be empty.")
    problem = None
    if epoch == 0:
        problem = _join_problem(request)
    elif epoch == STATIC_LEAVE_EPOCH:
        problem = "InstanceId can't be null." if request.group_instance_id is None else None
    elif epoch < STATIC_LEAVE_EPOCH:
        problem = "MemberEpoch is invalid."
    if problem is not None:
        return _invalid(problem)
    assignor = request.server_assignor
    if assignor is not None and assignor not in assignors:
        return Refusal(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {assignor} is not supported. Supported assignors:"
            f" {', '.join(assignors)}.",
        )
    return None


def _join_problem(request: ConsumerHeartbeat) -> str | None:
    if request.rebalance_timeout_ms == -1:
        return "RebalanceTimeoutMs must be provided in first request."
    if request.owned_partitions is None or request.owned_partitions:
        return "TopicPartitions must be empty when (re-)joining."
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        return (
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when"
            " (re-)joining."
        )
    return None


def _invalid(message: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_REQUEST, message)


def check_member(
    group: ConsumerGroup, request: ConsumerHeartbeat, *, size_max: int
) -> Refusal | None:
    """Return why the group refuses a heartbeat that does not leave, or None."""
    if request.member_id not in group.members and len(group.members) >= size_max:
        return Refusal(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The consumer group has reached its maximum capacity of {size_max} members.",
        )
    if request.group_instance_id is not None:
        refusal = _check_static(group, request, request.group_instance_id)
    else:
        member = group.members.get(request.member_id)
        refusal = None
        if member is not None:
            does_join = request.member_epoch == 0 and group.rules.can_rejoin_at_once
            refusal = None if does_join else _check_epoch(member, request)
        elif request.member_epoch != 0:
            refusal = unknown_member(group, request.member_id)
    return refusal or _check_regex(group, request)


def _check_static(
    group: ConsumerGroup, request: ConsumerHeartbeat, instance_id: str
) -> Refusal | None:
    current = group.static_member(instance_id)
    if request.member_epoch == 0:
        is_owned = (
            current is not None
            and current.classic is None
            and current.member_epoch != STATIC_LEAVE_EPOCH
        )
        if current is None or not is_owned:
            return None
        return unreleased_instance(current, instance_id, request.member_id)
    refusal = check_instance(group, instance_id, request.member_id)
    if refusal is not None or current is None:
        return refusal
    return _check_epoch(current, request)


def _check_epoch(member: ConsumerMember, request: ConsumerHeartbeat) -> Refusal | None:
    """A member may be one epoch behind, if it may have missed the response with the new one."""
    received, known = request.member_epoch, member.member_epoch
    if received == known:
        return None
    owned = request.owned_partitions
    if (
        received == member.previous_member_epoch
        and received < known
        and owned is not None
        and is_subset(owned, member.assigned_partitions)
    ):
        return None
    size = "greater" if received > known else "smaller"
    return Refusal(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {size} member epoch ({received}) than the one known by"
        f" the group coordinator ({known}). The member must abandon all its partitions and"
        " rejoin.",
    )


def _check_regex(group: ConsumerGroup, request: ConsumerHeartbeat) -> Refusal | None:
    regex = request.subscribed_topic_regex
    if not regex or regex in group.subscribed_regexes:
        return None
    problem = regex_problem(regex)
    if problem is None:
        return None
    return Refusal(
        ErrorCode.INVALID_REGULAR_EXPRESSION,
        f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {problem}.",
    )


@dataclass(frozen=True, slots=True)
class Assigning:
    """How targets are computed at a time.

    `assignors` are those of the broker, the default one first. `interval_ms` is the least time
    between two computations.
    """

    assignors: Mapping[str, Assignor]
    interval_ms: int
    now_ms: int

    @property
    def default(self) -> str:
        """The assignor of a group whose members ask for none."""
        return next(iter(self.assignors))


def update(
    group: ConsumerGroup, request: ConsumerHeartbeat, topics: TopicSource, assigning: Assigning
) -> tuple[ConsumerMember | None, ConsumerMember]:
    """Carry out a checked heartbeat that does not leave; return the member before and after.

    A new member was None before.
    """
    before = _member_before(group, request)
    member = _updated(before or ConsumerMember(request.member_id), request)
    must_rise = group.group_epoch == 0 or group.must_rise
    reported = request.owned_partitions
    return before, store(group, before, member, reported, topics, assigning, must_rise=must_rise)


def store(
    group: ConsumerGroup,
    before: ConsumerMember | None,
    member: ConsumerMember,
    reported: Assignment | None,
    topics: TopicSource,
    assigning: Assigning,
    *,
    must_rise: bool = False,
) -> ConsumerMember:
    """Store a member with its subscription, and move it towards its target; return it then.

    The group gets a new epoch if it must, or if subscriptions or topics have changed. Its targets
    are computed then, or later if the last ones are new.
    """
    has_other_topics = False
    if before is None or member != before:
        previous = before or ConsumerMember(member.member_id)
        has_other_topics = (
            member.subscribed_topic_names != previous.subscribed_topic_names
            or member.subscribed_topic_regex != previous.subscribed_topic_regex
        )
        must_rise |= _write(group, previous, member, assigning.default)
    if must_rise or not group.has_current_metadata:
        group.update_epoch(topics, must_rise=must_rise)
    if group.may_assign(assigning.interval_ms, assigning.now_ms):
        name = group.preferred_assignor(assigning.default)
        group.update_targets(assigning.assignors[name], topics, assigning.now_ms)
    return group.reconcile(member, reported, topics, has_other_topics=has_other_topics)


def _write(
    group: ConsumerGroup, previous: ConsumerMember, member: ConsumerMember, default_assignor: str
) -> bool:
    """Write what a member says about itself; return whether the group needs a new epoch for it."""
    asks_for_other = member.server_assignor != previous.server_assignor
    counts_assignor = asks_for_other and group.rules.follows_assignors
    assignor = group.preferred_assignor(default_assignor) if counts_assignor else ""
    group.write_member(member)
    must_rise = member.subscribed_topic_names != previous.subscribed_topic_names
    if member.subscribed_topic_regex != previous.subscribed_topic_regex:
        group.forget_unused_regex(previous.subscribed_topic_regex)
        must_rise |= member.subscribed_topic_regex in group.resolved_regexes
        must_rise |= group.rules.follows_subscriptions and not member.subscribed_topic_regex
    if counts_assignor:
        must_rise |= group.preferred_assignor(default_assignor) != assignor
    return must_rise


def _member_before(group: ConsumerGroup, request: ConsumerHeartbeat) -> ConsumerMember | None:
    """Return the member of a request; a static member that is back gets its new id here."""
    instance_id = request.group_instance_id
    if instance_id is None or request.member_epoch != 0:
        return group.members.get(request.member_id)
    current = group.static_member(instance_id)
    if current is None:
        return group.members.get(request.member_id)
    return replace_static(group, current, request.member_id)


def replace_static(group: ConsumerGroup, current: ConsumerMember, member_id: str) -> ConsumerMember:
    """Give a static member that joins again its new id, and epoch 0."""
    returned = replace(current, member_id=member_id, member_epoch=0, previous_member_epoch=0)
    group.replace_static_member(current, returned)
    return returned


def _updated(member: ConsumerMember, request: ConsumerHeartbeat) -> ConsumerMember:
    """Return the member with what the request says about it; the same object if it says nothing."""
    names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
    timeout_ms = request.rebalance_timeout_ms
    updated = (
        request.group_instance_id or member.group_instance_id,
        request.rack_id or member.rack_id,
        member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        request.server_assignor or member.server_assignor,
        member.subscribed_topic_names if names is None else frozenset(names),
        member.subscribed_topic_regex if regex is None else regex,
        request.client_id,
        request.client_host,
        None,
    )
    current = (
        member.group_instance_id,
        member.rack_id,
        member.rebalance_timeout_ms,
        member.server_assignor,
        member.subscribed_topic_names,
        member.subscribed_topic_regex,
        member.client_id,
        member.client_host,
        member.classic,
    )
    if updated == current:
        return member
    return replace(
        member,
        group_instance_id=updated[0],
        rack_id=updated[1],
        rebalance_timeout_ms=updated[2],
        server_assignor=updated[3],
        subscribed_topic_names=updated[4],
        subscribed_topic_regex=updated[5],
        client_id=updated[6],
        client_host=updated[7],
        classic=None,
    )


def leave_for_a_while(group: ConsumerGroup, member: ConsumerMember) -> None:
    """Keep the place of a static member until it is back or its session expires.

    Its partitions have epoch 0 then, for the member that comes back begins with that epoch.
    """
    group.write_assignment(
        replace(
            member,
            member_epoch=STATIC_LEAVE_EPOCH,
            partitions_pending_revocation=NO_PARTITIONS,
            partition_epochs=with_epoch(member.assigned_partitions, 0),
        )
    )


def fence(group: ConsumerGroup, member_ids: Sequence[str], topics: TopicSource) -> None:
    """Remove members and begin a new epoch; the next heartbeat of another computes its targets."""
    removed = [group.remove_member(member_id) for member_id in member_ids]
    for member in removed:
        group.forget_unused_regex(member.subscribed_topic_regex)
    if removed:
        group.update_epoch(topics, must_rise=True)
        group.forget_empty_interval()


def needs_resolution(
    group: ConsumerGroup, topics: TopicSource, refresh_interval_ms: int, now_ms: int
) -> bool:
    """Return whether the expressions of a group have to be resolved now.

    They are when one is new, topics were created, or the last time is long ago, but not more often
    than every `REGEX_REFRESH_INTERVAL_MIN_MS`.
    """
    if group.is_resolving or not group.subscribed_regexes:
        return False
    last = next(iter(group.resolved_regexes.values()), None)
    if last is None:
        return True
    age_ms = now_ms - last.resolved_ms
    if age_ms <= REGEX_REFRESH_INTERVAL_MIN_MS:
        return False
    return (
        len(group.subscribed_regexes) != len(group.resolved_regexes)
        or last.created_count < topics.created_count
        or age_ms > refresh_interval_ms
    )


@may_pause
def resolve(
    group: ConsumerGroup,
    topics: TopicSource,
    may_describe: Callable[[str], bool] | None,
    now_ms: int,
) -> None:
    """Resolve the expressions of a group, and begin a new epoch if they match other topics.

    They match only topics that `may_describe` allows, if it is not None.

    It may pause before it changes the group.
    """
    has_changed = False
    names, created_count = list(topics.names()), topics.created_count
    matched = {regex: matching(regex, names) for regex in tuple(group.subscribed_regexes)}
    if may_describe is not None:
        matched = {
            regex: frozenset(name for name in paced(found) if may_describe(name))
            for regex, found in matched.items()
        }
    for regex in group.subscribed_regexes:
        if regex not in matched:
            continue  # it came during a pause
        known = group.resolved_regexes.get(regex)
        resolved = ResolvedRegex(matched[regex], created_count, now_ms)
        before = frozenset() if known is None else known.topic_names
        has_changed |= before != resolved.topic_names
        group.put_regex(regex, resolved)
    group.update_epoch(topics, must_rise=has_changed)
