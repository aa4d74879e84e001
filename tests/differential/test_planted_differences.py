"""A comparison that finds nothing must be able to find something: differences are planted."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

import broker.handlers  # noqa: F401 - registers every API
from broker.routes import ROUTES
from protocol.messages import API_NAMES
from protocol.releases import DEFAULT_VERSIONS
from proxy.diff.mapped_fields import MAPPED_FIELDS, SYNONYMS
from tests.differential.canonical import Names
from tests.differential.clusters import ComparedCluster
from tests.differential.comparison import Comparison, answering_apis, compare
from tests.differential.conversation import Conversation, load
from tests.differential.keeping import SAMPLES
from tests.differential.player import Play

NOW_MS = 1_700_000_000_000
PREFIX = "zq00000000-"
Place = tuple[str | int, ...]
ADVERTISED = sorted(key for key in DEFAULT_VERSIONS if ROUTES[key].is_advertised)


def canonical(responses: list[tuple[str, Any] | None]) -> list[Any]:
    names = Names(PREFIX, NOW_MS)
    return [response and names.canonical(*response) for response in responses]


def leaves(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from leaves(part, (*place, name))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from leaves(part, (*place, index))
    else:
        yield place, value


def other(value: Any) -> Any:
    """Return another value of the same kind."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case None:
            return "something"
        case _:
            return f"{value}x"


def planted(
    conversation: Conversation,
    responses: list[tuple[str, Any] | None],
    step: int,
    place: Place,
    value: Any,
) -> Comparison:
    """Compare responses with a copy that has another value in one place."""
    changed = copy.deepcopy(responses)
    response = changed[step]
    assert response is not None
    parent = response[1]
    for part in place[:-1]:
        parent = parent[part]
    parent[place[-1]] = value
    return compare(conversation, canonical(responses), canonical(changed))


def is_mapped(api: str, place: Place) -> bool:
    field = next(part for part in reversed(place) if isinstance(part, str))
    return SYNONYMS.get((api, field), field) in MAPPED_FIELDS


@pytest.mark.slow
@pytest.mark.parametrize("api_key", ADVERTISED)
def test_every_changed_field_of_a_response_is_found(api_key: int, ours: ComparedCluster) -> None:
    api = API_NAMES[ROUTES[api_key].api_key]
    conversation = load(SAMPLES / f"{api}.json").conversation
    play = Play(ours, PREFIX, NOW_MS).run(conversation)
    tried = 0
    for step, name in enumerate(answering_apis(conversation)):
        response = play.responses[step]
        if name != api or response is None:
            continue
        for place, value in leaves(response[1]):
            if is_mapped(api, place):
                continue
            comparison = planted(conversation, play.responses, step, place, other(value))
            assert comparison.differences or comparison.allowed, place
            tried += 1
    assert tried > 0


def test_equal_responses_have_no_difference(ours: ComparedCluster) -> None:
    conversation = load(SAMPLES / "Metadata.json").conversation
    play = Play(ours).run(conversation)
    comparison = compare(conversation, play.answers, copy.deepcopy(play.answers))
    assert comparison.differences == []
    assert comparison.fields > 0


def test_an_id_that_names_another_topic_is_found() -> None:
    conversation = Conversation(())
    first, second = "1" * 32, "2" * 32
    topics = [{"name": "a", "topic_id": first}, {"name": "b", "topic_id": second}]
    swapped = [{"name": "a", "topic_id": first}, {"name": "b", "topic_id": first}]
    kafka = canonical([("Metadata", {"topics": topics})])
    ours = canonical([("Metadata", {"topics": swapped})])
    assert kafka != ours
    assert conversation.steps == ()
