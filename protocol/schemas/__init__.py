"""Schemas that kafka-python lacks: those of Apache Kafka 4.1.0 to 4.4.0, a file for each message.

`schema_messages.py`, `control_records.py` and `coordinator_records.py` make classes of them. The
form is that of Kafka's own files, which kafka-python reads too, with these differences:

- Tagged fields stand in the order of their tags: kafka-python writes them as the schema has them.
- Keys and values of records have the type `data`. The `apiKey` of a key is its record type.
- `Version` of ConsumerGroupRegularExpressionValue is `ImageVersion`: messages of kafka-python have
  their own `version`.
"""
