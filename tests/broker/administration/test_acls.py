"""Malformed ACL requests."""

import pytest

from broker.administration.acls import refuse_unknown


@pytest.mark.parametrize(
    ("codes", "is_refused"), [((1, 2, 99), False), ((1, 0, 3), True), ((), False)]
)
def test_the_code_of_something_unknown_closes_the_connection(
    codes: tuple[int, ...], *, is_refused: bool
) -> None:
    assert (refuse_unknown(*codes) is not None) == is_refused
