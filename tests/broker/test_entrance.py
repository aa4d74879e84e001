"""Who a client is that has just come in, by the listener it came in by."""

from typing import Any

import pytest

from broker.entrance import PLAINTEXT, Entrance


class Transport:
    """A transport whose client showed a certificate, or none."""

    def __init__(self, common_name: str | None) -> None:
        names = [] if common_name is None else [((("commonName", common_name),),)]
        self._certificate = {"subject": names[0]} if names else None

    def get_extra_info(self, name: str) -> Any:
        assert name == "peercert"
        return self._certificate


def test_without_tls_everybody_is_anonymous() -> None:
    transport: Any = Transport("alice")
    session = PLAINTEXT.new_session(transport)
    assert session is not None
    assert (session.listener, session.principal, session.is_sasl) == (
        "PLAINTEXT",
        "ANONYMOUS",
        False,
    )


@pytest.mark.parametrize(("name", "principal"), [("alice", "mapped CN=alice"), (None, "ANONYMOUS")])
def test_a_certificate_names_its_owner(name: str | None, principal: str) -> None:
    tls: Any = object()
    transport: Any = Transport(name)
    entrance = Entrance("TLS", tls=tls, to_principal=lambda text: f"mapped {text}")
    session = entrance.new_session(transport)
    assert session is not None
    assert session.principal == principal


def test_a_name_that_maps_to_nothing_does_not_come_in() -> None:
    tls: Any = object()
    transport: Any = Transport("alice")
    assert Entrance("TLS", tls=tls, to_principal=lambda _text: None).new_session(transport) is None


def test_with_sasl_a_certificate_says_nothing() -> None:
    tls: Any = object()
    transport: Any = Transport("alice")
    session = Entrance("S", is_sasl=True, tls=tls).new_session(transport)
    assert session is not None
    assert (session.principal, session.is_authenticated) == ("ANONYMOUS", False)
