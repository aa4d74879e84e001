"""The methods of a running cluster or proxy for quotas."""

from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, Unpack

from mock_kafka.arguments import QuotaValues
from mock_kafka.control import Control

if TYPE_CHECKING:  # `BrokerProcess` imports it while the broker starts
    from mock_kafka.views import Metric, ShadowCount

__tracebackhide__ = True  # pytest shows the line of the caller


class Default(Enum):
    """The default entity of a type, for `quota`."""

    DEFAULT = "default"


DEFAULT = Default.DEFAULT
"""`quota(user=DEFAULT, ...)` applies to all users without their own quota."""


class QuotaMethods(ABC):
    """Set quotas, and read what they measure."""

    @property
    @abstractmethod
    def control(self) -> Control:
        """The admin port of the running cluster."""

    def quota(
        self,
        *,
        user: str | Default | None = None,
        client_id: str | Default | None = None,
        ip: str | Default | None = None,
        shadow: bool | None = None,
        **values: Unpack[QuotaValues],
    ) -> None:
        """Set quotas of a user, a client id, both, or an IP address; None removes a quota.

        They apply from the next request on. Without SASL the user is `ANONYMOUS`. With
        `shadow=True` they are evaluated for `shadow_report` and not enforced, until `shadow=False`.
        With None their mode does not change.
        """
        named = {"user": user, "client-id": client_id, "ip": ip}
        entity = {
            kind: None if name is DEFAULT else name
            for kind, name in named.items()
            if name is not None
        }
        body = {"entity": entity, "values": values, "shadow": shadow}
        self.control.ask("PUT", "/v1/quotas", body)

    def shadow_report(self) -> "list[ShadowCount]":
        """Return which clients quotas in shadow mode would have throttled in the last hour.

        `quota(..., shadow=True)` puts single quotas into shadow mode, the broker key
        `client.quota.shadow` all of them.
        """
        from mock_kafka.views import shadow_count_of  # noqa: PLC0415 - see `BrokerProcess`

        return list(map(shadow_count_of, self.control.ask("GET", "/v1/quotas/shadow")))

    def metrics(self) -> "list[Metric]":
        """Return rates, tokens and throttle times of clients with quotas, under Kafka's names.

        `/metrics` at `admin_url` has the same for Prometheus.
        """
        from mock_kafka.views import metric_of  # noqa: PLC0415 - see `BrokerProcess`

        return list(map(metric_of, self.control.ask("GET", "/v1/quotas/live")))
