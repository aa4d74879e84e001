"""The audit of every MockKafka that interop tests start, also in fixtures and scenarios."""

from dataclasses import replace
from types import TracebackType
from typing import Any

import pytest

from mock_kafka import AuditFinding, MockKafka


class AuditedClusters:
    """`with AuditedClusters() as clusters:`; every MockKafka started inside is audited.

    A cluster is audited once more before it is stopped. One that has died cannot be. A test that
    starts a cluster with `audit=True` audits it itself.
    """

    def __init__(self) -> None:
        self._patch = pytest.MonkeyPatch()
        self._running: dict[MockKafka, set[AuditFinding]] = {}
        """What was found in each already, without the details, which change as a log grows."""
        self._new: list[AuditFinding] = []

    def __enter__(self) -> "AuditedClusters":
        start, stop, clusters = MockKafka.start, MockKafka.stop, self

        def start_audited(kafka: MockKafka, *rest: Any) -> MockKafka:
            if "audit.enable" in kafka.config:
                return start(kafka, *rest)
            kafka.config["audit.enable"] = True
            try:
                start(kafka, *rest)
            finally:
                del kafka.config["audit.enable"]
            if kafka.admin_port is not None:
                clusters._running[kafka] = set()
            return kafka

        def stop_audited(kafka: MockKafka) -> None:
            if kafka in clusters._running:
                clusters._audit(kafka)
                del clusters._running[kafka]
            stop(kafka)

        self._patch.setattr(MockKafka, "start", start_audited)
        self._patch.setattr(MockKafka, "stop", stop_audited)
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._patch.undo()

    def new_findings(self) -> list[AuditFinding]:
        """What was found since this was called last."""
        for kafka in tuple(self._running):
            self._audit(kafka)
        found, self._new = self._new, []
        return found

    def _audit(self, kafka: MockKafka) -> None:
        if not kafka.is_running:
            return
        known = self._running[kafka]
        for finding in kafka.audit().findings:
            if (fact := replace(finding, detail="")) not in known:
                known.add(fact)
                self._new.append(finding)
