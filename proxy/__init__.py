"""A proxy in front of a Kafka cluster: faults, throttles and a journal for real brokers."""
