import pytest

from client.addresses import addresses_of


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("one:1", [("one", 1)]),
        ("one:1, two:2", [("one", 1), ("two", 2)]),
        (["one:1", "two"], [("one", 1), ("two", 9092)]),
        ("[::1]:5,[::2]", [("::1", 5), ("::2", 9092)]),
    ],
)
def test_addresses_are_host_and_port(
    text: str | list[str], addresses: list[tuple[str, int]]
) -> None:
    assert addresses_of(text) == addresses


@pytest.mark.parametrize("text", ["", ":9092", "one:port", "one:65536", "one:1,,two:2"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="HOST:PORT"):
        addresses_of(text)
