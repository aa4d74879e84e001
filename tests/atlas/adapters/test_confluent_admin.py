import pytest

from tests.atlas.adapters.admin_calls import AdminCallTests

pytestmark = pytest.mark.interop


class TestConfluentAdmin(AdminCallTests):
    client = "confluent-kafka"
    error = ("TOPIC_ALREADY_EXISTS", "unknown")
