"""Schemas that kafka-python lacks: those of Apache Kafka 4.1.0, one file for each message.

`schema_messages.py`, `control_records.py` and `coordinator_records.py` make classes of them. The
form is that of Kafka's own files, which kafka-python reads too. Tagged fields stand in the order of
their tags, since kafka-python writes them in the order of the schema. Keys and values of records
have the type `data`; the `apiKey` of a key is its record type. ConsumerGroupRegularExpressionValue has an
`ImageVersion`, since `version` is that of the message in kafka-python.
"""
