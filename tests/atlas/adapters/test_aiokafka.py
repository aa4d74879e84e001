import pytest

from tests.atlas.adapters.python_adapter import PythonAdapterTests

pytestmark = pytest.mark.interop


class TestAioKafka(PythonAdapterTests):
    client = "aiokafka"
    error = ("MessageSizeTooLargeError", "fatal")
