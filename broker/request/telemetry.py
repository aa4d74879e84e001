"""What the `match` key of client metrics compares (KIP-714)."""

from base64 import urlsafe_b64encode
from uuid import UUID

from broker.request.context import RequestContext


def client_attributes(context: RequestContext, instance_id: UUID) -> dict[str, str | None]:
    """Return the attributes of the client that sent a request, by their names in `match`."""
    session = context.session
    software = session.client_software
    return {
        "client_instance_id": urlsafe_b64encode(instance_id.bytes).decode().rstrip("="),
        "client_id": context.client_id,
        "client_software_name": software.name if software else "unknown",
        "client_software_version": software.version if software else "unknown",
        "client_source_address": context.client_host,
        "client_source_port": None if session.client_port is None else str(session.client_port),
    }
