"""The methods of a cluster for faults: add rules, list and remove them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Unpack, cast

from mock_kafka.arguments import At, Level
from mock_kafka.control import Control
from mock_kafka.fault import WAIT_TIMEOUT_S, Fault, Hold, Rules, When, document_of

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

    def hold(self, *, at: At = "before_handling", **when: Unpack[When]) -> Hold:
        """Hold requests until `release()`, while others go on; no clock releases them.

        With `at="before_response"` they are handled first, and their responses are held.
        """
        return cast("Hold", self.add_fault(hold=at, **when))

    def sequence(self, *steps: Mapping[str, Any]) -> list[Fault]:
        """Add rules of which each begins to match when the one before it has fired.

        A step is a rule with the fields in docs/faults.md. It fires once, unless it has `times` or
        `nth`. It gets a name if it has none.

        Raises:
            ControlError: a rule is invalid; the message has its number and the reason.
        """
        rules: list[dict[str, Any]] = []
        for number, step in enumerate(steps, 1):
            once = {} if {"times", "nth"} & step.keys() else {"times": 1}
            after = {"after": rules[-1]["name"]} if rules else {}
            rules.append({"name": f"step {number}", **once, **after, **step})
        return self.add_faults(rules)

    def wait_for_fault(
        self, fault: Fault, count: int = 1, *, timeout_s: float = WAIT_TIMEOUT_S
    ) -> None:
        """Do what `fault.wait` does: wait until it has fired so often, or holds so many requests.

        Raises:
            TimeoutError: that did not happen for `timeout_s` of real time.
        """
        fault.wait(count, timeout_s=timeout_s)

    def release(self, hold: Hold, count: int | None = None) -> None:
        """Do what `hold.release` does: have the oldest `count` requests go on, by default all."""
        hold.release(count)

    def throttle(self, *, throttle_time_ms: int, mute: bool = True, **when: Unpack[When]) -> Fault:
        """Return a throttle time, and mute the connection for it unless `mute` is False."""
        return self.add_fault(throttle_time_ms=throttle_time_ms, mute=mute, **when)

    def add_fault(self, /, **rule: Any) -> Fault:
        """Add a rule with any of the fields in docs/faults.md.

        Raises:
            ControlError: the rule is invalid; the message has the field and the closest valid name.
        """
        return self._fault_of(self.control.ask("POST", "/v1/faults", rule))

    def add_faults(self, rules: Rules) -> list[Fault]:
        """Add all rules of a JSON file or of a list, or none if one is invalid.

        `mock-kafka serve --faults FILE` and `POST /v1/faults` take the same file.

        Raises:
            ControlError: a rule is invalid; the message has its number and the reason.
            OSError: the file can't be read.
            ValueError: the file is not JSON.
        """
        added = self.control.ask("POST", "/v1/faults", document_of(rules))
        return list(map(self._fault_of, added))

    def faults(self) -> list[Fault]:
        """Return all rules in the order of their evaluation, including those that are used up."""
        return list(map(self._fault_of, self.control.ask("GET", "/v1/faults")))

    def _fault_of(self, data: Mapping[str, Any]) -> Fault:
        return (Hold if "hold" in data["rule"] else Fault)(self.control, data)

    def clear_faults(self) -> None:
        """Remove all rules; responses that they delay stay delayed, requests they hold go on."""
        self.control.ask("DELETE", "/v1/faults")
