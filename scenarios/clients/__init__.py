"""Wrappers around real client libraries, for scenarios, `scripts/demo` and the tests.

`interface.py` declares what the wrappers have in common: `Client`, `Producer` and `GroupMember`.
`kafka_python.py`, `aiokafka.py` and `confluent_kafka.py` implement it; `installed.py` loads them if
the library is installed. `java.py` compiles and runs Java programs with any version of
kafka-clients, and `java_producer.py` is the Java client's `Producer`.
"""
