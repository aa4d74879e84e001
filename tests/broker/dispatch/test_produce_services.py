"""The caches of all connections use the same parts of the dispatcher."""

from broker.dispatch.produce_services import ProduceServices
from tests.broker.dispatch.produce_runs import Produce, Run


def test_the_caches_of_all_connections_share_the_parts_of_their_dispatcher() -> None:
    made = Run()
    made.do(Produce(count=3))
    made.do(Produce(connection=1, count=3))
    first, second, _ = (connection._produce_cache for connection in made.connections)
    assert first is not None
    assert second is not None

    services = first._services

    assert isinstance(services, ProduceServices)
    assert second._services is services
    assert services.cluster is made.cluster
    assert services.faults is made.dispatcher.faults
    assert services.journal is made.dispatcher.journal
    assert services.acknowledgements is made.dispatcher.acknowledgements
