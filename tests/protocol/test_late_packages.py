"""Modules of kafka-python and aiohttp are used without the `__init__` of their package."""

import subprocess
import sys

PROGRAM = """
import sys
from protocol.late_packages import postpone_init
postpone_init()
from protocol import messages
messages.MetadataRequest
assert not {"kafka.admin", "kafka.consumer", "kafka.producer"} & set(sys.modules)
from kafka import KafkaProducer
from kafka.producer import KafkaProducer as imported
assert KafkaProducer is imported
import kafka
assert kafka.KafkaConsumer.__module__ == "kafka.consumer.group"
assert kafka.protocol.metadata.MetadataRequest is messages.MetadataRequest
assert type(kafka) is type(sys)
try:
    kafka.unknown
except AttributeError as error:
    print(error)
"""

ADMIN_PORT = """
import sys
from importlib.metadata import version
from protocol.late_packages import postpone_init
postpone_init()
import broker.http_admin.web
assert "aiohttp.client" not in sys.modules
import aiohttp
assert aiohttp.web is broker.http_admin.web.web
assert aiohttp.http.SERVER_SOFTWARE.endswith(f" aiohttp/{version('aiohttp')}")
assert aiohttp.ClientSession.__module__ == "aiohttp.client"
assert aiohttp.__version__ == version("aiohttp")
assert type(aiohttp) is type(sys)
"""


def run(program: str) -> str:
    """Run a Python program that writes nothing to standard error; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def test_the_clients_are_imported_when_a_name_of_the_package_is_first_used() -> None:
    assert run(PROGRAM) == "module 'kafka' has no attribute 'unknown'"


def test_the_admin_port_does_not_import_the_client_of_aiohttp() -> None:
    run(ADMIN_PORT)
