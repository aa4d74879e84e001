from broker.http_admin import web  # noqa: F401 - declares the operations
from broker.http_admin.operation import OPERATIONS
from proxy.proxied_operations import PROXIED, refused_operation


def test_every_operation_that_a_proxy_has_exists() -> None:
    assert {op.operation_id for op in OPERATIONS} >= PROXIED


def test_an_operation_on_topics_is_refused_with_what_to_do() -> None:
    assert refused_operation("list_faults") is None
    reason = refused_operation("list_topics")
    assert reason is not None
    assert "this is a proxy" in reason
    assert "mock-kafka topics" in reason
