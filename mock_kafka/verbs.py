"""Operations on a running cluster, and queries of its state."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import Enum
from typing import Any, Literal, TypedDict, Unpack
from urllib.parse import quote

from mock_kafka.audit import AuditReport, audit_report_of
from mock_kafka.control import Control, ControlError
from mock_kafka.fault import Fault, Rules, When, document_of
from mock_kafka.views import (
    Metric,
    Record,
    Request,
    ShadowCount,
    Topic,
    metric_of,
    record_of,
    request_of,
    shadow_count_of,
    topic_of,
)

_RECORDS_A_LOOK = 10_000
_REQUESTS_MAX = 10_000
_SHOWN_ON_TIMEOUT = 10
_WAIT_MARGIN_S = 10.0

ConfigValue = str | int | float | bool
ClockMode = Literal["real", "scaled", "standing"]
At = Literal["before_handling", "before_response"]


class Default(Enum):
    """The default of a type of entity, in `quota`."""

    DEFAULT = "default"


DEFAULT = Default.DEFAULT
"""`quota(user=DEFAULT, ...)` is for all users that have no quota of their own."""


class QuotaValues(TypedDict, total=False):
    """Kafka's names of quotas; None takes one away."""

    producer_byte_rate: float | None
    consumer_byte_rate: float | None
    request_percentage: float | None
    controller_mutation_rate: float | None
    producer_ids_rate: float | None
    connection_creation_rate: float | None


class Which(TypedDict, total=False):
    """Which requests: those that fit all that is set. Names of APIs and errors in any case.

    `since` is the number of the last line already seen, `since_ms` a time of the cluster's clock.
    `fault` is a part of the description of what rules did. The `kind` `connection` has the
    connections that a rule refused or delayed, `disconnect` the ends of connections.
    """

    topic: str
    group: str
    client_id: str
    user: str
    broker: int
    connection: int
    error: str
    outcome: Literal["waiting", "responded", "no_response", "closed", "refused", "delayed"]
    fault: str
    since: int
    since_ms: int
    kind: Literal["request", "connection", "disconnect"]


