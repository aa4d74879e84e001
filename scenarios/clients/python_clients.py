"""All client libraries for Python; importing this module needs all of them."""

from scenarios.clients.aiokafka import AIOKAFKA
from scenarios.clients.confluent_kafka import CONFLUENT
from scenarios.clients.interface import Client
from scenarios.clients.kafka_python import KAFKA_PYTHON

CLIENTS: tuple[Client, ...] = (KAFKA_PYTHON, AIOKAFKA, CONFLUENT)
