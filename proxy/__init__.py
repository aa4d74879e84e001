"""A proxy between clients and a real Kafka cluster."""
