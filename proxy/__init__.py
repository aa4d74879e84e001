"""`mock-kafka proxy` and `mock-kafka record`: in front of a real Kafka cluster, and copies of it."""
