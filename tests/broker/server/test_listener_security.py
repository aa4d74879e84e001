"""A session begins with the principal that its listener determines."""

from typing import Any

from broker.request.session import ANONYMOUS
from broker.server.listener_security import PLAINTEXT, ListenerSecurity


class Transport:
    """A transport whose client has a certificate or none."""

    def __init__(self, common_name: str | None) -> None:
        self._subject = ((("commonName", common_name),),) if common_name else ()

    def get_extra_info(self, name: str) -> Any:
        return {"peercert": {"subject": self._subject} if self._subject else None}.get(name)


def principal_of(listener_security: ListenerSecurity, common_name: str | None) -> str | None:
    transport: Any = Transport(common_name)
    session = listener_security.new_session(transport)
    return None if session is None else session.principal


def test_a_client_without_a_certificate_is_anonymous() -> None:
    assert principal_of(PLAINTEXT, None) == ANONYMOUS


def test_the_mapping_rules_give_a_certificate_a_principal_or_refuse_it() -> None:
    tls: Any = object()
    assert principal_of(ListenerSecurity("SSL", tls=tls), "alice") == "CN=alice"
    assert (
        principal_of(ListenerSecurity("SSL", tls=tls, to_principal=lambda _name: None), "alice")
        is None
    )
    assert principal_of(ListenerSecurity("SASL_SSL", is_sasl=True, tls=tls), "alice") == ANONYMOUS
