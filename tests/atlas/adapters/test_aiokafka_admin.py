import pytest

from tests.atlas.adapters.admin_calls import AdminCallTests

pytestmark = pytest.mark.interop


class TestAioKafkaAdmin(AdminCallTests):
    client = "aiokafka"
    error = ("TopicAlreadyExistsError", "fatal")
    lacking = frozenset({"delete_group"})
