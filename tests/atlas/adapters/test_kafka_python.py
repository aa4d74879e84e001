import pytest

from tests.atlas.adapters.python_adapter import PythonAdapterTests

pytestmark = pytest.mark.interop


class TestKafkaPython(PythonAdapterTests):
    client = "kafka-python"
    error = ("MessageSizeTooLargeError", "fatal")
