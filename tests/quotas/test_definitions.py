import pytest

from quotas.definitions import definitions_problem, parse_definitions


def test_definitions_name_entities_and_their_keys() -> None:
    text = """
        user=alice, client-id=app, producer_byte_rate=1024, consumer_byte_rate=2e3;
        user=<default>,controller_mutation_rate=0.5;
        ip=<default>,connection_creation_rate=10;
    """

    assert parse_definitions(text) == [
        (
            (("user", "alice"), ("client-id", "app")),
            [("producer_byte_rate", 1024), ("consumer_byte_rate", 2000)],
        ),
        ((("user", None),), [("controller_mutation_rate", 0.5)]),
        ((("ip", None),), [("connection_creation_rate", 10)]),
    ]
    assert definitions_problem(text) is None


def test_an_empty_text_has_no_definitions() -> None:
    assert parse_definitions("") == parse_definitions(" ; ") == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("user=alice", "'user=alice': sets no quota"),
        ("user", "'user': 'user' is not of the form name=value"),
        ("user=,producer_byte_rate=1", "'user=' is not of the form name=value"),
        ("producer_byte_rate=1", "Invalid empty client quota entity"),
        ("user=a,producer_byte_rate=much", "much is not a number"),
        ("user=a,producer_byte_rate=nan", "must be a number"),
        ("user=a,producer_byte_rate=0", "must be greater than 0"),
        ("users=a,producer_byte_rate=1", "a is not a number"),
        ("ip=nowhere,connection_creation_rate=1", "nowhere is not a valid IP"),
        ("user=a,controller_mutations_rate=1", "it is controller_mutation_rate"),
        (
            "user=a,producer_byte_rate=1;user=a,consumer_byte_rate=1",
            (
                "'user=a,consumer_byte_rate=1': these clients already have quotas;"
                " merge the definitions"
            ),
        ),
    ],
)
def test_an_invalid_text_is_reported_in_one_line(text: str, problem: str) -> None:
    message = definitions_problem(text)

    assert message is not None
    assert problem in message
    assert "\n" not in message
