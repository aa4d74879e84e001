"""No password of a plan reaches its results."""

import pytest

from loadgen.plan.redaction import without_passwords


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("user: alice\npassword: pa ss\nrate: 1", 'user: alice\npassword: "***"\nrate: 1'),
        ("{user: alice, password: secret, rate: 1}", '{user: alice, password: "***", rate: 1}'),
        ("password: \"a, b # 'c'\" # comment", 'password: "***" # comment'),
        ("password: 'it''s'\n", 'password: "***"\n'),
        ('"password": "x"', '"password": "***"'),
        ("sasl.users: 'a:b,c:d'", 'sasl.users: "***"'),
        ("ssl.keystore.password: changeit", 'ssl.keystore.password: "***"'),
        ("broker.admin.token: sesame", 'broker.admin.token: "***"'),
        ("password: |\n  two\n  lines\nrate: 1", 'password: "***"\nrate: 1'),
        ("password: two\n  lines\nrate: 1", 'password: "***"\nrate: 1'),
        (
            "a: {password: 'x', rate: 1}\nb: [{password: y}]",
            'a: {password: "***", rate: 1}\nb: [{password: "***"}]',
        ),
        ("password: ${env:SECRET}", "password: ${env:SECRET}"),
        ("{password: '${env:SECRET}', rate: 1}", "{password: '${env:SECRET}', rate: 1}"),
        ("sasl.users: 'a:${env:SECRET},b:c'", 'sasl.users: "***"'),
        ("name: the password of the day", "name: the password of the day"),
        ("password:\n  - not a text", "password:\n  - not a text"),
    ],
)
def test_passwords_are_replaced_and_everything_else_stays(text: str, expected: str) -> None:
    assert without_passwords(text) == expected
