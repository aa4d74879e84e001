import pytest

from atlas.steps import CLOSE_MS, Session, Step, closing


@pytest.mark.parametrize(
    ("arguments", "request_ms", "delivery_ms"),
    [
        ({}, 1_000, 3_000),
        ({"delivery_timeout_ms": 500}, 500, 500),
        ({"delivery_timeout_ms": 500, "linger_ms": 100}, 400, 500),
        ({"request_timeout_ms": 5_000}, 5_000, 5_000),
        ({"request_timeout_ms": 500, "delivery_timeout_ms": 800}, 500, 800),
    ],
)
def test_the_timeouts_of_a_producer_do_not_contradict_each_other(
    arguments: dict[str, int], request_ms: int, delivery_ms: int
) -> None:
    settings = Session(arguments).producer_settings()
    assert settings["request_timeout_ms"] == request_ms
    assert settings["delivery_timeout_ms"] == delivery_ms


def test_arguments_that_are_settings_go_to_the_client() -> None:
    session = Session({"records": 3, "isolation": "read_committed", "acks": 0})
    assert session.consumer_settings()["isolation"] == "read_committed"
    assert "acks" not in session.consumer_settings()
    assert session.producer_settings()["acks"] == 0
    assert "records" not in session.producer_settings()
    assert session.admin_settings() == {"request_timeout_ms": 1_500, "retry_backoff_ms": 50}


def test_an_argument_that_is_none_is_the_default() -> None:
    assert Session({"topic": None}).get("topic", "orders") == "orders"
    assert Session({"topic": "new"}).get("topic", "orders") == "new"


def test_a_report_may_take_a_second_longer_than_the_delivery_timeout() -> None:
    assert Session({"delivery_timeout_ms": 2_000}).report_ms == 3_000
    assert Session({"flush_timeout_ms": 700}).report_ms == 700
    assert Session({}).call_ms == 4_000
    assert Session({"request_timeout_ms": 6_000}).call_ms == 7_500


def test_a_client_is_closed_with_a_limit() -> None:
    [step] = [next(closing("p"))]
    assert step == Step("close", {"id": "p", "timeout_ms": CLOSE_MS}, "close", CLOSE_MS)
