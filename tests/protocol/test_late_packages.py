"""Modules of kafka-python are used without the `__init__` of its package."""

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


def test_the_clients_are_imported_when_a_name_of_the_package_is_first_used() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == "module 'kafka' has no attribute 'unknown'"
