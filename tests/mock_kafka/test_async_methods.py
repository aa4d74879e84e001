"""Every method of a cluster has its counterpart for coroutines."""

import inspect

from mock_kafka.async_methods import AsyncMethods
from mock_kafka.methods import ClusterMethods


def public_names(owner: type) -> set[str]:
    return {name for name in dir(owner) if callable(getattr(owner, name)) and name[0] != "_"}


def test_both_classes_have_the_same_methods() -> None:
    assert public_names(AsyncMethods) == public_names(ClusterMethods)


def test_a_counterpart_is_a_coroutine_function_with_the_same_documentation() -> None:
    for name in public_names(AsyncMethods):
        method = getattr(AsyncMethods, name)
        assert inspect.iscoroutinefunction(method), name
        assert method.__doc__ == getattr(ClusterMethods, name).__doc__, name
