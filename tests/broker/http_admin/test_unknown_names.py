"""Problems of unknown names say what is near and what there is."""

import pytest

from broker.http_admin import web  # noqa: F401 - declares all operations
from broker.http_admin.unknown_names import COMPARED_MAX, LISTED_MAX, no_such, unknown_key_hint


@pytest.mark.parametrize(
    ("count", "detail"),
    [
        (0, "there is no group 'g1x', and no other"),
        (2, "there is no group 'g1x'; did you mean g1?; there are: g0, g1"),
        (
            LISTED_MAX + 1,
            "there is no group 'g1x'; did you mean g1?; GET /v1/groups lists them",
        ),
        (COMPARED_MAX + 1, "there is no group 'g1x'; GET /v1/groups lists them"),
    ],
)
def test_a_few_names_are_listed_and_the_operation_for_many(count: int, detail: str) -> None:
    problem = no_such("group", "g1x", [f"g{i}" for i in range(count)], "list_groups")
    assert (problem.status, problem.detail) == (404, detail)


def test_the_hint_of_a_key_is_the_nearest_or_all() -> None:
    known = ["retention.ms", "cleanup.policy"]
    assert unknown_key_hint("retention.m", known) == "; did you mean retention.ms?"
    assert unknown_key_hint("x", known) == "; there are: cleanup.policy, retention.ms"
