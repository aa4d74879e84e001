"""Compare the answers of two clusters field by field."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from protocol.messages import API_NAMES
from proxy.diff.allowed_difference import AllowedDifference
from proxy.diff.field_comparison import FieldDifference, compare_responses, find_allowed
from tests.differential.conversation import Conversation, Receive, Send, SendBytes

_NAMES: dict[int, str] = {int(key): name for key, name in API_NAMES.items()}
_ORDERED_BY_HASH_OF_NAME = frozenset(
    {
        "ConsumerGroupDescribe",
        "CreateTopics",
        "DeleteGroups",
        "DescribeGroups",
        "DescribeTopicPartitions",
        "ShareGroupDescribe",
        "StreamsGroupDescribe",
    }
)


@dataclass(frozen=True, slots=True)
class Difference(FieldDifference):
    """One field that differs; `step` counts from 0."""

    step: int = 0

    def __str__(self) -> str:
        """Return one line for people."""
        return f"step {self.step + 1} {FieldDifference.__str__(self)}"


@dataclass(slots=True)
class Comparison:
    """What two answers, or two conversations, have in common."""

    conversation: Conversation
    differences: list[Difference] = field(default_factory=list)
    fields: int = 0
    allowed: dict[AllowedDifference, int] = field(default_factory=dict)

    def note(self, difference: Difference) -> None:
        """Add a difference, unless it is allowed."""
        conversation = self.conversation
        step = conversation.steps[difference.step]
        arguments = step.arguments if isinstance(step, Send) else {}
        allowed = find_allowed(difference, arguments, conversation.brokers, conversation.release)
        if allowed is None:
            self.differences.append(difference)
        else:
            self.allowed[allowed] = self.allowed.get(allowed, 0) + 1

    @property
    def signatures(self) -> frozenset[str]:
        """The signatures of all differences."""
        return frozenset(difference.signature for difference in self.differences)


def compare(
    conversation: Conversation,
    kafka: Sequence[Any],
    ours: Sequence[Any],
    *,
    is_replay: bool = False,
) -> Comparison:
    """Compare the answers to each step of a conversation.

    A replay has other names than the answers that were kept, so hashes of names are others too.
    """
    comparison = Comparison(conversation)
    for step, (api, kafka_answer, our_answer) in enumerate(
        zip(answering_apis(conversation), kafka, ours, strict=True)
    ):

        def note(found: FieldDifference, step: int = step) -> None:
            fields = {name: getattr(found, name) for name in FieldDifference.__slots__}
            comparison.note(Difference(**fields, step=step))

        comparison.fields += compare_responses(api, kafka_answer, our_answer, note)
    if is_replay:
        comparison.differences = [
            difference
            for difference in comparison.differences
            if difference.kind != "order" or difference.api not in _ORDERED_BY_HASH_OF_NAME
        ]
    return comparison


def answering_apis(conversation: Conversation) -> list[str]:
    """Return the API that each step's response belongs to."""
    pending: dict[str, list[str]] = {}
    apis = []
    for step in conversation.steps:
        if isinstance(step, Send):
            apis.append(step.api)
            if not step.is_awaited:
                pending.setdefault(step.connection, []).append(step.api)
        elif isinstance(step, Receive) and pending.get(step.connection):
            apis.append(pending[step.connection].pop(0))
        elif isinstance(step, SendBytes):
            apis.append(_NAMES.get(int(step.hex[:4], 16), "unknown"))
        else:
            apis.append("connection")
    return apis
