"""Environment variables in the values of a configuration."""

import pytest

from protocol.environment import EnvironmentVariableError, resolve_all, resolve_environment

ENVIRONMENT = {"NAME": "alice", "PASSWORD": "${env:NAME}", "EMPTY": ""}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${env:NAME}", "alice"),
        ("a:${env:NAME},b:${env:NAME}", "a:alice,b:alice"),
        ("[${env:EMPTY}]", "[]"),
        ("${NAME} $NAME ${file:NAME} {env:NAME}", "${NAME} $NAME ${file:NAME} {env:NAME}"),
    ],
)
def test_references_are_replaced_and_everything_else_stays(text: str, value: str) -> None:
    assert resolve_environment(text, ENVIRONMENT) == value


def test_the_value_of_a_variable_is_not_resolved_again() -> None:
    assert resolve_environment("${env:PASSWORD}", ENVIRONMENT) == "${env:NAME}"


def test_an_unknown_variable_is_an_error_that_names_key_and_variable() -> None:
    with pytest.raises(EnvironmentVariableError) as caught:
        resolve_all({"a": "1", "b.c": "x${env:NONE}"}, ENVIRONMENT)
    assert str(caught.value) == "b.c=${env:NONE}: there is no such variable"
