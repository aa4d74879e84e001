"""The methods of a cluster for faults: add rules, list and remove them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Unpack

from mock_kafka.arguments import At, Level
from mock_kafka.control import Control
from mock_kafka.fault import Fault, Rules, When, document_of

__tracebackhide__ = True  # pytest shows the line of the caller


class FaultMethods(ABC):
    """The part of `ClusterMethods` for faults. Each adds a rule and returns it."""

    @property
    @abstractmethod
    def control(self) -> Control:
        """The admin port of the running cluster."""

    def fail(
        self,
        *,
        error: str,
        at: At | None = None,
        level: Level | None = None,
        **when: Unpack[When],
    ) -> Fault:
        """Return an error for everything that the request names, such as `NOT_ENOUGH_REPLICAS`.

        The request is not handled; with `at="before_response"` it is. By default it is only for
        errors that Kafka finds after the work, such as `NOT_ENOUGH_REPLICAS_AFTER_APPEND`. With a
        `level` the error is at the `top` of the response, or in each `part` of it.
        """
        options = {"at": at, "level": level}
        given = {name: value for name, value in options.items() if value is not None}
        return self.add_fault(error=error, **given, **when)

    def respond(
        self, *, response: Mapping[str, Any], handle: bool = True, **when: Unpack[When]
    ) -> Fault:
        """Set fields of the response; all others keep their values.

        Names are the schema's, such as `{"coordinators": {"node_id": 7}}`. An object replaces
        fields of each entry of an array, a list replaces the array. With `handle=False` the request
        is not handled, and the response claims success.
        """
        refusal = {} if handle else {"error": "NONE"}
        return self.add_fault(response=dict(response), **refusal, **when)

    def delay(
        self, *, ms: int, jitter_ms: int = 0, at: At = "before_response", **when: Unpack[When]
    ) -> Fault:
        """Delay the response (or the handling, see `at`) by `ms` and up to `jitter_ms` more."""
        name = "delay_ms" if at == "before_response" else "delay_request_ms"
        return self.add_fault(**{name: ms}, jitter_ms=jitter_ms, **when)

    def drop_request(self, **when: Unpack[When]) -> Fault:
        """Close the connection instead of handling the request."""
        return self.add_fault(drop="before_handling", **when)

    def drop_response(self, *, after_bytes: int | None = None, **when: Unpack[When]) -> Fault:
        """Handle the request, and close the connection instead of sending the response.

        With `after_bytes`, send this many bytes of the response first.
        """
        if after_bytes is None:
            return self.add_fault(drop="before_response", **when)
        return self.add_fault(drop="within_response", drop_after_bytes=after_bytes, **when)

    def hang(self, *, at: At = "before_response", **when: Unpack[When]) -> Fault:
        """Handle the request but never respond; with `at="before_handling"` do not handle it."""
        return self.add_fault(hang=at, **when)

    def throttle(self, *, throttle_time_ms: int, mute: bool = True, **when: Unpack[When]) -> Fault:
        """Return a throttle time, and mute the connection for it unless `mute` is False."""
        return self.add_fault(throttle_time_ms=throttle_time_ms, mute=mute, **when)

    def add_fault(self, /, **rule: Any) -> Fault:
        """Add a rule with any of the fields in docs/faults.md.

        Raises:
            ControlError: the rule is invalid; the message has the field and the closest valid name.
        """
        return Fault(self.control, self.control.ask("POST", "/v1/faults", rule))

    def add_faults(self, rules: Rules) -> list[Fault]:
        """Add all rules of a JSON file or of a list, or none if one is invalid.

        `mock-kafka serve --faults FILE` and `POST /v1/faults` take the same file.

        Raises:
            ControlError: a rule is invalid; the message has its number and the reason.
            OSError: the file can't be read.
            ValueError: the file is not JSON.
        """
        added = self.control.ask("POST", "/v1/faults", document_of(rules))
        return [Fault(self.control, fault) for fault in added]

    def faults(self) -> list[Fault]:
        """Return all rules in the order of their evaluation, including those that are used up."""
        return [Fault(self.control, fault) for fault in self.control.ask("GET", "/v1/faults")]

    def clear_faults(self) -> None:
        """Remove all rules; responses that they delay stay delayed."""
        self.control.ask("DELETE", "/v1/faults")
