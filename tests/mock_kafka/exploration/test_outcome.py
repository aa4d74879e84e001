"""Two runs are compared by what each client sent of each API."""

from mock_kafka.exploration.outcome import Outcome, first_difference, sequences_of
from tests.mock_kafka.exploration.requests import request_of


def outcome(*sent: tuple[str, tuple[str, ...]]) -> Outcome:
    requests = [request_of(n, api, topics=topics) for n, (api, topics) in enumerate(sent)]
    return Outcome(sequences=sequences_of(requests))


def test_the_order_of_different_apis_does_not_count() -> None:
    first = outcome(("Produce", ("a",)), ("Metadata", ()))
    assert first_difference(first, outcome(("Metadata", ()), ("Produce", ("a",)))) is None


def test_the_number_of_requests_and_their_names_count() -> None:
    first = outcome(("Produce", ("a",)), ("Produce", ("b",)))
    more = outcome(("Produce", ("a",)), ("Produce", ("b",)), ("Produce", ("b",)))
    other = outcome(("Produce", ("a",)), ("Produce", ("c",)))
    assert first_difference(first, more) == "2 Produce of service, then 3"
    assert first_difference(first, other) == "Produce of service, request 2: b, then c"


def test_a_client_without_an_id_has_a_name() -> None:
    sent = sequences_of([request_of(1, "Metadata", client_id=None)])
    assert sent == {"Metadata of (no client id)": ("no names",)}
