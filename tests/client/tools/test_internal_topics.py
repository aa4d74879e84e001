"""Which topics count as internal ones of a streams group."""

import pytest

from client.resources import Address, GroupDescription, Subtopology
from client.tools.internal_topics import internal_topics


def group(*subtopologies: Subtopology) -> GroupDescription:
    return GroupDescription(
        group_id="app",
        group_type="streams",
        state="Empty",
        assignor="",
        coordinator_id=1,
        coordinator=Address("h", 9),
        members=(),
        subtopologies=subtopologies,
    )


def test_changelogs_and_repartition_topics_are_internal_unless_they_are_sources() -> None:
    first = Subtopology("0", ("in", "app-x-changelog"), (), ("app-x-changelog", "app-y-changelog"))
    second = Subtopology("1", (), ("app-r-repartition",), ("app-y-changelog",))
    assert internal_topics(group(first, second)) == ["app-y-changelog", "app-r-repartition"]


@pytest.mark.parametrize(
    ("name", "is_internal"),
    [
        ("app-k-subscription-registration-topic", True),
        ("app-k-subscription-response-topic", True),
        ("app-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000001-topic", True),
        ("app-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000001-topic", True),
        ("app-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-x-topic", False),
        ("app-store", False),
        ("apps-store-changelog", False),
    ],
)
def test_an_internal_topic_has_the_name_of_its_group_and_of_its_kind(
    name: str, is_internal: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    found = internal_topics(group(Subtopology("0", ("in",), (), (name,))))
    assert found == [name] * is_internal
    assert (f"'{name}' is not inferred as internal" in capsys.readouterr().err) != is_internal