class ClusterVerbs(ABC):
    """Every verb is one exchange with the cluster, and has happened when it returns.

    What the cluster refuses is a `ControlError` that says why; ConnectionError when it has died.
    """

    @property
    @abstractmethod
    def control(self) -> Control:
        """The admin port of the running cluster."""

    # Faults --------------------------------------------------------------------------------

    def fail(self, *, error: str, at: At = "before_handling", **when: Unpack[When]) -> Fault:
        """Respond with an error for everything asked for, such as `NOT_ENOUGH_REPLICAS`.

        The request is not handled; with `at="before_response"` it is.
        """
        return self.add_fault(error=error, at=at, **when)

    def respond(
        self, *, response: Mapping[str, Any], handle: bool = True, **when: Unpack[When]
    ) -> Fault:
        """Respond with these values in the response, which keeps all its others.

        Names are the schema's, such as `{"coordinators": {"node_id": 7}}`: an object replaces
        fields of each entry of an array, a list replaces the array. `handle=False` does not handle
        the request, and responds with success and these values.
        """
        refusal = {} if handle else {"error": "NONE"}
        return self.add_fault(response=dict(response), **refusal, **when)

    def delay(
        self, *, ms: int, jitter_ms: int = 0, at: At = "before_response", **when: Unpack[When]
    ) -> Fault:
        """Respond `ms` and up to `jitter_ms` later; or handle the request so much later."""
        name = "delay_ms" if at == "before_response" else "delay_request_ms"
        return self.add_fault(**{name: ms}, jitter_ms=jitter_ms, **when)

    def drop_request(self, **when: Unpack[When]) -> Fault:
        """Close the connection instead of handling the request."""
        return self.add_fault(drop="before_handling", **when)

    def drop_response(self, *, after_bytes: int | None = None, **when: Unpack[When]) -> Fault:
        """Handle the request, and close the connection before its response.

        With `after_bytes`, send that much of the response before.
        """
        if after_bytes is None:
            return self.add_fault(drop="before_response", **when)
        return self.add_fault(drop="within_response", drop_after_bytes=after_bytes, **when)

    def hang(self, *, at: At = "before_response", **when: Unpack[When]) -> Fault:
        """Never respond; with `at="before_handling"` the request is not even handled."""
        return self.add_fault(hang=at, **when)

    def throttle(self, *, throttle_time_ms: int, mute: bool = True, **when: Unpack[When]) -> Fault:
        """Respond with a throttle time, and mute the connection for it unless `mute` is False."""
        return self.add_fault(throttle_time_ms=throttle_time_ms, mute=mute, **when)

    def add_fault(self, /, **rule: Any) -> Fault:
        """Add a rule with any of the fields in docs/faults.md.

        Raises:
            ControlError: the rule is wrong; the message names the field and the nearest word.
        """
        return Fault(self.control, self.control.ask("POST", "/v1/faults", rule))

    def add_faults(self, rules: Rules) -> list[Fault]:
        """Add all rules of a JSON file or of a list; if one is wrong, none.

        It is the file that `mock-kafka serve --faults FILE` and `POST /v1/faults` take too.

        Raises:
            ControlError: a rule is wrong; the message says which, and how.
            OSError: the file can't be read.
            ValueError: it has no JSON in it.
        """
        added = self.control.ask("POST", "/v1/faults", document_of(rules))
        return [Fault(self.control, each) for each in added]

    def faults(self) -> list[Fault]:
        """Return all rules in the order in which they are evaluated, including those used up."""
        return [Fault(self.control, each) for each in self.control.ask("GET", "/v1/faults")]

    def clear_faults(self) -> None:
        """Remove all rules; responses that they delay stay delayed."""
        self.control.ask("DELETE", "/v1/faults")

    # Time ----------------------------------------------------------------------------------

    def advance(self, *, seconds: float | None = None, ms: int | None = None) -> int:
        """Move the clock on; returns its new time in ms since the epoch.

        Everything that becomes due is done, in order, before this returns: mutes end, groups time
        out, records expire, delayed responses go out.
        """
        body = {"seconds": seconds, "ms": ms}
        given = {name: value for name, value in body.items() if value is not None}
        now_ms: int = self.control.ask("POST", "/v1/clock/advance", given)["now_ms"]
        return now_ms

    def now_ms(self) -> int:
        """The cluster's time in ms since the epoch."""
        now_ms: int = self.control.ask("GET", "/v1/clock")["now_ms"]
        return now_ms

    def set_clock(self, mode: ClockMode, factor: float | None = None) -> None:
        """Have time go by like the machine's, `factor` times as fast (`scaled`), or stand."""
        self.control.ask("PUT", "/v1/clock", {"mode": mode, "factor": factor})

    # Brokers and leaders -------------------------------------------------------------------

    def stop_broker(self, broker: int, *, elect: bool = True) -> None:
        """Cut a broker's connections and refuse new ones; no record is lost.

        With `elect` the others notice, and lead and coordinate in its place. This returns at once.
        With `controller.mutation.time.ms` the election waits in the controller's queue, behind
        topic requests: until the clock gets there (see `advance`), Metadata names the old leaders.
        """
        self.control.ask("POST", f"/v1/brokers/{broker}/stop", {"elect": elect})

    def isolate_broker(self, broker: int, *, elect: bool = False) -> None:
        """Leave a broker's connections open and let nothing through them."""
        self.control.ask("POST", f"/v1/brokers/{broker}/isolate", {"elect": elect})

    def start_broker(
        self, broker: int, *, config: Mapping[str, ConfigValue | None] | None = None
    ) -> None:
        """Bring a broker back that was stopped or cut off; it leads only what had no leader.

        `config` changes what this broker alone is started with, such as `broker.api.versions`: an
        upgrade. None takes a key away. A key that all brokers share is a ControlError.
        """
        own = {
            key: None if value is None else config_text(value)
            for key, value in (config or {}).items()
        }
        self.control.ask("POST", f"/v1/brokers/{broker}/start", {"config": own})

    def add_broker(self, broker: int | None = None, *, rack: str | None = None) -> int:
        """Have one broker more, on a port of its own; returns its node id.

        It leads new partitions and what is moved there. Without a node id it gets the next one; one
        that was decommissioned comes back on its port.
        """
        body = {"node_id": broker, "rack": rack}
        given = {key: value for key, value in body.items() if value is not None}
        node_id: int = self.control.ask("POST", "/v1/brokers", given)["node_id"]
        return node_id

    def decommission_broker(self, broker: int) -> None:
        """Stop a broker for good: leaders move, and Metadata no longer lists it."""
        self.control.ask("DELETE", f"/v1/brokers/{broker}")

    def fence_broker(self, broker: int) -> None:
        """Have the others take a broker for gone, which goes on serving its connections.

        It leaves Metadata, and what it led moves, until `start_broker`.
        """
        self.control.ask("POST", f"/v1/brokers/{broker}/fence")

    def move_leader(self, topic: str, partition: int, broker: int | None) -> None:
        """Have a broker lead a partition; None leaves it without a leader."""
        path = f"/v1/topics/{quote(topic, safe='')}/partitions/{partition}/leader"
        self.control.ask("PUT", path, {"broker": broker})

    def move_coordinator(self, group: str, broker: int) -> None:
        """Have a broker coordinate a group or transactional id."""
        path = f"/v1/groups/{quote(group, safe='')}/coordinator"
        self.control.ask("PUT", path, {"broker": broker})

    # Quotas --------------------------------------------------------------------------------

    def quota(
        self,
        *,
        user: str | Default | None = None,
        client_id: str | Default | None = None,
        ip: str | Default | None = None,
        shadow: bool | None = None,
        **values: Unpack[QuotaValues],
    ) -> None:
        """Set quotas of a user, a client id, both, or an address; None takes one away.

        Without SASL the user is `ANONYMOUS`. They count from the next request. With `shadow=True`
        they are evaluated for `shadow_report` and not enforced, until `shadow=False`; None leaves
        that as it is.
        """
        named = {"user": user, "client-id": client_id, "ip": ip}
        entity = {
            kind: None if name is DEFAULT else name
            for kind, name in named.items()
            if name is not None
        }
        body = {"entity": entity, "values": values, "shadow": shadow}
        self.control.ask("PUT", "/v1/quotas", body)

    def shadow_report(self) -> list[ShadowCount]:
        """Who would have been throttled by quotas in shadow mode within the last hour.

        Quotas are in shadow mode by `quota(..., shadow=True)`, or all of them by the broker key
        `client.quota.shadow`.
        """
        return list(map(shadow_count_of, self.control.ask("GET", "/v1/quotas/shadow")))

    def metrics(self) -> list[Metric]:
        """Rates, tokens and waits of those who have quotas, under Kafka's names.

        The same for Prometheus is at `admin_url` + `/metrics`.
        """
        return list(map(metric_of, self.control.ask("GET", "/v1/quotas/live")))

    # Topics and records --------------------------------------------------------------------

    def create_topic(
        self,
        name: str,
        partitions: int | None = None,
        replication_factor: int | None = None,
        config: Mapping[str, str] | None = None,
    ) -> Topic:
        """Create a topic; numbers left out are those of the cluster's configuration."""
        body = {
            "partitions": partitions,
            "replication_factor": replication_factor,
            "config": None if config is None else dict(config),
        }
        given = {key: value for key, value in body.items() if value is not None}
        return topic_of(self.control.ask("POST", "/v1/topics", {"name": name, **given}))

    def delete_topic(self, name: str) -> None:
        """Delete a topic with its records."""
        self.control.ask("DELETE", f"/v1/topics/{quote(name, safe='')}")

    def topics(self) -> list[Topic]:
        """All topics with their partitions, leaders and offsets."""
        return list(map(topic_of, self.control.ask("GET", "/v1/topics")))

    def records(self, topic: str, partition: int | None = None, offset: int = 0) -> list[Record]:
        """All records of a topic or of one partition, from an offset on; by partition and offset.

        Raises:
            ControlError: there is no such topic; the message names those that there are.
        """
        looks: list[tuple[int | None, int]] = [(partition, offset)]
        found: list[Record] = []
        path = f"/v1/topics/{quote(topic, safe='')}/records"
        while looks:
            index, from_offset = looks.pop(0)
            query = {"partition": index, "offset": from_offset, "limit": _RECORDS_A_LOOK}
            try:
                look = self.control.ask("GET", path, query={**query, "encoding": "base64"})
            except ControlError as error:
                if error.status != 404 or any(each.name == topic for each in self.topics()):
                    raise
                known = ", ".join(each.name for each in self.topics()) or "no topic yet"
                detail = f"there is no topic {topic!r}; the cluster has {known}"
                raise ControlError(404, detail) from None
            found += [record_of(topic, each) for each in look["records"]]
            looks += [(int(index), rest) for index, rest in look["next_offsets"].items()]
        return sorted(found, key=lambda record: (record.partition, record.offset))

    # Requests ------------------------------------------------------------------------------

    def requests(
        self,
        *,
        api: str | None = None,
        limit: int = _REQUESTS_MAX,
        has_messages: bool = True,
        **which: Unpack[Which],
    ) -> list[Request]:
        """The last requests that fit, oldest first, with what became of them.

        `has_messages=False` leaves the decoded messages out, which is quicker.
        """
        query = {"api": api, "kind": "request", **which, "limit": limit, "bodies": has_messages}
        return list(map(request_of, self.control.ask("GET", "/v1/requests", query=query)))

    def wait_for(
        self, *, api: str | None = None, timeout_s: float = 10.0, **which: Unpack[Which]
    ) -> Request:
        """The first request that fits: one that has come already, or the next to come.

        It need not be answered yet; `outcome="responded"` waits for that. To wait for a new one say
        `since=last_request_number()`.

        Raises:
            TimeoutError: there was none for `timeout_s` of the machine's time; the message has the
                last requests that came.
        """
        wish = {"api": api, **which}
        query = {"kind": "request", **wish, "timeout_ms": round(timeout_s * 1000)}
        response = self.control.ask(
            "GET", "/v1/requests/wait", query=query, timeout_s=timeout_s + _WAIT_MARGIN_S
        )
        if response is None:
            asked = ", ".join(
                f"{key}={value!r}" for key, value in wish.items() if value is not None
            )
            came = self.requests(limit=_SHOWN_ON_TIMEOUT, has_messages=False)
            shown = "".join(f"\n  {each}" for each in came) or " none at all"
            raise TimeoutError(
                f"no request with {asked or 'anything'} in {timeout_s} s; the last ones:{shown}"
            )
        return request_of(response)

    def last_request_number(self) -> int:
        """The number of the newest line of the journal: a good `since` for what comes from now."""
        number: int = self.control.ask("GET", "/v1/requests/status")["last_number"]
        return number

    # The audit -----------------------------------------------------------------------------

    def audit(self) -> AuditReport:
        """Compare the acknowledgements that were sent since the start or reset with the logs.

        `audit().raise_on_findings()` raises an AuditError if there are any. It reads all logs, and
        the cluster serves no request during that time.

        Raises:
            ControlError: the cluster was not started with `audit=True`.
        """
        return audit_report_of(self.control.ask("GET", "/v1/audit"))

    # All of it -----------------------------------------------------------------------------

    def reset(self) -> None:
        """Put everything back to the start; connections are cut, addresses stay.

        Topics, groups, producers, quotas, configurations, users, faults, the requests that went by,
        what the audit covers, the clock and the brokers. Takes about a millisecond.
        """
        self.control.ask("POST", "/v1/reset")


def config_text(value: ConfigValue) -> str:
    """As a properties file would have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
