"""Sessions: when only the APIs of authentication are served."""

from broker.request.session import Session
from broker.security.plain import PlainExchange

FAR_MS = 1 << 60


def test_without_sasl_all_apis_are_always_served() -> None:
    session = Session("SSL", principal="CN=alice")
    assert session.is_authenticated
    assert session.limited_from_ms > FAR_MS
    assert (session.listener, session.principal) == ("SSL", "CN=alice")


def test_a_sasl_client_is_limited_before_authentication_and_after_the_session() -> None:
    session = Session("S", is_sasl=True)
    assert (session.limited_from_ms, session.principal) == (0, "ANONYMOUS")
    session.begin("PLAIN", PlainExchange(lambda *_pair: True), 0, takes_raw_tokens=True)
    assert session.takes_raw_tokens
    session.authenticate("alice", 5000)
    assert session.is_authenticated
    assert not session.takes_raw_tokens
    assert (session.limited_from_ms, session.principal) == (5000, "alice")
    session.begin("PLAIN", PlainExchange(lambda *_pair: True), 0, takes_raw_tokens=False)
    assert (session.limited_from_ms, session.principal) == (0, "alice")
    session.authenticate("alice", None)
    assert session.limited_from_ms > FAR_MS
