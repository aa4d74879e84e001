"""How a client behaved in an experiment: retries, backoff, throttles, what it reported."""

from collections.abc import Iterator, Sequence

from atlas.experiment import Command, Delivery, Manners, Observation, SeenRequest
from atlas.situation import Situation
from atlas.steps import CLOSE_MS

_CLOCK_MS = 1.0
"""The journal has whole milliseconds."""
_OPENING = {"producer", "consumer", "share_consumer", "streams", "admin"}
_NOT_JUDGED = {"sleep", "close"}
_APIS = {
    "consume": "Fetch",
    "group": "OffsetCommit",
    "rebalance": "JoinGroup",
    "share": "ShareFetch",
    "streams": "StreamsGroupHeartbeat",
    "create_topic": "CreateTopics",
}


def judged_api(situation: Situation) -> str:
    """Return the API whose retries count: that of the workload, or the first that has a rule."""
    own = _APIS.get(situation.workload, "Produce")
    named = [str(rule["api"]) for rule in situation.faults if "api" in rule]
    return own if own in named or not named else named[0]


def manners(observation: Observation, *, api: str, expected: int = 0) -> Manners:
    """Return how a client behaved.

    Args:
        observation: what was seen.
        api: the API whose requests are judged.
        expected: how many records its consumers should read.
    """
    main = [request for request in observation.requests if request.phase == "main"]
    judged = [request for request in main if request.api == api]
    reported, error, error_class = reported_outcome(observation, expected)
    return Manners(
        retries=sum(1 for _ in _retried(judged)),
        backoff_ms=_backoff_ms(judged),
        throttle=_throttle(main),
        reported=reported,
        error=error,
        error_class=error_class,
        closed=_closed(observation),
        usable=observation.is_usable,
        outcome_ms=_outcome_ms(observation),
    )


def _asks_for_the_same(one: SeenRequest, other: SeenRequest) -> bool:
    """Return whether two requests have the same targets, and a batch in common if they have any.

    A retry may have the batch under another sequence, with other batches, or with new timestamps.
    """
    targets = (one.topics, one.groups, one.transactional_ids)
    if targets != (other.topics, other.groups, other.transactional_ids):
        return False
    return one.records == other.records or bool(set(one.records) & set(other.records))


def _has_failed(request: SeenRequest) -> bool:
    return bool(request.errors) or request.latency_ms is None


def _retried(requests: Sequence[SeenRequest]) -> Iterator[tuple[SeenRequest, SeenRequest]]:
    """Yield each request that failed, with the next one that asks for the same."""
    failed: list[SeenRequest] = []
    for request in requests:
        for before in failed:
            if _asks_for_the_same(before, request):
                failed.remove(before)
                yield before, request
                break
        if _has_failed(request):
            failed.append(request)


def _backoff_ms(requests: Sequence[SeenRequest]) -> float | None:
    """Return the shortest time between an error in a response and the retry."""
    waits = [
        retry.at_ms - (failed.at_ms + failed.latency_ms)
        for failed, retry in _retried(requests)
        if failed.errors and failed.latency_ms is not None
    ]
    return round(max(min(waits), 0.0), 1) if waits else None


def _throttle(requests: Sequence[SeenRequest]) -> str | None:
    """Compare the throttle times with the next request on the connection (KIP-219).

    A connection that the broker has muted shows nothing.
    """
    early_ms = None
    for index, request in enumerate(requests):
        if not request.throttle_time_ms or request.is_muted or request.latency_ms is None:
            continue
        answered_ms = request.at_ms + request.latency_ms
        until_ms = answered_ms + request.throttle_time_ms
        for later in requests[index + 1 :]:
            # What came before the response was sent could not wait for it.
            if later.connection == request.connection and later.at_ms >= answered_ms:
                early_ms = max(early_ms or 0.0, until_ms - later.at_ms)
                break
    if early_ms is None:
        return None
    return "honoured" if early_ms <= _CLOCK_MS else f"early by {round(early_ms)} ms"


def reported_outcome(observation: Observation, expected: int) -> tuple[str, str | None, str | None]:
    """Return what the caller heard, and the name and the class of the first error.

    It is `nothing` if a call did not return, if a record has no outcome, or if a consumer was
    silent about records that it did not return. In a transaction the errors of its calls come
    before those of its records, and records that it discards because of an abort are no errors.
    """
    commands = [
        command
        for command in observation.commands
        if command.phase == "main" and command.name not in _NOT_JUDGED
    ]
    numbers = {command.number for command in commands}
    has_transactions = any(command.name == "begin_transaction" for command in commands)
    errors: list[tuple[bool, float, str, str]] = [
        (
            has_transactions and command.name == "send",
            command.ended_ms or 0.0,
            command.values["error"],
            command.values["class"],
        )
        for command in commands
        if command.outcome == "failed"
    ]
    deliveries: dict[int, Delivery] = {}
    for delivery in observation.deliveries:
        if delivery.send in numbers:
            deliveries.setdefault(delivery.send, delivery)
            if delivery.error is not None and not _is_aborted(delivery, commands):
                kind = delivery.error_class or "unknown"
                errors.append((has_transactions, delivery.at_ms, delivery.error, kind))
    is_silent = any(
        command.outcome in {"unanswered", "ended"}
        or (
            command.name == "send"
            and command.outcome == "done"
            and command.number not in deliveries
        )
        for command in commands
    )
    polled = sum(len(one.values.get("records", ())) for one in commands if one.name == "poll")
    has_polled = any(command.name == "poll" for command in commands)
    *_, error, error_class = min(errors) if errors else (None, None)
    if is_silent or (has_polled and polled < expected and not errors):
        return "nothing", error, error_class
    return error_class or "success", error, error_class


def _is_aborted(delivery: Delivery, commands: Sequence[Command]) -> bool:
    """Return whether a record was discarded because its caller has aborted the transaction."""
    return any(
        command.name == "abort_transaction"
        and command.number > delivery.send
        and command.sent_ms <= delivery.at_ms
        for command in commands
    )


def _outcome_ms(observation: Observation) -> float | None:
    """Return the longest time until the caller heard of a record, or until the last call ended."""
    main = [
        command
        for command in observation.commands
        if command.phase == "main" and command.name not in _NOT_JUDGED
    ]
    sends = [command for command in main if command.name == "send"]
    heard = {delivery.send: delivery.at_ms for delivery in observation.deliveries}
    if sends and not any(command.name == "commit_transaction" for command in main):
        times = [_heard_ms(command, heard) for command in sends]
        known = [time for time in times if time is not None]
        return round(max(known), 1) if len(known) == len(times) else None
    judged = [one for one in main if one.name not in _OPENING or one.outcome != "done"]
    if not judged or any(command.ended_ms is None for command in judged):
        return None
    return round(max(one.ended_ms or 0.0 for one in judged) - judged[0].sent_ms, 1)


def _heard_ms(command: Command, heard: dict[int, float]) -> float | None:
    """Return how long after the send the caller heard of the record."""
    at_ms = heard.get(command.number)
    if at_ms is None and command.outcome == "failed":
        at_ms = command.ended_ms
    return None if at_ms is None else at_ms - command.sent_ms


def _closed(observation: Observation) -> str:
    closes = [command for command in observation.commands if command.name == "close"]
    if not closes:
        return "not closed"
    for command in closes:
        if command.outcome in {"unanswered", "ended"}:
            return f"not in {CLOSE_MS} ms"
        if command.outcome != "done":
            return f"failed: {command.values.get('error', command.outcome)}"
    return "connection left" if observation.connections_left else "cleanly"
