import pytest

from tests.atlas.adapters.admin_calls import AdminCallTests

pytestmark = pytest.mark.interop


class TestKafkaPythonAdmin(AdminCallTests):
    client = "kafka-python"
    error = ("TopicAlreadyExistsError", "fatal")
