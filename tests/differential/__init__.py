"""Conversations sent to Apache Kafka and to our broker, whose answers are compared field by field."""
