"""A lane whose experiments run against an Apache Kafka, with the same adapters and workloads.

Kafka has no journal and no fault rules: manners that come from requests are empty, and only
situations with `on_kafka` can be had.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from atlas.adapter_process import AdapterProcess
from atlas.clients import Client
from atlas.delegation_token import with_token
from atlas.experiment import Experiment, Result, SeenRequest, StoredRecord
from atlas.kafka_target import KafkaTarget, with_own_names
from atlas.lane import Lane
from atlas.run import Run


class KafkaLane(Lane):
    """Runs experiments of one client on an Apache Kafka; one thread uses it at a time."""

    def __init__(self, client: str | Client, target: KafkaTarget) -> None:
        """Start nothing yet; errors as in `Lane`."""
        super().__init__(client)
        self.target = target

    def run(self, experiment: Experiment) -> Result:
        """Run an experiment with names that nobody else has, judge it, and delete its topics.

        Raises:
            NotOnKafkaError: this Kafka can't be brought into the situation.
        """
        own = replace(experiment, situation=with_own_names(experiment.situation))
        try:
            return replace(super().run(own), experiment=experiment)
        finally:
            self.target.clean(own.situation)

    def _prepared_run(self, experiment: Experiment) -> Run:
        """Bring Kafka into the situation."""
        servers = self.target.client_servers(experiment.situation)
        adapter = self._warm_adapter(experiment.situation.workload)
        self.target.prepare(experiment.situation)
        situation = with_token(experiment.situation, servers)
        own = replace(experiment, situation=situation)
        return _KafkaRun(self.target, servers, adapter, own)


class _KafkaRun(Run):
    """An experiment of which only the client and the log are seen."""

    def __init__(
        self,
        target: KafkaTarget,
        bootstrap_servers: str,
        adapter: AdapterProcess,
        experiment: Experiment,
    ) -> None:
        super().__init__(bootstrap_servers, adapter, experiment)
        self._target = target
        self._situation = experiment.situation
        self._starts: Mapping[tuple[str, int], int] = {}

    def _watch(self) -> None:
        """Do nothing: the clock of Kafka can't be moved."""

    def _request_number(self) -> int:
        return 0

    def _look(self, group_id: str) -> Mapping[str, Any]:
        return self._target.look(group_id)

    def _heal(self) -> None:
        self._target.heal(self._situation)

    def _write(self, topic: str, partition: int, value: str) -> None:
        self._target.write(topic, [(partition, value)])

    def _has_happened(self) -> bool:
        return True

    def _connections_left(self) -> int:
        return 0

    def _requests(self) -> tuple[SeenRequest, ...]:
        return ()

    def _records(self) -> tuple[StoredRecord, ...]:
        self._target.lift_quotas(self._situation)
        records, self._starts = self._target.log(self._topics())
        return records

    def _log_starts(self) -> Mapping[tuple[str, int], int]:
        return self._starts

    def _topics(self) -> set[str]:
        arguments = self._situation.arguments
        named = {arguments[name] for name in ("topic", "output") if name in arguments}
        return named | set(self._situation.topics)
